/**
 * The diagnosis behind `doctor`: checks everything that can prevent registration, one check each.
 *
 * Independent checks run in parallel. On the way to the service each step waits for the one before and is skipped when that failed, so that
 * the first failure is the cause. Registers nothing, and writes nothing but a probe file in the state folder, removed at once.
 */
import { chooseProxy } from "../../client/transport/proxy.ts";
import type { Environment, ProxyProblem } from "../../client/transport/proxy.ts";
import { isLoopback } from "../../client/transport/service-url.ts";
import { systemPrograms } from "../../platform/programs.ts";
import { EXIT } from "../../platform/terminal.ts";
import type { Vantage } from "../access/vantage.ts";
import { takeVantage } from "../access/vantage.ts";
import type { CommandContext } from "../commands/context.ts";
import type { AgentConfiguration } from "../configuration/configuration.ts";
import type { Folders } from "../configuration/folders.ts";
import type { Registration } from "../registration/registration.ts";
import type { StatusDocument } from "../status.ts";
import type { Answer } from "./answering.ts";
import { checkClock, checkService, judgeKey, requestLimit } from "./answering.ts";
import type { CheckId, CheckResult, Examination, Examined, Limit, Verdict } from "./check.ts";
import { CHECK_IDS, fail, ok, skip, startExamination, warn } from "./check.ts";
import { checkDaemon, readEnvironment, unitFacts } from "./daemon.ts";
import { checkConfiguration, checkFiles, checkKey, checkManifest, judgeUser } from "./inputs.ts";
import { checkDisk, checkState } from "./keeping.ts";
import { checkDns, checkTcp, dnsLimit, firstHop, tcpLimit } from "./network.ts";
import { checkRegion, regionLimit } from "./region.ts";
import { checkRegistration } from "./registering.ts";
import { askTimeService } from "./time-service.ts";
import type { Trip, Way } from "./tls.ts";
import { examineTls, judgeProxy, travel, travelLimit } from "./tls.ts";
import { judgeUnit } from "./unit.ts";
import { checkInotify } from "./watching.ts";

/** Local checks take milliseconds, but can hang on a network drive. This bounds all of them together, … */
const LOCAL_LIMIT_MS = 8000;
/** … and this is the minimum for each, whatever those before it took. */
const LEAST_LIMIT_MS = 1000;

/**
 * Yields every check once, in the order of `CHECK_IDS`, as soon as it and those before it are done.
 *
 * @throws `context.signal.reason` when it aborts.
 */
export async function* diagnose(context: CommandContext, folders: Folders): AsyncGenerator<CheckResult, void> {
  const { clock } = context.machine;
  const startedAtMs = clock.monotonicMs();
  const examination = startExamination(clock, context.signal);
  const vantage = await takeVantage(context, folders);
  const work = examine({ examination, context, folders, vantage, startedAtMs });
  yield* resultsOf(CHECK_IDS, examination, work);
}

/** The inputs of `diagnoseService`. */
const SERVICE_CHECK_IDS = [
  "key",
  "dns",
  "tcp",
  "proxy",
  "tls",
  "service",
  "clock",
  "authentication",
  "region",
] as const;

/**
 * Checks the key, the connection to the service and its answer, for a configuration that need not be on disk yet.
 *
 * @throws `context.signal.reason` when it aborts.
 */
export async function* diagnoseService(
  context: CommandContext,
  folders: Folders,
  configuration: AgentConfiguration,
): AsyncGenerator<CheckResult, void> {
  const { clock } = context.machine;
  const examination = startExamination(clock, context.signal);
  const vantage = await takeVantage(context, folders);
  const startedAtMs = clock.monotonicMs();
  const shell = context.environment;
  const ward: Ward = { examination, context, folders, vantage, startedAtMs, status: null, shell };
  const work = examineService(ward, configuration, Promise.resolve(null));
  yield* resultsOf(SERVICE_CHECK_IDS, examination, work);
}

async function* resultsOf(
  ids: readonly CheckId[],
  examination: Examination,
  work: Promise<void>,
): AsyncGenerator<CheckResult, void> {
  for (const id of ids) {
    yield await Promise.race([examination.result(id), work.then(() => examination.result(id))]);
  }
}

interface Arrival {
  readonly examination: Examination;
  readonly context: CommandContext;
  readonly folders: Folders;
  readonly vantage: Vantage;
  readonly startedAtMs: number;
}

/** `context` has the agent's environment when it can be read. */
interface Ward extends Arrival {
  /** The status of the running agent; null when none answers. */
  readonly status: StatusDocument | null;
  /** The environment of this command. */
  readonly shell: Environment;
}

/** The time limit of the next local check. */
function local({ context, startedAtMs }: Arrival): Limit {
  const leftMs = startedAtMs + LOCAL_LIMIT_MS - context.machine.clock.monotonicMs();
  const limitMs = Math.max(LEAST_LIMIT_MS, leftMs);
  const what = `no result within ${Math.ceil(limitMs / 1000)} s`;
  return { limitMs, late: fail(EXIT.failed, what, "check for a hanging disk or network drive: dmesg") };
}

/** Asks the running agent first, because its errors are the real ones. */
async function examine(arrival: Arrival): Promise<void> {
  const { examination, folders, vantage } = arrival;
  const status = await examination.run("daemon", local(arrival), (signal) =>
    checkDaemon(arrival.context, folders, vantage, signal),
  );
  const shell = arrival.context.environment;
  const environment = (await readEnvironment(arrival.context.machine.files, status)) ?? shell;
  const context = { ...arrival.context, environment };
  const ward = { ...arrival, context, status, shell };
  await Promise.all([
    examination.run("user", local(ward), async () => only(judgeUser(vantage, context.user_id))),
    examination.run("disk", local(ward), async () =>
      only(await checkDisk(context, folders, vantage, status?.state_problem ?? null)),
    ),
    examination.run("unit", local(ward), async () =>
      only(judgeUnit(vantage.unit, await unitFacts(folders, context.machine.files))),
    ),
    examination
      .run("configuration", local(ward), () => checkConfiguration(context, folders, vantage))
      .then((configuration) => (configuration === null ? withoutConfiguration(ward) : configured(ward, configuration))),
  ]);
}

async function withoutConfiguration(ward: Ward): Promise<void> {
  const { examination, context, folders, vantage, status } = ward;
  skipAll(
    examination,
    ["manifest", "files", "key", "dns", "tcp", "proxy", "tls", "service", "authentication", "region", "registration"],
    "configuration",
  );
  await Promise.all([
    examination.run("state", local(ward), () => checkState(context, folders, null, vantage)),
    examination.run("inotify", local(ward), async (signal) =>
      only(await checkInotify(context, folders, null, null, vantage, status?.watching ?? null, signal)),
    ),
    examination.run("clock", local(ward), async () => only(await clockOf(context, null))),
  ]);
}

async function configured(ward: Ward, configuration: AgentConfiguration): Promise<void> {
  const { examination, context, folders, vantage, status } = ward;
  const state = examination.run("state", local(ward), () => checkState(context, folders, configuration, vantage));
  const files = async () => {
    const manifest = await examination.run("manifest", local(ward), () =>
      checkManifest(context, configuration, vantage),
    );
    if (manifest === null) skipAll(examination, ["files"], "manifest");
    else
      await examination.run("files", local(ward), async () =>
        only(await checkFiles(context, configuration, manifest, vantage)),
      );
    await examination.run("inotify", local(ward), async (signal) =>
      only(await checkInotify(context, folders, configuration, manifest, vantage, status?.watching ?? null, signal)),
    );
  };
  await Promise.all([files(), examineService(ward, configuration, state)]);
}

/** @param state this robot's registration. */
async function examineService(
  ward: Ward,
  configuration: AgentConfiguration,
  state: Promise<Registration | null>,
): Promise<void> {
  const { examination, context, folders, vantage } = ward;
  const key = examination.run("key", local(ward), () => checkKey(context, folders, configuration, vantage));
  const answer = (await reach(ward, configuration))
    ? await examination.run("service", requestLimit(configuration), async (signal) =>
        checkService(context, configuration, await key, signal),
      )
    : null;
  await examination.run("clock", local(ward), async () => only(await clockOf(context, answer)));
  const credential = await key;
  if (answer === null) return skipAll(examination, ["authentication", "region", "registration"], "service");
  if (credential === null) return skipAll(examination, ["authentication", "region", "registration"], "key");
  const isAccepted = await examination.run("authentication", local(ward), async () => {
    const verdict = judgeKey(answer, await state);
    return { verdict, value: verdict.status === "fail" ? null : true };
  });
  if (isAccepted === null) skipAll(examination, ["region"], "authentication");
  else
    await examination.run("region", regionLimit(configuration), async (signal) =>
      only(await checkRegion(context, configuration, credential, signal)),
    );
  await examination.run("registration", requestLimit(configuration), async (signal) =>
    only(await checkRegistration(context, configuration, credential, await state, signal)),
  );
}

/** Checks name, TCP, proxy and TLS up to the point where a request can be sent. @returns false after a failure; the rest is skipped. */
async function reach(ward: Ward, { service }: AgentConfiguration): Promise<boolean> {
  const { examination, context, shell } = ward;
  const limitMs = service.connect_timeout_s * 1000;
  const url = new URL(service.url);
  const choose = (environment: Environment) => chooseProxy({ ...service, environment }, url);
  const choice = choose(context.environment);
  if (choice.kind === "proxy-problem") {
    await examination.run("proxy", local(ward), async () => only(explainProxyProblem(choice)));
    return ended(examination, ["dns", "tcp", "tls", "service"], "proxy");
  }
  const proxy = choice.kind === "proxy" ? choice : null;
  if (proxy === null) {
    const verdict = choose(shell).kind === "direct" ? NO_PROXY : SHELL_PROXY;
    await examination.run("proxy", local(ward), async () => only(verdict));
  }
  const through: readonly CheckId[] = proxy === null ? [] : ["proxy"];
  const hop = firstHop(url, proxy);
  const addresses = await examination.run("dns", dnsLimit(hop, limitMs), () => checkDns(hop));
  if (addresses === null) return ended(examination, ["tcp", ...through, "tls", "service"], "dns");
  const address = await examination.run("tcp", tcpLimit(hop, limitMs), (signal) => checkTcp(hop, addresses, signal));
  if (address === null) return ended(examination, [...through, "tls", "service"], "tcp");

  const way: Way = { url, proxy, caFile: service.ca_file };
  return url.protocol === "https:" ? reachSecurely(ward, way, limitMs) : reachPlainly(ward, way);
}

async function reachPlainly(ward: Ward, { url, proxy }: Way): Promise<boolean> {
  if (proxy !== null) {
    const verdict = ok(`requests for ${url.host} go to ${proxy.url.host}`);
    await ward.examination.run("proxy", local(ward), async () => only(verdict));
  }
  await ward.examination.run("tls", local(ward), async () => only(judgePlainHttp(url)));
  return true;
}

async function reachSecurely(ward: Ward, way: Way, limitMs: number): Promise<boolean> {
  const { examination, context } = ward;
  const { files, clock } = context.machine;
  const { proxy } = way;
  const limit = travelLimit(way, limitMs);
  let trip: Trip | null = null;
  if (proxy !== null) {
    // Behind a proxy, the single steps cannot be checked one by one.
    trip = await examination.run("proxy", limit, async (signal) => {
      const gone = await travel(way, files, signal);
      const verdict = judgeProxy(proxy, way.url, gone);
      return { verdict, value: verdict.status === "ok" ? gone : null };
    });
    if (trip === null) return ended(examination, ["tls", "service"], "proxy");
  }
  const trusted = await examination.run("tls", limit, async (signal) =>
    examineTls(way, trip ?? (await travel(way, files, signal)), clock, signal),
  );
  return trusted === null ? ended(examination, ["service"], "tls") : true;
}

async function clockOf({ machine }: CommandContext, answer: Answer | null): Promise<Verdict> {
  return checkClock(machine.clock, answer, await askTimeService(systemPrograms));
}

const NO_PROXY = ok("none is used for this service");
const SHELL_PROXY = warn(
  "the agent uses none: HTTPS_PROXY of this shell does not apply to it",
  "set service.proxy in the configuration; `proxy: none` disables proxies for every user",
);

function explainProxyProblem({ code, what }: ProxyProblem): Verdict {
  const remedy =
    code === "PROXY_INSECURE" ? "use https in service.url" : "write service.proxy or HTTPS_PROXY as http://HOST:PORT";
  return fail(EXIT.unreachable, what, remedy);
}

function judgePlainHttp(url: URL): Verdict {
  if (isLoopback(url.hostname)) return skip("not used: plain http that stays on this machine");
  return warn("not used: the API key travels unencrypted", "use https in service.url");
}

function skipAll(examination: Examination, ids: readonly CheckId[], needed: CheckId): void {
  for (const id of ids) examination.skip(id, `needs ${needed}`);
}

function ended(examination: Examination, ids: readonly CheckId[], needed: CheckId): false {
  skipAll(examination, ids, needed);
  return false;
}

/** A verdict without a value for later checks. */
function only(verdict: Verdict): Examined<null> {
  return { verdict, value: null };
}
