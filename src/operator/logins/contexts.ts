import { EXIT, type ExitCode } from "../../platform/terminal.ts";
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
import { endLogin, noteOverridingVariables } from "./logins.ts";

/** The saved services. */
export const contextCommands: readonly OperatorRow[] = [
  contextCommand({
    name: "contexts list",
    aliases: ["ls"],
    summary: "list the saved services",
    examples: ["robot-policy contexts list"],
    async run({ contexts: { all, current }, context, answer }) {
      const document = all.map((each) => describe(each, each.name === current));
      return answer(document, ({ terminal }) => {
        if (all.length === 0) {
          terminal.note("There are no contexts yet; robot-policy login --url URL creates one.");
          return;
        }
        const now = nowOf(context);
        const rows = all.map((each) => [
          each.name === current ? "*" : "",
          each.name,
          each.url,
          credentialText(each, now),
        ]);
        terminal.table(["", "name", "service", "credential"], rows, ["credential"]);
      });
    },
  }),
  contextCommand({
    name: "contexts show",
    summary: "show a saved service, by default the current one",
    argument: "[NAME]",
    names: ["contexts"],
    examples: ["robot-policy contexts show", "robot-policy contexts show lab"],
    run: (given) =>
      withOne(given, async (chosen) => {
        const { name, url, ca_file: caFile, allow_insecure: allowInsecure } = chosen;
        const isCurrent = name === given.contexts.current;
        return given.answer(describe(chosen, isCurrent), ({ terminal }) =>
          showFacts(terminal, [
            ["context", `${name}${isCurrent ? " (current)" : ""}`],
            ["service", url],
            ["credential", credentialText(chosen, nowOf(given.context))],
            ["CA file", caFile ?? ""],
            ["plain http", allowInsecure ? "allowed" : ""],
            ["kept in", contextsPath(given.context) ?? ""],
          ]),
        );
      }),
  }),
  contextCommand({
    name: "contexts use",
    summary: "make a saved service the current one, which commands use by default",
    argument: "NAME",
    names: ["contexts"],
    examples: ["robot-policy contexts use lab"],
    run: (given) =>
      withOne(given, async (chosen) =>
        given.save({ ...given.contexts, current: chosen.name }, describe(chosen, true), ({ terminal }) => {
          terminal.print(`${chosen.name} (${chosen.url}) is the current context.`);
          noteOverridingVariables(given.context);
        }),
      ),
  }),
  contextCommand({
    name: "contexts add",
    summary: "save a service: --url, and --key-file if it needs one",
    argument: "NAME",
    examples: ["robot-policy contexts add lab --url https://policy.lab.example --key-file ~/lab.key"],
    run: add,
  }),
  contextCommand({
    name: "contexts remove",
    aliases: ["rm"],
    summary: "delete a saved service, and end its login",
    argument: "NAME",
    names: ["contexts"],
    examples: ["robot-policy contexts remove lab"],
    run: remove,
  }),
];

/** What a command on the saved services works with. */
interface Given {
  readonly contexts: Contexts;
  readonly flags: ServiceFlags;
  readonly context: OperatorContext;
  /** The argument; empty without one. */
  readonly name: string;
  /** Prints the document with `--json`, else has a person shown it. */
  answer(document: unknown, show: (context: OperatorContext) => void): ExitCode;
  /** Saves the contexts, and answers. */
  save(changed: Contexts, document: unknown, show: (context: OperatorContext) => void): Promise<ExitCode>;
}

function contextCommand({
  run,
  ...row
}: Omit<OperatorRow, "flags" | "load"> & { readonly run: (given: Given) => Promise<ExitCode> }): OperatorRow {
  return localCommand({
    ...row,
    flags: {},
    async run(_own, context, flags, name) {
      const { terminal } = context;
      const contexts = await readContexts(context);
      if ("code" in contexts) return refuse(contexts, contexts.code === "no-home" ? EXIT.failed : EXIT.usage, terminal);
      const answer: Given["answer"] = (document, show) => {
        if (flags.json === true) terminal.json(document);
        else show(context);
        return EXIT.ok;
      };
      const save: Given["save"] = async (changed, document, show) => {
        const unsaved = await saveContexts(changed, context);
        return unsaved === null ? answer(document, show) : refuse(unsaved, EXIT.failed, terminal);
      };
      return run({ contexts, flags, context, name, answer, save });
    },
  });
}

/** Acts on the context of the name, else the one that the flags mean, else the current one. */
async function withOne(
  { contexts, flags, name, context }: Given,
  act: (chosen: ServiceContext) => Promise<ExitCode>,
): Promise<ExitCode> {
  const { context: asked, url, caFile } = flags;
  // An address in the environment is that of a service, and names no context here.
  const environment = { ...context.environment, ROBOT_POLICY_URL: undefined };
  const target = chooseTarget(name === "" ? { context: asked, url, caFile } : { context: name }, contexts, environment);
  if (target.context !== null) return act(target.context);
  return refuse(contextProblem(target), EXIT.usage, context.terminal);
}

/** Saves a service; the first one becomes the default. */
async function add({ contexts, flags, context, name, save }: Given): Promise<ExitCode> {
  const { terminal, machine } = context;
  if (!CONTEXT_NAME.test(name)) return refuse(badName(name), EXIT.usage, terminal);
  if (flags.url === undefined) {
    const fix = `robot-policy contexts add ${name} --url https://HOST`;
    return refuseUsage("the address of the service is missing", fix, terminal);
  }
  if (flags.keyFile === "") return refuse(NO_KEY_FILE, EXIT.usage, terminal);
  if (flags.caFile === "") {
    return refuseUsage("--ca-file names no file", "give the path of a PEM file with the certificate", terminal);
  }
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
  const changed = { ...withContext(contexts, added), current: contexts.current ?? name };
  const exitCode = await save(changed, describe(added, isCurrent), () => {
    terminal.print(`${name} is ${added.url}${isCurrent ? "; it is the current context" : ""}.`);
    if (added.key_file === null) terminal.note(`Sign in: robot-policy login --context ${name}`);
  });
  for (const path of [added.ca_file, added.key_file]) {
    if (exitCode !== EXIT.ok || path === null) continue;
    if ((await machine.files.stat(path).catch(() => null)) === null) terminal.warning(`there is no file ${path} yet`);
  }
  return exitCode;
}

/** Deletes it, and ends its login. */
async function remove({ contexts: { all, current }, context, name, save }: Given): Promise<ExitCode> {
  const { terminal } = context;
  const known = all.find((each) => each.name === name);
  if (known === undefined) return refuse(contextProblem({ name, url: undefined }), EXIT.usage, terminal);
  const wasCurrent = current === name;
  const rest = { all: all.filter((each) => each !== known), current: wasCurrent ? null : current };
  const exitCode = await save(rest, { name, removed: true }, () =>
    terminal.print(`${name} is removed${wasCurrent ? "; no context is current now" : ""}.`),
  );
  if (exitCode !== EXIT.ok || known.login === null) return exitCode;
  if ((await endLogin(known, known.login, context)) !== null) {
    terminal.note("The login in it could not be ended at the service: it stays valid there until it expires.");
  }
  return exitCode;
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
