import { type CredentialProblem, KEY_VARIABLE, loadCredential } from "../../client/credential.ts";
import type { LoadedCredential } from "../../client/operation-client.ts";
import { Secret } from "../../client/secret.ts";
import { parseServiceUrl } from "../../client/transport/service-url.ts";
import type { Problem, Terminal } from "../../platform/terminal.ts";
import type { OperatorContext } from "../context.ts";
import type { ServiceFlags } from "../flags.ts";
import { configurationFolder, type ContextFiles, openContextFiles, type ServiceContext } from "./context-files.ts";

export const URL_VARIABLE = "ROBOT_POLICY_URL";
export const CONTEXT_VARIABLE = "ROBOT_POLICY_CONTEXT";

/** The service of a command, and the credential for it. */
export interface ChosenService {
  readonly kind: "service";
  readonly baseUrl: string;
  readonly ca_file: string | null;
  readonly allow_insecure: boolean;
  /** The context with this address; null where there is none. */
  readonly context: ServiceContext | null;
  readonly credential: ChosenCredential;
  /** Called for each request, so that a replaced key file is used at once. */
  readonly loadCredential: () => Promise<LoadedCredential>;
}

/** The credential as messages name it. */
export interface ChosenCredential {
  readonly source: "key-file" | "environment" | "context-key-file" | "login" | "none";
  /** For a sentence: `the key in /path`. */
  readonly name: string;
  /** For a sentence: how to get another one. */
  readonly another: string;
}

interface NoService {
  readonly kind: "no-service";
  readonly problem: Problem;
}

/** An address, and its context. */
interface Target {
  readonly kind: "target";
  readonly url: string;
  /** Who gave the address, for a message: a flag, a variable or a context. */
  readonly source: string;
  readonly context: ServiceContext | null;
  /** Whether the operator named the context in this command. */
  readonly isNamed: boolean;
}

/**
 * Chooses service and credential: from flags, else from the environment, else from the context.
 *
 * The login and the key file of a context are sent only to that context's address.
 */
export async function chooseService(flags: ServiceFlags, context: OperatorContext): Promise<ChosenService | NoService> {
  if (flags.keyFile === "") return noService(NO_KEY_FILE);
  const target = await chooseTarget(flags, context);
  if (target.kind === "no-service") return target;
  const allowInsecure = flags.allowInsecure ?? target.context?.allow_insecure ?? false;
  const badUrl = urlProblem(target.url, allowInsecure);
  if (badUrl !== null) return noService({ ...badUrl, where: target.source });
  return {
    kind: "service",
    baseUrl: baseUrl(target.url),
    ca_file: flags.caFile ?? target.context?.ca_file ?? null,
    allow_insecure: allowInsecure,
    context: target.context,
    ...chooseCredential(flags, target, context),
  };
}

/** The environment variables that override the current context, for a sentence; empty for none. */
export function overridingVariables({ environment }: OperatorContext): string {
  return [CONTEXT_VARIABLE, URL_VARIABLE, KEY_VARIABLE]
    .filter((name) => nonEmpty(environment[name]) !== undefined)
    .join(" and ");
}

/** The contexts of the user who runs the command; null for a user without a home directory. */
export function contextFilesOf({ environment, machine, userId, terminal }: OperatorContext) {
  const folder = configurationFolder(environment);
  return folder === null ? null : openContextFiles(folder, machine.files, userId, (text) => terminal.note(text));
}

/** @returns null for a valid address. */
export function urlProblem(url: string, allowInsecure: boolean): Problem | null {
  const parsed = parseServiceUrl(url, allowInsecure);
  if (parsed.kind === "url") return null;
  // The shared message names the agent's configuration file; an operator uses flags.
  const fix = parsed.code === "url-insecure" ? "use https, or give --allow-insecure" : parsed.fix;
  return { code: parsed.code, what: parsed.what, fix };
}

/** The context with this address, the current one before others; null for none, with a warning where one that cannot be used may have it. */
export async function contextAt(
  url: string,
  contexts: ContextFiles,
  terminal: Terminal,
): Promise<ServiceContext | null> {
  const current = await contexts.current();
  let unusable: Problem | null = null;
  for (const name of [...(current === null ? [] : [current]), ...(await contexts.names())]) {
    const found = await contexts.find(name);
    if (found.kind === "context" && baseUrl(found.context.url) === baseUrl(url)) return found.context;
    if (found.kind === "no-context" && found.problem.code !== "context-missing") unusable ??= found.problem;
  }
  if (unusable !== null) terminal.warning(unusable.what, unusable.fix);
  return null;
}

/** The normal form of an address, by which contexts are compared. */
export function baseUrl(text: string): string {
  return (URL.parse(text)?.href ?? text).replace(/\/+$/, "");
}

async function chooseTarget(flags: ServiceFlags, context: OperatorContext): Promise<Target | NoService> {
  const { environment } = context;
  const url = flags.url ?? (flags.context === undefined ? nonEmpty(environment[URL_VARIABLE]) : undefined);
  const contexts = contextFilesOf(context);
  const name = flags.context ?? nonEmpty(environment[CONTEXT_VARIABLE]) ?? (await contexts?.current()) ?? null;
  const found = name === null ? null : ((await contexts?.find(name)) ?? null);
  const isNamed = flags.context !== undefined;
  if (found?.kind === "no-context" && (isNamed || url === undefined)) return noService(found.problem);
  const known = found?.kind === "context" ? found.context : null;
  if (url === undefined) {
    if (known === null) return noService(NO_SERVICE);
    return { kind: "target", url: known.url, source: `context ${known.name}`, context: known, isNamed };
  }
  const isMeant = known !== null && baseUrl(known.url) === baseUrl(url);
  const own = isMeant || contexts === null ? known : await contextAt(url, contexts, context.terminal);
  const source = flags.url === undefined ? URL_VARIABLE : "--url";
  return { kind: "target", url, source, context: own, isNamed };
}

/** For a user without a home directory, such as a system user. */
export const NO_HOME: Problem = {
  code: "no-home",
  what: "there is no folder to keep contexts in",
  fix: "set HOME or XDG_CONFIG_HOME; or use --url URL and --key-file FILE, ROBOT_POLICY_URL and ROBOT_POLICY_API_KEY",
};

const NO_SERVICE: Problem = {
  code: "no-service",
  what: "no service is given",
  fix: `robot-policy login --url URL saves one; or give --url URL, or set ${URL_VARIABLE}`,
};

/** `--key-file "$UNSET"` gives an empty path. Fail then, instead of using a key from the environment. */
export const NO_KEY_FILE: Problem = {
  code: "usage",
  what: "--key-file names no file",
  fix: "give the path of a file with the key",
};

function noService(problem: Problem): NoService {
  return { kind: "no-service", problem };
}

type Chosen = Pick<ChosenService, "credential" | "loadCredential">;

function chooseCredential(flags: ServiceFlags, target: Target, context: OperatorContext): Chosen {
  if (flags.keyFile !== undefined) return keyFile(flags.keyFile, "key-file", context);
  const environmentKey = nonEmpty(context.environment[KEY_VARIABLE]);
  const own = contextCredential(target.context, context);
  // A context that was named in this command overrides a key in the environment.
  if (own !== null && (target.isNamed || environmentKey === undefined)) return own;
  if (environmentKey !== undefined) return environmentCredential(environmentKey, context);
  const login = loginCommand(target);
  const fix = `${login} signs you in; or give --key-file FILE, or set ${KEY_VARIABLE}`;
  const what = "there is no credential for this service";
  const problem: CredentialProblem = { kind: "credential-problem", code: "key-missing", what, where: target.url, fix };
  return {
    credential: { source: "none", name: "a request without a credential", another: fix },
    loadCredential: async () => problem,
  };
}

/** Operators may also put a login's token into the variable. The agent accepts only keys. */
const SESSION_TOKEN = /^rps_session_[0-9A-Za-z]{1,256}$/;

function environmentCredential(environmentKey: string, context: OperatorContext): Chosen {
  const isSession = SESSION_TOKEN.test(environmentKey);
  const secret = new Secret(environmentKey);
  return {
    credential: {
      source: "environment",
      name: `the ${isSession ? "login token" : "key"} in ${KEY_VARIABLE}`,
      another: `set ${KEY_VARIABLE} to another key, or give --key-file FILE`,
    },
    loadCredential: isSession ? async () => ({ kind: "credential", secret }) : load({ environmentKey }, context),
  };
}

function contextCredential(chosen: ServiceContext | null, context: OperatorContext): Chosen | null {
  if (chosen === null) return null;
  const { login, key_file: path, name } = chosen;
  if (login !== null) {
    const until = login.expires_at === null ? "" : `, good until ${login.expires_at.slice(0, 10)}`;
    const since = `since ${login.signed_in_at.slice(0, 10)}${until}`;
    return {
      credential: {
        source: "login",
        name: `the login of context ${name} (${since})`,
        another: `robot-policy login --context ${name}`,
      },
      loadCredential: async () => ({ kind: "credential", secret: login.token }),
    };
  }
  return path === null ? null : keyFile(path, "context-key-file", context);
}

function keyFile(path: string, source: "key-file" | "context-key-file", context: OperatorContext): Chosen {
  const from = source === "key-file" ? "" : ", which the context names";
  return {
    credential: {
      source,
      name: `the key in ${path}${from}`,
      another: `put another key into ${path}, give --key-file FILE, or sign in: robot-policy login`,
    },
    loadCredential: load({ keyFile: path }, context),
  };
}

function load(sources: { readonly keyFile?: string; readonly environmentKey?: string }, context: OperatorContext) {
  const { machine, userId } = context;
  return async () => forOperator(await loadCredential({ ...sources, serviceUserId: userId }, machine.files));
}

/** Replaces messages that speak of the robot computer and its agent. */
function forOperator(loaded: LoadedCredential): LoadedCredential {
  if (loaded.kind === "credential") return loaded;
  // Only root may take a file from another user.
  const fix = loaded.fix.replace(/^chown /, "sudo chown ");
  switch (loaded.code) {
    case "key-missing":
      return {
        ...loaded,
        fix: "correct the path, or give --key-file FILE; robot-policy keys create LABEL --out FILE creates a key in a file",
      };
    case "key-owner":
      return { ...loaded, what: "the key file belongs to another user", fix };
    default:
      return { ...loaded, fix };
  }
}

function loginCommand({ context, url }: Target): string {
  return context === null ? `robot-policy login --url ${url}` : `robot-policy login --context ${context.name}`;
}

/** An empty variable counts as not set. */
export function nonEmpty(text: string | undefined): string | undefined {
  return text === "" ? undefined : text;
}
