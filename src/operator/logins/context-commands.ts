import { EXIT, type ExitCode, type Problem, type Terminal } from "../../platform/terminal.ts";
import { localCommand, type OperatorRow } from "../command.ts";
import type { OperatorContext } from "../context.ts";
import type { ServiceFlags } from "../flags.ts";
import { type Now, nowOf, timeUntil } from "../times.ts";
import { baseUrl, contextProblem, noteOverridingVariables, urlProblem } from "./choose-service.ts";
import {
  absolute,
  type Contexts,
  nameProblem,
  readContexts,
  refuseContexts,
  saveContexts,
  type ServiceContext,
  withContext,
} from "./contexts.ts";
import { endLogin } from "./logins.ts";

/** The saved services. */
export const contextCommands: readonly OperatorRow[] = [
  contextCommand({
    name: "contexts list",
    aliases: ["ls"],
    isDefault: true,
    summary: "list the saved services",
    examples: ["robot-policy contexts list"],
    run: list,
  }),
  contextCommand({
    name: "contexts use",
    summary: "make a saved service the current one, which commands use by default",
    argument: "NAME",
    names: ["contexts"],
    examples: ["robot-policy contexts use lab"],
    run: use,
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
}

type Run = (given: Given) => Promise<ExitCode | Problem>;

function contextCommand({ run, ...row }: Omit<OperatorRow, "flags" | "load"> & { readonly run: Run }): OperatorRow {
  return localCommand({
    ...row,
    flags: {},
    async run(_own, context, flags, name) {
      const contexts = await readContexts(context);
      const result = "code" in contexts ? contexts : await run({ contexts, flags, context, name });
      return typeof result === "number" ? result : refuseContexts(result, context.terminal);
    },
  });
}

/** Prints the document with `--json`, else has a person shown it. */
function answer({ flags, context }: Given, document: unknown, showPerson: (terminal: Terminal) => void): ExitCode {
  if (flags.json === true) context.terminal.json(document);
  else showPerson(context.terminal);
  return EXIT.ok;
}

async function list(given: Given): Promise<ExitCode> {
  const { all, current } = given.contexts;
  const document = all.map((each) => describe(each, each.name === current));
  return answer(given, document, (terminal) => {
    if (all.length === 0) {
      terminal.note("There are no contexts yet; robot-policy login --url URL creates one.");
      return;
    }
    const now = nowOf(given.context);
    const rows = all.map((each) => [each.name === current ? "*" : "", each.name, each.url, credentialText(each, now)]);
    terminal.table(["", "name", "service", "credential"], rows, ["credential"]);
  });
}

async function use(given: Given): Promise<ExitCode | Problem> {
  const { contexts, context, name } = given;
  const chosen = contexts.all.find((each) => each.name === name);
  if (chosen === undefined) return contextProblem({ name, url: undefined });
  const unsaved = await saveContexts({ ...contexts, current: name }, context);
  if (unsaved !== null) return unsaved;
  return answer(given, describe(chosen, true), (terminal) => {
    terminal.print(`${name} (${chosen.url}) is the current context.`);
    noteOverridingVariables(context);
  });
}

/** Saves a service; the first one becomes the default. */
async function add(given: Given): Promise<ExitCode | Problem> {
  const { contexts, flags, context, name } = given;
  const badName = nameProblem(name);
  if (badName !== null) return badName;
  if (flags.url === undefined) {
    const fix = `robot-policy contexts add ${name} --url https://HOST`;
    return { code: "usage", what: "the address of the service is missing", fix };
  }
  const allowInsecure = flags.allowInsecure === true;
  const badUrl = urlProblem(flags.url, allowInsecure);
  if (badUrl !== null) return badUrl;
  if (contexts.all.some((each) => each.name === name)) {
    const fix = `give another name, or robot-policy contexts remove ${name} first`;
    return { code: "context-taken", what: `there is a context ${name} already`, fix };
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
  if (unsaved !== null) return unsaved;
  for (const path of [added.ca_file, added.key_file]) {
    if (path !== null && (await context.machine.files.stat(path).catch(() => null)) === null) {
      context.terminal.warning(`there is no file ${path} yet`);
    }
  }
  return answer(given, describe(added, isCurrent), (terminal) => {
    terminal.print(`${name} is ${added.url}${isCurrent ? "; it is the current context" : ""}.`);
    if (added.key_file === null) terminal.note(`Sign in: robot-policy login --context ${name}`);
  });
}

/** Deletes it, and ends its login. */
async function remove(given: Given): Promise<ExitCode | Problem> {
  const { contexts, context, name } = given;
  const known = contexts.all.find((each) => each.name === name);
  if (known === undefined) return contextProblem({ name, url: undefined });
  const wasCurrent = contexts.current === name;
  const rest = { all: contexts.all.filter((each) => each !== known), current: wasCurrent ? null : contexts.current };
  const unsaved = await saveContexts(rest, context);
  if (unsaved !== null) return unsaved;
  await endLogin(known, context);
  return answer(given, { name, removed: true }, (terminal) =>
    terminal.print(`${name} is removed${wasCurrent ? "; no context is current now" : ""}.`),
  );
}

/** For `--json`: everything except the token. */
function describe({ name, login, ...rest }: ServiceContext, isCurrent: boolean) {
  return { name, is_current: isCurrent, ...rest, login: login && { ...login, token: undefined } };
}

function credentialText({ login, key_file: keyFile }: ServiceContext, now: Now): string {
  if (login === null) return keyFile === null ? "none" : `key in ${keyFile}`;
  const { organization, expires_at: expiresAt } = login;
  const where = organization === null ? "signed in" : `signed in to ${organization}`;
  if (expiresAt === null) return where;
  const isOver = Date.parse(expiresAt) <= now.ms;
  return `${where}, ${isOver ? "expired" : "expires"} ${timeUntil(expiresAt, now)}`;
}
