import { EXIT, type ExitCode, type Problem } from "../../platform/terminal.ts";
import { localCommand, type OperatorRow } from "../command.ts";
import type { OperatorContext } from "../context.ts";
import type { ServiceFlags } from "../flags.ts";
import { showFacts } from "../lists/show-list.ts";
import { refuse, refuseUsage } from "../refuse.ts";
import { type Now, nowOf, timeUntil } from "../times.ts";
import { baseUrl, chooseTarget, contextProblem, NO_KEY_FILE, urlProblem } from "./choose-service.ts";
import {
  absolute,
  badName,
  CONTEXT_NAME,
  type Contexts,
  contextsPath,
  readContexts,
  saveContexts,
  type ServiceContext,
  withContext,
} from "./contexts-file.ts";
import { endLogin, noteOverridingVariables } from "./login.ts";

/** The saved services. */
export const contextCommands: readonly OperatorRow[] = [
  localCommand({
    name: "contexts list",
    aliases: ["ls"],
    summary: "list the saved services",
    flags: {},
    examples: ["robot-policy contexts list"],
    run: (_own, context, flags) => withContexts(context, async (contexts) => list(contexts, flags, context)),
  }),
  localCommand({
    name: "contexts show",
    summary: "show a saved service, by default the current one",
    argument: "[NAME]",
    names: ["contexts"],
    flags: {},
    examples: ["robot-policy contexts show", "robot-policy contexts show lab"],
    run: (_own, context, flags, name) =>
      withContexts(context, async (contexts) => {
        const chosen = chooseOne(contexts, flags, name, context);
        return "code" in chosen ? refuse(chosen, EXIT.usage, context.terminal) : show(chosen, contexts, flags, context);
      }),
  }),
  localCommand({
    name: "contexts use",
    summary: "make a saved service the current one, which commands use by default",
    argument: "NAME",
    names: ["contexts"],
    flags: {},
    examples: ["robot-policy contexts use lab"],
    run: (_own, context, flags, name) =>
      withContexts(context, async (contexts) => {
        const chosen = chooseOne(contexts, flags, name, context);
        return "code" in chosen ? refuse(chosen, EXIT.usage, context.terminal) : use(chosen, contexts, flags, context);
      }),
  }),
  localCommand({
    name: "contexts add",
    summary: "save a service: --url, and --key-file if it needs one",
    argument: "NAME",
    flags: {},
    examples: ["robot-policy contexts add lab --url https://policy.lab.example --key-file ~/lab.key"],
    run: (_own, context, flags, name) => withContexts(context, (contexts) => add(name, contexts, flags, context)),
  }),
  localCommand({
    name: "contexts remove",
    aliases: ["rm"],
    summary: "delete a saved service, and end its login",
    argument: "NAME",
    names: ["contexts"],
    flags: {},
    examples: ["robot-policy contexts remove lab"],
    run: (_own, context, flags, name) => withContexts(context, (contexts) => remove(name, contexts, flags, context)),
  }),
];

async function withContexts(
  context: OperatorContext,
  act: (contexts: Contexts) => Promise<ExitCode>,
): Promise<ExitCode> {
  const read = await readContexts(context);
  if (!("code" in read)) return act(read);
  return refuse(read, read.code === "no-home" ? EXIT.failed : EXIT.usage, context.terminal);
}

/** The context of this name, else the one that the flags mean, else the current one. */
function chooseOne(
  contexts: Contexts,
  flags: ServiceFlags,
  name: string,
  { environment }: OperatorContext,
): ServiceContext | Problem {
  const { context, url, caFile } = flags;
  const asked = name === "" ? { context, url, caFile } : { context: name };
  // An address in the environment is that of a service, and names no context here.
  const target = chooseTarget(asked, contexts, { ...environment, ROBOT_POLICY_URL: undefined });
  return target.context ?? contextProblem(target);
}

function list({ all, current }: Contexts, { json }: ServiceFlags, context: OperatorContext): ExitCode {
  const { terminal } = context;
  if (json === true) {
    terminal.json(all.map((each) => describe(each, each.name === current)));
    return EXIT.ok;
  }
  if (all.length === 0) {
    terminal.note("There are no contexts yet; robot-policy login --url URL creates one.");
    return EXIT.ok;
  }
  const now = nowOf(context);
  const rows = all.map((each) => [each.name === current ? "*" : "", each.name, each.url, credentialText(each, now)]);
  terminal.table(["", "name", "service", "credential"], rows, ["credential"]);
  return EXIT.ok;
}

function show(
  chosen: ServiceContext,
  { current }: Contexts,
  { json }: ServiceFlags,
  context: OperatorContext,
): ExitCode {
  const { terminal } = context;
  const { name, url, ca_file: caFile, allow_insecure: allowInsecure } = chosen;
  if (json === true) {
    terminal.json(describe(chosen, name === current));
    return EXIT.ok;
  }
  showFacts(terminal, [
    ["context", `${name}${name === current ? " (current)" : ""}`],
    ["service", url],
    ["credential", credentialText(chosen, nowOf(context))],
    ["CA file", caFile ?? ""],
    ["plain http", allowInsecure ? "allowed" : ""],
    ["kept in", contextsPath(context) ?? ""],
  ]);
  return EXIT.ok;
}

async function use(
  chosen: ServiceContext,
  { all }: Contexts,
  { json }: ServiceFlags,
  context: OperatorContext,
): Promise<ExitCode> {
  const { terminal } = context;
  const unsaved = await saveContexts({ all, current: chosen.name }, context);
  if (unsaved !== null) return refuse(unsaved, EXIT.failed, terminal);
  if (json === true) terminal.json(describe(chosen, true));
  else {
    terminal.print(`${chosen.name} (${chosen.url}) is the current context.`);
    noteOverridingVariables(context);
  }
  return EXIT.ok;
}

/** Saves a service; the first one becomes the default. */
async function add(name: string, contexts: Contexts, flags: ServiceFlags, context: OperatorContext): Promise<ExitCode> {
  const { terminal, machine } = context;
  if (!CONTEXT_NAME.test(name)) return refuse(badName(name), EXIT.usage, terminal);
  if (flags.url === undefined) {
    const fix = `robot-policy contexts add ${name} --url https://HOST`;
    return refuseUsage("the address of the service is missing", fix, terminal);
  }
  if (flags.keyFile === "") return refuse(NO_KEY_FILE, EXIT.usage, terminal);
  if (flags.caFile === "")
    return refuseUsage("--ca-file names no file", "give the path of a PEM file with the certificate", terminal);
  const allowInsecure = flags.allowInsecure === true;
  const badUrl = urlProblem(flags.url, allowInsecure);
  if (badUrl !== null) return refuse(badUrl, EXIT.usage, terminal);
  if (contexts.all.some((each) => each.name === name)) {
    const fix = `give another name, or robot-policy contexts remove ${name} first`;
    const what = `there is a context ${name} already`;
    return refuse({ code: "context-taken", what, fix }, EXIT.conflict, terminal);
  }
  const added: ServiceContext = {
    name,
    url: baseUrl(flags.url),
    ca_file: absolute(flags.caFile),
    allow_insecure: allowInsecure,
    key_file: absolute(flags.keyFile),
    login: null,
  };
  const isCurrent = contexts.current === null;
  const unsaved = await saveContexts({ ...withContext(contexts, added), current: contexts.current ?? name }, context);
  if (unsaved !== null) return refuse(unsaved, EXIT.failed, terminal);
  if (flags.json === true) terminal.json(describe(added, isCurrent));
  else terminal.print(`${name} is ${added.url}${isCurrent ? "; it is the current context" : ""}.`);
  for (const path of [added.ca_file, added.key_file]) {
    if (path !== null && (await machine.files.stat(path).catch(() => null)) === null)
      terminal.warning(`there is no file ${path} yet`);
  }
  if (added.key_file === null && flags.json !== true) terminal.note(`Sign in: robot-policy login --context ${name}`);
  return EXIT.ok;
}

/** Deletes it, and ends its login. */
async function remove(
  name: string,
  { all, current }: Contexts,
  { json }: ServiceFlags,
  context: OperatorContext,
): Promise<ExitCode> {
  const { terminal } = context;
  const known = all.find((each) => each.name === name);
  if (known === undefined) {
    return refuse(contextProblem({ name, url: undefined }), EXIT.usage, terminal);
  }
  const wasCurrent = current === name;
  const rest = { all: all.filter((each) => each !== known), current: wasCurrent ? null : current };
  const unsaved = await saveContexts(rest, context);
  if (unsaved !== null) return refuse(unsaved, EXIT.failed, terminal);
  const isEnded = known.login === null || (await endLogin(known, known.login, context)) === null;
  if (!isEnded)
    terminal.note("The login in it could not be ended at the service: it stays valid there until it expires.");
  if (json === true) terminal.json({ name, removed: true });
  else terminal.print(`${name} is removed${wasCurrent ? "; no context is current now" : ""}.`);
  return EXIT.ok;
}

/** For `--json`: everything except the token. */
function describe({ name, login, ...rest }: ServiceContext, isCurrent: boolean) {
  const { token: _token, ...signedIn } = login ?? { token: null };
  return { name, is_current: isCurrent, ...rest, login: login === null ? null : signedIn };
}

function credentialText({ login, key_file: keyFile }: ServiceContext, now: Now): string {
  if (login === null) return keyFile === null ? "none" : `key in ${keyFile}`;
  const { organization, expires_at: expiresAt } = login;
  const where = organization === null ? "signed in" : `signed in to ${organization}`;
  if (expiresAt === null) return where;
  const isOver = Date.parse(expiresAt) <= now.ms;
  return `${where}, ${isOver ? "expired" : "expires"} ${timeUntil(expiresAt, now)}`;
}
