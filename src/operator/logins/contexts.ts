import { EXIT, type ExitCode } from "../../platform/terminal.ts";
import type { OperatorContext } from "../context.ts";
import type { ServiceFlags } from "../flags.ts";
import { showFacts } from "../lists/show-list.ts";
import { refuse, refuseUsage } from "../refuse.ts";
import { chooseContext } from "./choose-context.ts";
import { baseUrl, contextFilesOf, NO_HOME, NO_KEY_FILE, urlProblem } from "./choose-service.ts";
import { CONTEXT_NAME, type FoundContext, type ServiceContext } from "./context-files.ts";
import { absolute, badName, endLogin, noteOverridingVariables } from "./login.ts";
import { type Now, nowOf, timeUntil } from "../times.ts";

/** The operator's services. */
export async function contextsList(flags: ServiceFlags, context: OperatorContext): Promise<ExitCode> {
  const { terminal } = context;
  const contexts = contextFilesOf(context);
  if (contexts === null) return refuse(NO_HOME, EXIT.failed, terminal);
  const current = await contexts.current();
  const found: { readonly name: string; readonly entry: FoundContext }[] = [];
  for (const name of await contexts.names()) found.push({ name, entry: await contexts.find(name) });
  if (flags.json === true) {
    terminal.json(found.map(({ name, entry }) => describeEntry(name, entry, name === current)));
    return EXIT.ok;
  }
  if (found.length === 0) {
    terminal.note("There are no contexts yet; robot-policy login --url URL creates one.");
    return EXIT.ok;
  }
  const now = nowOf(context);
  terminal.table(
    ["", "name", "service", "credential"],
    found.map(({ name, entry }) => [
      name === current ? "*" : "",
      name,
      entry.kind === "context" ? entry.context.url : "",
      entry.kind === "context" ? credentialText(entry.context, now) : terminal.style("bad", entry.problem.what),
    ]),
    ["credential"],
  );
  return EXIT.ok;
}

/** One context, without its token. */
export async function contextsShow(flags: ServiceFlags, context: OperatorContext, name: string): Promise<ExitCode> {
  const { terminal } = context;
  const chosen = await chooseContext(flags, context, name === "" ? undefined : name);
  if (chosen.kind === "no-context") return refuse(chosen.problem, chosen.exitCode, terminal);
  const isCurrent = (await chosen.contexts.current()) === chosen.context.name;
  const { url, ca_file: caFile, allow_insecure: allowInsecure } = chosen.context;
  if (flags.json === true) {
    terminal.json(describeEntry(chosen.context.name, chosen, isCurrent));
    return EXIT.ok;
  }
  showFacts(terminal, [
    ["context", `${chosen.context.name}${isCurrent ? " (current)" : ""}`],
    ["service", url],
    ["credential", credentialText(chosen.context, nowOf(context))],
    ["CA file", caFile ?? ""],
    ["plain http", allowInsecure ? "allowed" : ""],
    ["kept in", chosen.contexts.folder],
  ]);
  return EXIT.ok;
}

/** Makes it the default. */
export async function contextsUse(flags: ServiceFlags, context: OperatorContext, name: string): Promise<ExitCode> {
  const { terminal } = context;
  const chosen = await chooseContext(flags, context, name === "" ? undefined : name);
  if (chosen.kind === "no-context") return refuse(chosen.problem, chosen.exitCode, terminal);
  const unsaved = await chosen.contexts.setCurrent(chosen.context.name);
  if (unsaved !== null) return refuse(unsaved, EXIT.failed, terminal);
  if (flags.json === true) terminal.json(describeEntry(chosen.context.name, chosen, true));
  else {
    terminal.print(`${chosen.context.name} (${chosen.context.url}) is the current context.`);
    noteOverridingVariables(context);
  }
  return EXIT.ok;
}

/** Saves a service; the first one becomes the default. */
export async function contextsAdd(flags: ServiceFlags, context: OperatorContext, name: string): Promise<ExitCode> {
  const { terminal, machine } = context;
  const contexts = contextFilesOf(context);
  if (contexts === null) return refuse(NO_HOME, EXIT.failed, terminal);
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
  const found = await contexts.find(name);
  if (found.kind === "no-context" && found.problem.code !== "context-missing")
    return refuse(found.problem, EXIT.usage, terminal);
  if (found.kind === "context") {
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
  const isCurrent = (await contexts.current()) === null;
  const unsaved = (await contexts.save(added)) ?? (isCurrent ? await contexts.setCurrent(name) : null);
  if (unsaved !== null) return refuse(unsaved, EXIT.failed, terminal);
  if (flags.json === true) terminal.json(describeEntry(name, { kind: "context", context: added }, isCurrent));
  else terminal.print(`${name} is ${added.url}${isCurrent ? "; it is the current context" : ""}.`);
  for (const path of [added.ca_file, added.key_file]) {
    if (path !== null && (await machine.files.stat(path).catch(() => null)) === null)
      terminal.warning(`there is no file ${path} yet`);
  }
  if (added.key_file === null && flags.json !== true) terminal.note(`Sign in: robot-policy login --context ${name}`);
  return EXIT.ok;
}

/** Deletes it, and ends its login. */
export async function contextsRemove(flags: ServiceFlags, context: OperatorContext, name: string): Promise<ExitCode> {
  const { terminal } = context;
  const contexts = contextFilesOf(context);
  if (contexts === null) return refuse(NO_HOME, EXIT.failed, terminal);
  if (!CONTEXT_NAME.test(name)) return refuse(badName(name), EXIT.usage, terminal);
  const found = await contexts.find(name);
  // A damaged context can be removed too.
  if (found.kind === "no-context" && found.problem.code === "context-missing")
    return refuse(found.problem, EXIT.usage, terminal);
  const wasCurrent = (await contexts.current()) === name;
  const unsaved = (await contexts.remove(name)) ?? (wasCurrent ? await contexts.setCurrent(null) : null);
  if (unsaved !== null) return refuse(unsaved, EXIT.failed, terminal);
  const known = found.kind === "context" ? found.context : null;
  // Whether a file that cannot be used holds a login is not known.
  const isEnded = known !== null && (known.login === null || (await endLogin(known, known.login, context)) === null);
  if (!isEnded)
    terminal.note("A login in it could not be ended at the service: it stays valid there until it expires.");
  if (flags.json === true) terminal.json({ name, removed: true });
  else terminal.print(`${name} is removed${wasCurrent ? "; no context is current now" : ""}.`);
  return EXIT.ok;
}

/** For `--json`: everything except the token. */
function describeEntry(name: string, entry: FoundContext, isCurrent: boolean) {
  if (entry.kind === "no-context") return { name, is_current: isCurrent, problem: entry.problem };
  const { url, ca_file: caFile, allow_insecure: allowInsecure, key_file: keyFile, login } = entry.context;
  const { token: _token, ...signedIn } = login ?? { token: null };
  return {
    name,
    is_current: isCurrent,
    url,
    ca_file: caFile,
    allow_insecure: allowInsecure,
    key_file: keyFile,
    login: login === null ? null : signedIn,
  };
}

function credentialText({ login, key_file: keyFile }: ServiceContext, now: Now): string {
  if (login === null) return keyFile === null ? "none" : `key in ${keyFile}`;
  const { organization, expires_at: expiresAt } = login;
  const where = organization === null ? "signed in" : `signed in to ${organization}`;
  if (expiresAt === null) return where;
  const isOver = Date.parse(expiresAt) <= now.ms;
  return `${where}, ${isOver ? "expired" : "expires"} ${timeUntil(expiresAt, now)}`;
}
