import { type CredentialProblem, KEY_VARIABLE, loadCredential } from "../../client/credential.ts";
import type { LoadedCredential } from "../../client/operation-client.ts";
import { Secret } from "../../client/secret.ts";
import { parseServiceUrl } from "../../client/transport/service-url.ts";
import type { Problem } from "../../platform/terminal.ts";
import type { OperatorContext } from "../context.ts";
import type { ServiceFlags } from "../flags.ts";
import { type Contexts, NO_CONTEXTS, readContexts, type ServiceContext } from "./contexts-file.ts";

const URL_VARIABLE = "ROBOT_POLICY_URL";
const CONTEXT_VARIABLE = "ROBOT_POLICY_CONTEXT";

/** The service of a command, and the credential for it. */
export interface ChosenService {
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

/** What flags and environment say of the service, with the context that they mean. */
export interface Target {
  /** Undefined if neither a flag, a variable nor a context gives one. */
  readonly url: string | undefined;
  /** Who gave the address, for a message: a flag, a variable or a context. */
  readonly source: string;
  readonly context: ServiceContext | null;
  /** The name of a context that was asked for, by flag, variable or default; null where only an address was given. */
  readonly name: string | null;
  /** Whether the operator named the context in this command. */
  readonly isNamed: boolean;
}

/** The context that is named, else the one with the address, else the current one. */
export function chooseTarget(
  flags: ServiceFlags,
  { all, current }: Contexts,
  environment: OperatorContext["environment"],
): Target {
  const given = flags.url ?? (flags.context === undefined ? nonEmpty(environment[URL_VARIABLE]) : undefined);
  const isNamed = flags.context !== undefined;
  const name = flags.context ?? nonEmpty(environment[CONTEXT_VARIABLE]) ?? current;
  const known = all.find((each) => each.name === name) ?? null;
  if (given === undefined) {
    return { url: known?.url, source: `context ${name}`, context: known, name, isNamed };
  }
  const isThere = ({ url }: ServiceContext) => baseUrl(url) === baseUrl(given);
  const there = known !== null && isThere(known) ? known : (all.find(isThere) ?? null);
  const source = flags.url === undefined ? URL_VARIABLE : "--url";
  return { url: given, source, context: isNamed ? known : there, name: isNamed ? name : null, isNamed };
}

/** Why there is no context to work with. */
export function contextProblem({ name, url }: Pick<Target, "name" | "url">): Problem {
  if (name === null && url !== undefined) return { ...NO_CONTEXT, what: `no context has the address ${url}` };
  if (name === null) return NO_CONTEXT;
  const fix = "robot-policy contexts list shows all contexts; robot-policy contexts add NAME --url URL creates one";
  return { code: "context-missing", what: `there is no context named ${name}`, fix };
}

const NO_CONTEXT: Problem = {
  code: "no-context",
  what: "no context is current",
  fix: "name one; robot-policy contexts list shows all contexts, robot-policy login --url URL creates one",
};

/**
 * Chooses service and credential: from flags, else from the environment, else from the context.
 *
 * The login and the key file of a context are sent only to that context's address.
 */
export async function chooseService(flags: ServiceFlags, context: OperatorContext): Promise<ChosenService | Problem> {
  if (flags.keyFile === "") return NO_KEY_FILE;
  const read = await readContexts(context);
  const isUsable = !("code" in read);
  const target = chooseTarget(flags, isUsable ? read : NO_CONTEXTS, context.environment);
  const { url } = target;
  if (!isUsable && read.code !== "no-home") {
    if (url === undefined || target.isNamed) return read;
    context.terminal.warning(read.what, read.fix);
  }
  if (target.isNamed && target.context === null) return contextProblem(target);
  if (url === undefined) return target.name === null ? NO_SERVICE : contextProblem(target);
  // A context is known by its address: the login of another one is not sent there.
  const own = target.context !== null && baseUrl(target.context.url) === baseUrl(url) ? target.context : null;
  const allowInsecure = flags.allowInsecure ?? own?.allow_insecure ?? false;
  const badUrl = urlProblem(url, allowInsecure);
  if (badUrl !== null) return { ...badUrl, where: target.source };
  return {
    baseUrl: baseUrl(url),
    ca_file: flags.caFile ?? own?.ca_file ?? null,
    allow_insecure: allowInsecure,
    context: own,
    ...chooseCredential(flags, { url, context: own, isNamed: target.isNamed }, context),
  };
}

/** The environment variables that override the current context, for a sentence; empty for none. */
export function overridingVariables({ environment }: OperatorContext): string {
  return [CONTEXT_VARIABLE, URL_VARIABLE, KEY_VARIABLE]
    .filter((name) => nonEmpty(environment[name]) !== undefined)
    .join(" and ");
}

/** @returns null for a valid address. */
export function urlProblem(url: string, allowInsecure: boolean): Problem | null {
  const parsed = parseServiceUrl(url, allowInsecure);
  if (parsed.kind === "url") return null;
  // The shared message names the agent's configuration file; an operator uses flags.
  const fix = parsed.code === "url-insecure" ? "use https, or give --allow-insecure" : parsed.fix;
  return { code: parsed.code, what: parsed.what, fix };
}

/** The normal form of an address, by which contexts are compared. */
export function baseUrl(text: string): string {
  return (URL.parse(text)?.href ?? text).replace(/\/+$/, "");
}

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

/** An address, and its context. */
interface Addressed extends Pick<Target, "context" | "isNamed"> {
  readonly url: string;
}

type Chosen = Pick<ChosenService, "credential" | "loadCredential">;

function chooseCredential(flags: ServiceFlags, target: Addressed, context: OperatorContext): Chosen {
  if (flags.keyFile !== undefined) return keyFile(flags.keyFile, "key-file", context);
  const environmentKey = nonEmpty(context.environment[KEY_VARIABLE]);
  const own = contextCredential(target.context, context);
  // A context that was named in this command overrides a key in the environment.
  if (own !== null && (target.isNamed || environmentKey === undefined)) return own;
  if (environmentKey !== undefined) return environmentCredential(environmentKey, context);
  const where = target.context === null ? `--url ${target.url}` : `--context ${target.context.name}`;
  const fix = `robot-policy login ${where} signs you in; or give --key-file FILE, or set ${KEY_VARIABLE}`;
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
        fix: "correct the path, or give --key-file FILE; robot-policy keys create LABEL --scope SCOPE --out FILE creates a key in a file",
      };
    case "key-owner":
      return { ...loaded, what: "the key file belongs to another user", fix };
    default:
      return { ...loaded, fix };
  }
}

/** An empty variable counts as not set. */
function nonEmpty(text: string | undefined): string | undefined {
  return text === "" ? undefined : text;
}
