import { beyondSpec, operations } from "../../api/api.ts";
import { isoNow } from "../../platform/clock.ts";
import { EXIT, type ExitCode, type Problem } from "../../platform/terminal.ts";
import { command, localCommand, type OperatorRow } from "../command.ts";
import type { OperatorContext } from "../context.ts";
import { type Failure, failureText, isUnknownOperation } from "../failure.ts";
import { onOff, type ServiceFlags } from "../flags.ts";
import { showFacts } from "../lists/show-list.ts";
import { openService } from "../operator.ts";
import { refuse, refuseUsage } from "../refuse.ts";
import { callIfOffered, type Service } from "../service.ts";
import { timeUntil } from "../times.ts";
import {
  baseUrl,
  chooseTarget,
  contextProblem,
  noteOverridingVariables,
  serviceOf,
  urlProblem,
} from "./choose-service.ts";
import {
  absolute,
  type Contexts,
  type Login,
  nameProblem,
  readContexts,
  refuseContexts,
  saveContexts,
  type ServiceContext,
  withContext,
} from "./contexts.ts";
import type { SignedIn } from "./sign-in.ts";

const LOGIN_SUMMARY = "sign in on a page in a browser, and save the service as a context";

/** Logins. */
export const loginCommands: readonly OperatorRow[] = [
  localCommand({
    name: "login",
    summary: LOGIN_SUMMARY,
    flags: {
      browser: onOff("open no browser; approve the login in a browser on another computer", { negated: true }),
    },
    examples: [
      "robot-policy login --url https://policy.example.com",
      "robot-policy login --url https://policy.example.com --context lab --no-browser",
      "robot-policy contexts add lab --url https://policy.example.com --key-file ~/lab.key   # with a key instead",
    ],
    run: ({ browser }, context, flags) => login(flags, context, browser !== false),
  }),
  localCommand({
    name: "logout",
    summary: "end the login at the service, and delete it here",
    flags: {},
    examples: ["robot-policy logout", "robot-policy logout --context lab"],
    run: (_own, context, flags) => logout(flags, context),
  }),
  command({
    name: "whoami",
    summary: "show the service, the credential, and its organization",
    flags: {},
    examples: ["robot-policy whoami"],
    run: whoami,
  }),
];

/** Shows the chosen service, the credential, and its organization; of a service that does not say it, only that it accepts the credential. */
async function whoami(service: Service): Promise<ExitCode> {
  const { chosen, terminal } = service;
  const session = await callIfOffered(service, beyondSpec.getSession, {});
  if (typeof session === "number") return session;
  if (session === null) {
    const result = await service.call(operations.listRobots, { query: { limit: 1 } });
    if (result.kind !== "ok") return service.failed(result);
  }
  const context = chosen.context?.name ?? null;
  const { source, name } = chosen.credential;
  const document = { url: chosen.baseUrl, context, credential: source, session: session?.document ?? null };
  return service.answer(document, () => {
    const { active_organization: organization, credential } = session?.value ?? {};
    const scopes = credential?.scopes === null ? "do everything" : credential?.scopes?.join(" ");
    showFacts(terminal, [
      ["service", chosen.baseUrl],
      ["context", context ?? ""],
      ["credential", name],
      ["organization", organization === undefined ? "" : `${organization.name} (${organization.id})`],
      ["role", organization?.role ?? ""],
      ["id", credential?.id ?? ""],
      ["may", scopes ?? ""],
      ["expires", timeUntil(credential?.expires_at, service.now())],
    ]);
    if (session === null) terminal.note("The service accepts the credential; it does not say whose it is.");
  });
}

/** Signs in on a page in a browser, and saves the login in a context. */
async function login(flags: ServiceFlags, context: OperatorContext, hasBrowser: boolean): Promise<ExitCode> {
  const { terminal } = context;
  const contexts = await readContexts(context);
  if ("code" in contexts) return refuseContexts(contexts, terminal);
  if (flags.keyFile !== undefined) {
    const fix = "leave it out; with a key: robot-policy contexts add NAME --url URL --key-file FILE";
    return refuseUsage("login does not use --key-file", fix, terminal);
  }
  const target = targetOf(flags, context, contexts);
  if ("code" in target) return refuseContexts(target, terminal);
  await using service = await openService(serviceOf(target, null), flags, context, LOGIN_SUMMARY);
  const signedIn = await signIn(service, hasBrowser);
  switch (signedIn.kind) {
    case "denied": {
      const fix = "start again, and approve the login on the page";
      return refuse({ code: "login-denied", what: "the login was denied", fix }, EXIT.unauthorized, terminal);
    }
    case "failed":
      return failed(signedIn.failure, service);
    case "signed-in":
      return await finish(service, target, signedIn.token);
  }
}

/** The context to sign in to: the named one, the one with the address, or the current one; a new one for a new address. */
function targetOf(flags: ServiceFlags, { environment }: OperatorContext, contexts: Contexts): ServiceContext | Problem {
  const { url, name: asked, context: known } = chooseTarget(flags, contexts, environment);
  if (url === undefined) return contextProblem({ url, name: asked });
  const name = known?.name ?? asked ?? nameAfter(url);
  const { ca_file = null, allow_insecure = false, key_file = null, login: former = null } = known ?? {};
  const target: ServiceContext = {
    name,
    url: baseUrl(url),
    ca_file: absolute(flags.caFile) ?? ca_file,
    allow_insecure: flags.allowInsecure ?? allow_insecure,
    key_file,
    login: former,
  };
  const taken = contexts.all.find((each) => each.name === name && baseUrl(each.url) !== target.url);
  if (taken !== undefined) {
    const what = `the context ${name} belongs to another service, ${taken.url}`;
    return { code: "context-taken", what, fix: "give another name: --context NAME" };
  }
  return nameProblem(name) ?? urlProblem(target.url, target.allow_insecure) ?? target;
}

/** A name after the host of the address. */
function nameAfter(url: string): string {
  const host = URL.parse(url)?.host ?? "";
  return (
    host
      .replaceAll(/[^a-zA-Z0-9._-]+/g, "-")
      .replace(/^[^a-zA-Z0-9]+/, "")
      .slice(0, 64) || "service"
  );
}

/** Used without a listener: the service requires a loopback URL, and nothing listens on the discard port. */
const NO_CALLBACK_URL = "http://127.0.0.1:9/no-browser";

/** Starts a login, and waits until a person decides it on the page. */
async function signIn(service: Service, hasBrowser: boolean): Promise<SignedIn> {
  // Loaded here: it needs the server of node:http, which would take a tenth of each start.
  const { awaitApproval, isRemoteSession, listenForCallback, openBrowser, startLogin } = await import("./sign-in.ts");
  const { context, terminal } = service;
  const isElsewhere = !hasBrowser || isRemoteSession(context.environment);
  // Without a listener the result is polled.
  await using listener = isElsewhere ? null : await listenForCallback(context);
  const started = await startLogin(service, listener?.url ?? NO_CALLBACK_URL);
  if (started.kind === "failed") return started;
  terminal.note(`Approve the login on this page${listener === null ? ", in a browser on any computer" : ""}:`);
  terminal.note(`  ${started.url}`);
  if (started.user_code !== null) {
    const code = terminal.style("bold", started.user_code);
    terminal.note(`The page shows the code ${code}. Deny a login with another code.`);
  }
  if (listener !== null) {
    terminal.note("In a browser on another computer, say on the page that your terminal is elsewhere.");
    openBrowser(started.url, context.environment);
  }
  return await awaitApproval(service, started.login, listener?.callback ?? null);
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

/** Saves the login, ends the former one of this context, and shows it. */
async function finish(service: Service, target: ServiceContext, token: Login["token"]): Promise<ExitCode> {
  const { terminal, context } = service;
  const login = await describeLogin(target, token, context);
  const signedIn = { ...target, login };
  const unsaved = await saveLogin(signedIn, context);
  if (unsaved !== null) {
    // Its token is lost, but would stay valid.
    await endLogin(signedIn, context);
    return refuseContexts(unsaved, terminal);
  }
  await endLogin(target, context);
  const { organization, expires_at: expiresAt } = login;
  const { name, url } = target;
  return service.answer({ context: name, url, organization, expires_at: expiresAt }, () => {
    const until = expiresAt === null ? "" : ` until ${expiresAt.slice(0, 10)}`;
    terminal.print(`Signed in to ${organization ?? url}${until}; it is the current context, ${name}.`);
    noteOverridingVariables(context);
  });
}

/** With organization and expiry, where the service shows them. The login is valid without them. */
async function describeLogin(target: ServiceContext, token: Login["token"], context: OperatorContext): Promise<Login> {
  const login = { token, signed_in_at: isoNow(context.machine.clock), expires_at: null, organization: null };
  await using service = await openService(serviceOf(target, login), {}, context, LOGIN_SUMMARY);
  const result = await service.call(beyondSpec.getSession, {});
  if (result.kind !== "ok") return login;
  const { active_organization: organization, credential } = result.value.value;
  return { ...login, expires_at: credential?.expires_at ?? null, organization: organization.name };
}

/** Into the file as it is now: an approval takes minutes, in which other commands may have changed it. */
async function saveLogin(signedIn: ServiceContext, context: OperatorContext): Promise<Problem | null> {
  const read = await readContexts(context);
  if ("code" in read) return read;
  return saveContexts({ ...withContext(read, signedIn), current: signedIn.name }, context);
}

/** Deletes the login here, and ends it at the service. */
async function logout(flags: ServiceFlags, context: OperatorContext): Promise<ExitCode> {
  const { terminal, environment } = context;
  const contexts = await readContexts(context);
  if ("code" in contexts) return refuseContexts(contexts, terminal);
  const target = chooseTarget(flags, contexts, environment);
  const { context: known } = target;
  if (known === null) return refuseContexts(contextProblem(target), terminal);
  const { name } = known;
  const isSignedIn = known.login !== null;
  // First, because the service may not be reachable.
  const unsaved = isSignedIn ? await saveContexts(withContext(contexts, { ...known, login: null }), context) : null;
  if (unsaved !== null) return refuseContexts(unsaved, terminal);
  const isEnded = await endLogin(known, context);
  if (flags.json === true) terminal.json({ context: name, ended: isEnded, forgotten: isSignedIn });
  else terminal.print(isSignedIn ? `Signed out of ${name}.` : `Nobody is signed in to ${name}.`);
  return EXIT.ok;
}

/** Ends the login of a context at its service, if there is one; notes that it may still be valid there. @returns whether it was ended. */
export async function endLogin(own: ServiceContext, context: OperatorContext): Promise<boolean> {
  if (own.login === null) return false;
  await using service = await openService(serviceOf(own, own.login), {}, context, LOGIN_SUMMARY);
  const result = await service.call(beyondSpec.endSession, {});
  // 401: it has ended already.
  if (result.kind === "ok" || (result.kind === "refused" && result.status === 401)) return true;
  const until = own.login.expires_at ?? "it expires";
  const why = failureText(result);
  context.terminal.note(`The login could not be ended at the service (${why}): it stays valid there until ${until}.`);
  return false;
}
