import { beyondSpec, operations } from "../../api/api.ts";
import { isoNow } from "../../platform/clock.ts";
import { EXIT, type ExitCode, type Problem, type Terminal } from "../../platform/terminal.ts";
import { command, localCommand, type OperatorRow } from "../command.ts";
import type { OperatorContext } from "../context.ts";
import { type Failure, failureText, isUnknownOperation } from "../failure.ts";
import { onOff, type ServiceFlags, text } from "../flags.ts";
import { type Fact, showFacts } from "../lists/show-list.ts";
import { openService } from "../operator.ts";
import { refuse, refuseUsage } from "../refuse.ts";
import type { Service } from "../service.ts";
import { timeUntil } from "../times.ts";
import {
  baseUrl,
  type ChosenService,
  chooseTarget,
  contextProblem,
  overridingVariables,
  urlProblem,
} from "./choose-service.ts";
import {
  absolute,
  badName,
  CONTEXT_NAME,
  type Contexts,
  type Login,
  readContexts,
  saveContexts,
  type ServiceContext,
  withContext,
} from "./contexts-file.ts";
import {
  awaitApproval,
  isRemoteSession,
  listenForCallback,
  openBrowser,
  secretText,
  type SignedIn,
  startLogin,
} from "./sign-in.ts";

const LOGIN_SUMMARY = "sign in on a page in a browser, and save the service as a context";

/** Logins. */
export const loginCommands: readonly OperatorRow[] = [
  localCommand({
    name: "login",
    summary: LOGIN_SUMMARY,
    flags: {
      browser: onOff("open no browser; approve the login in a browser on another computer", { negated: true }),
      keyFile: text("<file>", "not used: a login needs no key", { hidden: true }),
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

/** Shows the chosen service, the credential, and its organization. */
async function whoami(service: Service): Promise<ExitCode> {
  const result = await service.call(beyondSpec.getSession, {});
  if (result.kind !== "ok") return isUnknownOperation(result) ? showAcceptance(service) : service.failed(result);
  const { value, document } = result.value;
  const { active_organization: organization, credential } = value;
  return service.answer({ ...whereOf(service), session: document }, () =>
    showFacts(service.terminal, [
      ...placeFacts(service),
      ["organization", `${organization.name} (${organization.id})`],
      ["role", organization.role],
      ["id", credential?.id ?? ""],
      ["may", credential?.scopes === null ? "do everything" : (credential?.scopes?.join(" ") ?? "")],
      ["expires", timeUntil(credential?.expires_at, service.now())],
    ]),
  );
}

/** For a service with only the documented operations: shows only whether it accepts the credential. */
async function showAcceptance(service: Service): Promise<ExitCode> {
  const result = await service.call(operations.listRobots, { query: { limit: 1 } });
  if (result.kind !== "ok") return service.failed(result);
  return service.answer({ ...whereOf(service), session: null }, () => {
    showFacts(service.terminal, placeFacts(service));
    service.terminal.note("The service accepts the credential; it does not say whose it is.");
  });
}

function placeFacts({ chosen }: Service): readonly Fact[] {
  return [
    ["service", chosen.baseUrl],
    ["context", chosen.context?.name ?? ""],
    ["credential", chosen.credential.name],
  ];
}

function whereOf({ chosen }: Service) {
  return { url: chosen.baseUrl, context: chosen.context?.name ?? null, credential: chosen.credential.source };
}

/** Used without a listener: the service requires a loopback URL, and nothing listens on the discard port. */
const NO_CALLBACK_URL = "http://127.0.0.1:9/no-browser";

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
  if ("problem" in target) return refuse(target.problem, EXIT.usage, terminal);
  await using service = await openService(withCredential(target, null), flags, context, LOGIN_SUMMARY);
  const isElsewhere = !hasBrowser || isRemoteSession(context.environment);
  const signedIn = isElsewhere ? await byPolling(service) : await byBrowser(service);
  return await finish(signedIn, service, target);
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

async function finish(signedIn: SignedIn, service: Service, target: ServiceContext): Promise<ExitCode> {
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
      const unsaved = await saveLogin({ ...target, login }, context);
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
  await using service = await openService(withCredential(target, token), {}, context, LOGIN_SUMMARY);
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
  await using service = await openService(withCredential(target, token), {}, context, LOGIN_SUMMARY);
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
    baseUrl: baseUrl(url),
    ca_file: caFile,
    allow_insecure: allowInsecure,
    context: null,
    credential: { source: "login", name: "the login", another: "robot-policy login" },
    loadCredential: async () => (token === null ? problem : { kind: "credential", secret: token }),
  };
}

/** As the file is now: an approval takes minutes, in which other commands may have changed it. */
async function saveLogin(signedIn: ServiceContext, context: OperatorContext): Promise<Problem | null> {
  const read = await readContexts(context);
  if ("code" in read) return read;
  return saveContexts({ ...withContext(read, signedIn), current: signedIn.name }, context);
}

/** The context to sign in to: the named one, the one with the address, or the current one; a new one for a new address. */
function targetOf(
  flags: ServiceFlags,
  { environment }: OperatorContext,
  contexts: Contexts,
): ServiceContext | { readonly problem: Problem } {
  const { url, name: asked, context: known } = chooseTarget(flags, contexts, environment);
  if (url === undefined) return { problem: asked === null ? NO_URL : contextProblem({ url, name: asked }) };
  const name = known?.name ?? asked ?? nameFor(url, contexts);
  if (!CONTEXT_NAME.test(name)) return { problem: badName(name) };
  const target: ServiceContext = {
    name,
    url: baseUrl(url),
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
  fix: "give its address: robot-policy login --url URL, or set ROBOT_POLICY_URL",
};

/** A new name after the host of the address. */
function nameFor(url: string, { all }: Contexts): string {
  const names = all.map(({ name }) => name);
  const host = (URL.parse(url)?.host ?? "service").replaceAll(/[^a-zA-Z0-9._-]+/g, "-").replace(/^[^a-zA-Z0-9]+/, "");
  const wanted = (host === "" ? "service" : host).slice(0, 48);
  const numbered = names.map((_, index) => `${wanted}-${index + 2}`);
  return [wanted, ...numbered].find((name) => !names.includes(name)) ?? wanted;
}

/** Ends the login at the service, and deletes it here even if the service cannot be reached. */
async function logout(flags: ServiceFlags, context: OperatorContext): Promise<ExitCode> {
  const { terminal, environment } = context;
  const contexts = await readContexts(context);
  if ("code" in contexts) return refuseContexts(contexts, terminal);
  const target = chooseTarget(flags, contexts, environment);
  const { context: known } = target;
  if (known === null) return refuse(contextProblem(target), EXIT.usage, terminal);
  const { login, name } = known;
  if (login === null) {
    if (flags.json === true) terminal.json({ context: name, ended: false, forgotten: false });
    else terminal.print(`Nobody is signed in to ${name}.`);
    return EXIT.ok;
  }
  // Delete it here first, whether or not the service can be reached.
  const unsaved = await saveContexts(withContext(contexts, { ...known, login: null }), context);
  if (unsaved !== null) return refuse(unsaved, EXIT.failed, terminal);
  const failure = await endLogin(known, login, context);
  if (failure !== null) {
    const until = login.expires_at === null ? "it expires" : login.expires_at;
    const why = failureText(failure);
    terminal.note(`The login could not be ended at the service (${why}): it stays valid there until ${until}.`);
  }
  if (flags.json === true) terminal.json({ context: name, ended: failure === null, forgotten: true });
  else terminal.print(`Signed out of ${name}.`);
  return EXIT.ok;
}

function refuseContexts(problem: Problem, terminal: Terminal): ExitCode {
  return refuse(problem, problem.code === "no-home" ? EXIT.failed : EXIT.usage, terminal);
}
