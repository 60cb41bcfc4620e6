import { type CredentialProblem, KEY_VARIABLE, loadCredential } from "../../client/credential.ts";
import type { LoadedCredential } from "../../client/operation-client.ts";
import { parseServiceUrl } from "../../client/transport/service-url.ts";
import type { Problem } from "../../platform/terminal.ts";
import type { OperatorContext } from "../context.ts";
import type { ServiceFlags } from "../flags.ts";
import { type Contexts, type Login, NO_CONTEXTS, readContexts, type ServiceContext } from "./contexts.ts";

const URL_VARIABLE = "ROBOT_POLICY_URL";
const CONTEXT_VARIABLE = "ROBOT_POLICY_CONTEXT";

/** The service of a command, and the credential for it. */
export interface ChosenService extends ChosenAccess {
  readonly baseUrl: string;
  readonly ca_file: string | null;
  readonly allow_insecure: boolean;
  /** The context with this address; null where there is none. */
  readonly context: ServiceContext | null;
}

interface ChosenAccess {
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
interface Target {
  /** Undefined if neither a flag, a variable nor a context gives one. */
  readonly url: string | undefined;
  /** Who gave the address, for a message: a flag, a variable or a context. */
  readonly source: string;
  readonly context: ServiceContext | null;
  /** The name of a context that was asked for, by flag, variable or default; null where only an address was given. */
  readonly name: string | null;
}

/** The context that is named, else the one with the address, else the current one. */
export function chooseTarget(
  flags: ServiceFlags,
  { all, current }: Contexts,
  environment: OperatorContext["environment"],
): Target {
  const given = flags.url ?? (flags.context === undefined ? nonEmpty(environment[URL_VARIABLE]) : undefined);
  const name = flags.context ?? nonEmpty(environment[CONTEXT_VARIABLE]) ?? current;
  const known = all.find((each) => each.name === name) ?? null;
  if (given === undefined) return { url: known?.url, source: `context ${name}`, context: known, name };
  const source = flags.url === undefined ? URL_VARIABLE : "--url";
  if (flags.context !== undefined) return { url: given, source, context: known, name };
  const there = all.filter(({ url }) => baseUrl(url) === baseUrl(given));
  return { url: given, source, context: there.find((each) => each === known) ?? there[0] ?? null, name: null };
}

/** Why there is no context, or no service, to work with. */
export function contextProblem({ name, url }: Pick<Target, "name" | "url">): Problem {
  if (name === null && url === undefined) {
    const fix = `robot-policy login --url URL saves one; or give --url URL, or set ${URL_VARIABLE}`;
    return { code: "no-service", what: "no service is given, and no context is current", fix };
  }
  const what = name === null ? `no context has the address ${url}` : `there is no context named ${name}`;
  const fix = "robot-policy contexts list shows all contexts, robot-policy login --url URL creates one";
  return { code: "no-context", what, fix };
}

/**
 * Chooses service and credential: from flags, else from the environment, else from the context.
 *
 * The login and the key file of a context are sent only to that context's address.
 */
export async function chooseService(flags: ServiceFlags, context: OperatorContext): Promise<ChosenService | Problem> {
  const read = await readContexts(context);
  const target = chooseTarget(flags, "code" in read ? NO_CONTEXTS : read, context.environment);
  const { url } = target;
  if ("code" in read && read.code !== "no-home") {
    if (url === undefined || flags.context !== undefined) return read;
    context.terminal.warning(read.what, read.fix);
  }
  if (url === undefined || (flags.context !== undefined && target.context === null)) return contextProblem(target);
  // The login of another address is not sent there.
  const own = target.context !== null && baseUrl(target.context.url) === baseUrl(url) ? target.context : null;
  const allowInsecure = flags.allowInsecure ?? own?.allow_insecure ?? false;
  const badUrl = urlProblem(url, allowInsecure);
  if (badUrl !== null) return { ...badUrl, where: target.source };
  return {
    baseUrl: baseUrl(url),
    ca_file: flags.caFile ?? own?.ca_file ?? null,
    allow_insecure: allowInsecure,
    context: own,
    ...chooseCredential(flags, url, own, context),
  };
}

/** The service of a context, with the credential of this login; without one for the operations of signing in, which need none. */
export function serviceOf(own: ServiceContext, login: Login | null): ChosenService {
  const { name, url, ca_file, allow_insecure } = own;
  const access = login === null ? noAccess(url, own) : loginAccess(name, login);
  return { baseUrl: baseUrl(url), ca_file, allow_insecure, context: own, ...access };
}

/** Warns that the environment overrides the context that was just made the current one. */
export function noteOverridingVariables({ environment, terminal }: OperatorContext): void {
  const set = [CONTEXT_VARIABLE, URL_VARIABLE, KEY_VARIABLE].filter((name) => nonEmpty(environment[name]));
  if (set.length > 0) terminal.note(`The environment overrides the current context: ${set.join(" and ")}.`);
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

function chooseCredential(
  flags: ServiceFlags,
  url: string,
  own: ServiceContext | null,
  context: OperatorContext,
): ChosenAccess {
  if (flags.keyFile !== undefined) return keyFileAccess(flags.keyFile, "key-file", context);
  const key = nonEmpty(context.environment[KEY_VARIABLE]);
  // A context that was named in this command overrides a key in the environment.
  if (key === undefined || flags.context !== undefined) {
    if (own !== null && own.login !== null) return loginAccess(own.name, own.login);
    if (own !== null && own.key_file !== null) return keyFileAccess(own.key_file, "context-key-file", context);
  }
  if (key !== undefined) {
    const another = `set ${KEY_VARIABLE} to another key, or give --key-file FILE`;
    return {
      credential: { source: "environment", name: `the key in ${KEY_VARIABLE}`, another },
      loadCredential: () => loadKey({ environmentKey: key }, context),
    };
  }
  return noAccess(url, own);
}

function noAccess(url: string, own: ServiceContext | null): ChosenAccess {
  const where = own === null ? `--url ${url}` : `--context ${own.name}`;
  const fix = `robot-policy login ${where} signs you in; or give --key-file FILE, or set ${KEY_VARIABLE}`;
  const what = "there is no credential for this service";
  const problem: CredentialProblem = { kind: "credential-problem", code: "key-missing", what, where: url, fix };
  return {
    credential: { source: "none", name: "a request without a credential", another: fix },
    loadCredential: async () => problem,
  };
}

function loginAccess(name: string, { token: secret, signed_in_at, expires_at }: Login): ChosenAccess {
  const until = expires_at === null ? "" : `, good until ${expires_at.slice(0, 10)}`;
  const since = `since ${signed_in_at.slice(0, 10)}${until}`;
  const another = `robot-policy login --context ${name}`;
  return {
    credential: { source: "login", name: `the login of context ${name} (${since})`, another },
    loadCredential: async () => ({ kind: "credential", secret }),
  };
}

function keyFileAccess(path: string, source: "key-file" | "context-key-file", context: OperatorContext): ChosenAccess {
  const from = source === "key-file" ? "" : ", which the context names";
  const another = `put another key into ${path}, give --key-file FILE, or sign in: robot-policy login`;
  return {
    credential: { source, name: `the key in ${path}${from}`, another },
    loadCredential: () => loadKey({ keyFile: path }, context),
  };
}

/** With messages for operators: those of the client speak of the robot computer and its agent. */
async function loadKey(
  sources: { readonly keyFile?: string; readonly environmentKey?: string },
  { machine, userId }: OperatorContext,
): Promise<LoadedCredential> {
  const loaded = await loadCredential({ ...sources, serviceUserId: userId }, machine.files);
  if (loaded.kind === "credential") return loaded;
  if (loaded.code === "key-missing") {
    const create = "robot-policy keys create LABEL --scope SCOPE --out FILE creates a key in a file";
    return { ...loaded, fix: `correct the path, or give --key-file FILE; ${create}` };
  }
  const what = loaded.code === "key-owner" ? "the key file belongs to another user" : loaded.what;
  // Only root may take a file from another user.
  return { ...loaded, what, fix: loaded.fix.replace(/^chown /, "sudo chown ") };
}

/** An empty variable counts as not set. */
function nonEmpty(text: string | undefined): string | undefined {
  return text === "" ? undefined : text;
}
