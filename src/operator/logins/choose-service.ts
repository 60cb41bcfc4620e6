import type { CredentialProblem } from "../../client/credentials.ts";
import { KEY_VARIABLE, loadCredential } from "../../client/credentials.ts";
import { Secret } from "../../client/secret.ts";
import { parseServiceUrl } from "../../client/transport/service-url.ts";
import type { ExitCode, Problem } from "../../platform/terminal.ts";
import { EXIT } from "../../platform/terminal.ts";
import type { OperatorContext, OperatorFlags } from "../context.ts";
import type { ContextFiles, ServiceContext } from "./context-files.ts";
import { configurationFolder, openContextFiles } from "./context-files.ts";

export const URL_VARIABLE = "ROBOT_POLICY_URL";
export const CONTEXT_VARIABLE = "ROBOT_POLICY_CONTEXT";

/** The service a command speaks to, and as whom. */
export interface ChosenService {
  readonly kind: "service";
  readonly baseUrl: string;
  readonly ca_file: string | null;
  readonly allow_insecure: boolean;
  /** The context that has this address; null where there is none. */
  readonly context: ServiceContext | null;
  readonly credential: ChosenCredential;
  /** Called for each request, so that a key file that was replaced counts at once. */
  readonly loadCredential: () => Promise<LoadedCredential>;
}

type LoadedCredential = { readonly kind: "credential"; readonly secret: Secret } | CredentialProblem;

/** The credential as a person knows it. */
export interface ChosenCredential {
  readonly source: "key-file" | "environment" | "context-key-file" | "login" | "none";
  /** For a sentence: `the key in /path`. */
  readonly name: string;
  /** For a sentence: how to get another one. */
  readonly another: string;
}

export interface NoService {
  readonly kind: "no-service";
  readonly problem: Problem;
  readonly exitCode: ExitCode;
}

/** An address, and the context it is from or that has it. */
interface Target {
  readonly kind: "target";
  readonly url: string;
  readonly context: ServiceContext | null;
  /** Whether the operator named the context itself, just now. */
  readonly isNamed: boolean;
}

/**
 * Which service, and which credential: what a flag says, else the environment, else the context.
 *
 * A login and a key file of a context go to the address of that context and no other.
 */
export async function chooseService(
  flags: OperatorFlags,
  context: OperatorContext,
): Promise<ChosenService | NoService> {
  if (flags.keyFile === "") return noService(NO_KEY_FILE, EXIT.usage);
  const target = await chooseTarget(flags, context);
  if (target.kind === "no-service") return target;
  const allowInsecure = flags.allowInsecure ?? target.context?.allow_insecure ?? false;
  const badUrl = urlProblem(target.url, allowInsecure);
  if (badUrl !== null) return noService(badUrl, EXIT.usage);
  return {
    kind: "service",
    baseUrl: baseUrl(target.url),
    ca_file: flags.caFile ?? target.context?.ca_file ?? null,
    allow_insecure: allowInsecure,
    context: target.context,
    ...chooseCredential(flags, target, context),
  };
}

/** The variables that are set and stronger than the current context, for a sentence; empty for none. */
export function strongerVariables({ environment }: OperatorContext): string {
  return [CONTEXT_VARIABLE, URL_VARIABLE, KEY_VARIABLE]
    .filter((name) => nonEmpty(environment[name]) !== undefined)
    .join(" and ");
}

/** The contexts of whoever runs the command; null for somebody without a home. */
export function contextFilesOf({ environment, machine, user_id: userId }: OperatorContext) {
  const folder = configurationFolder(environment);
  return folder === null ? null : openContextFiles(folder, machine.files, userId);
}

/** What is wrong with the address of a service; null where nothing is. */
export function urlProblem(url: string, allowInsecure: boolean): Problem | null {
  const parsed = parseServiceUrl(url, allowInsecure);
  if (parsed.kind === "url") return null;
  // The agent has a configuration file for it, an operator has flags.
  const fix = parsed.code === "url-insecure" ? "use https, or give --allow-insecure" : parsed.fix;
  return { code: parsed.code, what: parsed.what, fix };
}

/** The context with this address; null for none. */
export async function contextAt(url: string, contexts: ContextFiles): Promise<ServiceContext | null> {
  for (const name of await contexts.names()) {
    const found = await contexts.find(name);
    if (found.kind === "context" && baseUrl(found.context.url) === baseUrl(url)) return found.context;
  }
  return null;
}

/** The same service is written in several ways; contexts are compared by this one. */
export function baseUrl(text: string): string {
  return (URL.parse(text)?.href ?? text).replace(/\/+$/, "");
}

async function chooseTarget(flags: OperatorFlags, context: OperatorContext): Promise<Target | NoService> {
  const { environment } = context;
  const url = flags.url ?? (flags.context === undefined ? nonEmpty(environment[URL_VARIABLE]) : undefined);
  const contexts = contextFilesOf(context);
  const name = flags.context ?? nonEmpty(environment[CONTEXT_VARIABLE]) ?? (await contexts?.current()) ?? null;
  const found = name === null ? null : ((await contexts?.find(name)) ?? null);
  if (url === undefined) {
    if (found === null) return noService(NO_SERVICE, EXIT.usage);
    if (found.kind === "no-context") return noService(found.problem, EXIT.usage);
    return { kind: "target", url: found.context.url, context: found.context, isNamed: flags.context !== undefined };
  }
  if (flags.context !== undefined && found?.kind === "no-context") return noService(found.problem, EXIT.usage);
  const isMeant = found?.kind === "context" && baseUrl(found.context.url) === baseUrl(url);
  const own = isMeant ? found.context : contexts === null ? null : await contextAt(url, contexts);
  return { kind: "target", url, context: own, isNamed: flags.context !== undefined };
}

/** For somebody without a home directory, such as a system user. */
export const NO_HOME: Problem = {
  code: "no-home",
  what: "there is no folder to keep contexts in",
  fix: "set HOME or XDG_CONFIG_HOME; or do without: --url URL and --key-file FILE, ROBOT_POLICY_URL and ROBOT_POLICY_API_KEY",
};

const NO_SERVICE: Problem = {
  code: "no-service",
  what: "no service is named",
  fix: `robot-policy login --url URL remembers one; or give --url URL, or set ${URL_VARIABLE}`,
};

/** As a shell writes it whose variable is not set; what is in the environment is not meant then. */
const NO_KEY_FILE: Problem = {
  code: "usage",
  what: "--key-file names no file",
  fix: "give the path of a file with the key",
};

function noService(problem: Problem, exitCode: ExitCode): NoService {
  return { kind: "no-service", problem, exitCode };
}

type Chosen = Pick<ChosenService, "credential" | "loadCredential">;

function chooseCredential(flags: OperatorFlags, target: Target, context: OperatorContext): Chosen {
  if (flags.keyFile !== undefined) return keyFile(flags.keyFile, "key-file", context);
  const environmentKey = nonEmpty(context.environment[KEY_VARIABLE]);
  const own = contextCredential(target.context, context);
  // Who names a context means its credential too.
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

/** An operator may put the token of a login there, too; a robot computer only ever has a key. */
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
  const { machine, user_id: userId } = context;
  return async () => inOperatorsWords(await loadCredential({ ...sources, serviceUserId: userId }, machine.files));
}

/** Where the usual words are for the robot computer and its agent. */
function inOperatorsWords(loaded: LoadedCredential): LoadedCredential {
  if (loaded.kind === "credential") return loaded;
  switch (loaded.code) {
    case "key-missing":
      return { ...loaded, fix: "correct the path; robot-policy keys create LABEL --out FILE creates a key in a file" };
    case "key-owner":
      return { ...loaded, what: "the key file belongs to another user" };
    default:
      return loaded;
  }
}

function loginCommand({ context, url }: Target): string {
  return context === null ? `robot-policy login --url ${url}` : `robot-policy login --context ${context.name}`;
}

/** A variable that is set to nothing counts as not set. */
export function nonEmpty(text: string | undefined): string | undefined {
  return text === "" ? undefined : text;
}
