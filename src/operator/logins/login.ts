import { resolve } from "node:path";

import { beyondSpec } from "../../api/api.ts";
import { isoNow } from "../../platform/clock.ts";
import { EXIT, type ExitCode, type Problem, type Terminal } from "../../platform/terminal.ts";
import type { OperatorContext } from "../context.ts";
import { type Failure, isUnknownOperation } from "../failure.ts";
import type { ServiceFlags } from "../flags.ts";
import { openService } from "../operator.ts";
import { refuse, refuseUsage } from "../refuse.ts";
import type { Service } from "../service.ts";
import { isRemoteSession, openBrowser } from "./browser.ts";
import { listenForCallback } from "./callback.ts";
import {
  baseUrl,
  type ChosenService,
  CONTEXT_VARIABLE,
  contextAt,
  contextFilesOf,
  NO_HOME,
  nonEmpty,
  overridingVariables,
  URL_VARIABLE,
  urlProblem,
} from "./choose-service.ts";
import { CONTEXT_NAME, type ContextFiles, type Login, type ServiceContext } from "./context-files.ts";
import { awaitApproval, secretText, type SignedIn, startLogin } from "./sign-in.ts";

export const LOGIN_SUMMARY = "sign in on a page in a browser, and save the service as a context";

/** Used without a listener: the service requires a loopback URL, and nothing listens on the discard port. */
const NO_CALLBACK_URL = "http://127.0.0.1:9/no-browser";

/** Signs in on a page in a browser, and saves the login in a context. */
export async function login(flags: ServiceFlags, context: OperatorContext, hasBrowser: boolean): Promise<ExitCode> {
  const { terminal } = context;
  const contexts = contextFilesOf(context);
  if (contexts === null) return refuse(NO_HOME, EXIT.failed, terminal);
  if (flags.keyFile !== undefined) {
    const fix = "leave it out; with a key: robot-policy contexts add NAME --url URL --key-file FILE";
    return refuseUsage("login does not use --key-file", fix, terminal);
  }
  const target = await chooseTarget(flags, context, contexts);
  if ("problem" in target) return refuse(target.problem, EXIT.usage, terminal);
  await using service = openService(withCredential(target, null), flags, context, LOGIN_SUMMARY);
  const isElsewhere = !hasBrowser || isRemoteSession(context.environment);
  const signedIn = isElsewhere ? await byPolling(service) : await byBrowser(service);
  return await finish(signedIn, service, target, contexts);
}

async function byBrowser(service: Service): Promise<SignedIn> {
  const { context, terminal } = service;
  await using listener = await listenForCallback(secretText(context, 16));
  // Without a listener the result is polled.
  if (listener === null) return await byPolling(service);
  const started = await startLogin(service, listener.url);
  if (started.kind === "failed") return started;
  terminal.note("Approve the login on this page:");
  terminal.note(`  ${started.url}`);
  if (started.user_code === null) {
    terminal.note("A browser on another computer may show a connection error at the end; that is expected.");
  } else {
    noteCode(started.user_code, terminal);
    terminal.note("In a browser on another computer, say on the page that your terminal is elsewhere.");
  }
  openBrowser(started.url, context.environment);
  return await awaitApproval(service, started.login, listener.callback);
}

async function byPolling(service: Service): Promise<SignedIn> {
  const { terminal } = service;
  const started = await startLogin(service, NO_CALLBACK_URL);
  if (started.kind === "failed") return started;
  terminal.note("Approve the login on this page, in a browser on any computer:");
  terminal.note(`  ${started.url}`);
  if (started.user_code !== null) noteCode(started.user_code, terminal);
  return awaitApproval(service, started.login, null);
}

/** The page shows the same code and asks to compare both. */
function noteCode(userCode: string, terminal: Terminal): void {
  terminal.note(`The page shows the code ${terminal.style("bold", userCode)}. Deny a login with another code.`);
}

async function finish(
  signedIn: SignedIn,
  service: Service,
  target: ServiceContext,
  contexts: ContextFiles,
): Promise<ExitCode> {
  const { terminal, context } = service;
  switch (signedIn.kind) {
    case "denied": {
      const fix = "start again, and approve the login on the page";
      return refuse({ code: "login-denied", what: "the login was denied", fix }, EXIT.unauthorized, terminal);
    }
    case "failed":
      return failed(signedIn.failure, service);
    case "signed-in": {
      const login = await describeLogin(target, signedIn.token, context);
      // Save first: an unsaved token is lost.
      const unsaved = (await contexts.save({ ...target, login })) ?? (await contexts.setCurrent(target.name));
      if (unsaved !== null) {
        // End the login: its token is lost, but would stay valid.
        await endLogin(target, login, context);
        return refuse(unsaved, EXIT.failed, terminal);
      }
      if (target.login !== null) await endLogin(target, target.login, context);
      const { organization, expires_at: expiresAt } = login;
      const { name, url } = target;
      return service.answer({ context: name, url, organization, expires_at: expiresAt }, () => {
        const until = expiresAt === null ? "" : ` until ${expiresAt.slice(0, 10)}`;
        terminal.print(`Signed in to ${organization ?? url}${until}; it is the current context, ${name}.`);
        noteOverridingVariables(context);
      });
    }
  }
}

/** Warns that the environment overrides the context that was just chosen. */
export function noteOverridingVariables(context: OperatorContext): void {
  const variables = overridingVariables(context);
  if (variables !== "") context.terminal.note(`The environment overrides the current context: ${variables}.`);
}

function failed(failure: Failure, service: Service): ExitCode {
  if (failure.kind === "refused" && failure.status === 401) {
    const what = `the login ended without an approval (${failure.detail})`;
    const fix = "start again, and approve it within ten minutes";
    return refuse({ code: "login-ended", what, fix }, EXIT.unauthorized, service.terminal);
  }
  if (!isUnknownOperation(failure)) return service.failed(failure);
  const fix = `use a key: robot-policy contexts add NAME --url ${service.chosen.baseUrl} --key-file FILE`;
  return refuse({ code: "not-offered", what: "this service has no logins", fix }, EXIT.rejected, service.terminal);
}

/** Organization and expiry of the new login, where the service shows them. The login is valid without them. */
async function describeLogin(target: ServiceContext, token: Login["token"], context: OperatorContext): Promise<Login> {
  const signedInAt = isoNow(context.machine.clock);
  await using service = openService(withCredential(target, token), {}, context, LOGIN_SUMMARY);
  const result = await service.call(beyondSpec.getSession, {});
  if (result.kind !== "ok") return { token, signed_in_at: signedInAt, expires_at: null, organization: null };
  const { active_organization: activeOrganization, credential } = result.value.value;
  return {
    token,
    signed_in_at: signedInAt,
    expires_at: credential?.expires_at ?? null,
    organization: activeOrganization.name,
  };
}

/**
 * Ends a login at its service.
 *
 * @returns null, or why it may still be valid there.
 */
export async function endLogin(
  target: ServiceContext,
  { token }: Login,
  context: OperatorContext,
): Promise<Failure | null> {
  await using service = openService(withCredential(target, token), {}, context, LOGIN_SUMMARY);
  const result = await service.call(beyondSpec.endSession, {});
  // 401: it has ended already.
  return result.kind === "ok" || (result.kind === "refused" && result.status === 401) ? null : result;
}

function withCredential(
  { url, ca_file: caFile, allow_insecure: allowInsecure }: ServiceContext,
  token: Login["token"] | null,
): ChosenService {
  const problem = {
    kind: "credential-problem",
    code: "key-missing",
    what: "nobody is signed in",
    where: url,
    fix: "robot-policy login",
  } as const;
  return {
    kind: "service",
    baseUrl: baseUrl(url),
    ca_file: caFile,
    allow_insecure: allowInsecure,
    context: null,
    credential: { source: "login", name: "the login", another: "robot-policy login" },
    loadCredential: async () => (token === null ? problem : { kind: "credential", secret: token }),
  };
}

type Target = ServiceContext | { readonly problem: Problem };

/** The context to sign in to: the named one, the one with the address, or the current one; a new one for a new address. */
async function chooseTarget(flags: ServiceFlags, context: OperatorContext, contexts: ContextFiles): Promise<Target> {
  const url = flags.url ?? (flags.context === undefined ? nonEmpty(context.environment[URL_VARIABLE]) : undefined);
  const named = flags.context ?? (url === undefined ? nonEmpty(context.environment[CONTEXT_VARIABLE]) : undefined);
  const name = named ?? (url === undefined ? await contexts.current() : await nameFor(url, contexts, context.terminal));
  if (name === null) return { problem: NO_URL };
  if (!CONTEXT_NAME.test(name)) return { problem: badName(name) };
  const found = await contexts.find(name);
  if (found.kind === "no-context" && (url === undefined || found.problem.code !== "context-missing")) {
    return { problem: found.problem };
  }
  const known = found.kind === "context" ? found.context : null;
  const target: ServiceContext = {
    name,
    url: baseUrl(url ?? known?.url ?? ""),
    ca_file: absolute(flags.caFile) ?? known?.ca_file ?? null,
    allow_insecure: flags.allowInsecure ?? known?.allow_insecure ?? false,
    key_file: known?.key_file ?? null,
    login: known?.login ?? null,
  };
  if (known !== null && baseUrl(known.url) !== target.url) {
    const what = `the context ${name} belongs to another service, ${known.url}`;
    return { problem: { code: "context-taken", what, fix: "give another name: --context NAME" } };
  }
  const problem = urlProblem(target.url, target.allow_insecure);
  return problem === null ? target : { problem };
}

const NO_URL: Problem = {
  code: "no-service",
  what: "no service is given",
  fix: `give its address: robot-policy login --url URL, or set ${URL_VARIABLE}`,
};

/** Contexts store absolute paths, because they are used from any folder. */
export function absolute(path: string | undefined): string | null {
  return path === undefined ? null : resolve(path);
}

export function badName(name: string): Problem {
  const fix = "use at most 64 letters, digits, dots, dashes and underscores, starting with a letter or digit";
  return { code: "usage", what: `'${name}' is not a valid name for a context`, fix };
}

/** The name of the context with this address, else a new name after its host. */
async function nameFor(url: string, contexts: ContextFiles, terminal: Terminal): Promise<string> {
  const known = await contextAt(url, contexts, terminal);
  if (known !== null) return known.name;
  const names = await contexts.names();
  const host = (URL.parse(url)?.host ?? "service").replaceAll(/[^a-zA-Z0-9._-]+/g, "-").replace(/^[^a-zA-Z0-9]+/, "");
  const wanted = (host === "" ? "service" : host).slice(0, 48);
  const numbered = names.map((_, index) => `${wanted}-${index + 2}`);
  return [wanted, ...numbered].find((name) => !names.includes(name)) ?? wanted;
}
