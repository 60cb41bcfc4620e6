/**
 * The diagnosis behind `doctor`: everything that can keep a robot from being registered, each thing looked at by itself.
 *
 * What does not depend on each other is examined at the same time; along the way to the service each step waits for the one before, and
 * is skipped where that failed, so that the first failure is the cause. Nothing is registered, and nothing is written but a probe file
 * in the state folder that is removed at once.
 */
import { chooseProxy } from "../../client/proxy.ts";
import type { ProxyProblem } from "../../client/proxy.ts";
import { isLoopback } from "../../client/service-url.ts";
import { EXIT } from "../../platform/terminal.ts";
import type { CommandContext } from "../commands/context.ts";
import type { AgentConfiguration } from "../configuration.ts";
import type { Folders } from "../folders.ts";
import { checkClock, checkService, judgeKey, requestLimit } from "./answering.ts";
import type { CheckId, CheckResult, Examination, Examined, Limit, Verdict } from "./check.ts";
import { CHECK_IDS, fail, ok, skip, startExamination, warn } from "./check.ts";
import { checkDaemon } from "./daemon.ts";
import { checkConfiguration, checkFiles, checkKey, checkManifest, checkUser } from "./inputs.ts";
import { checkDisk, checkState } from "./keeping.ts";
import { checkDns, checkTcp, dnsLimit, firstHop, tcpLimit } from "./network.ts";
import type { Trip, Way } from "./tls.ts";
import { examineTls, judgeProxy, travel, travelLimit } from "./tls.ts";
import { checkInotify } from "./watching.ts";

/** Local checks take milliseconds; a network drive that hangs takes for ever. */
const LOCAL_LIMIT_MS = 10_000;
const LOCAL: Limit = {
  limit_ms: LOCAL_LIMIT_MS,
  late: fail(
    EXIT.failed,
    `no result within ${LOCAL_LIMIT_MS / 1000} s`,
    "look for a disk or network drive that hangs: dmesg",
  ),
};

/**
 * Every check once, in the order of `CHECK_IDS`, each as soon as it and those before it are done.
 *
 * @throws `context.signal.reason` when it aborts.
 */
export async function* diagnose(context: CommandContext, folders: Folders): AsyncGenerator<CheckResult, void> {
  const examination = startExamination(context.machine.clock, context.signal);
  const work = examine({ examination, context, folders });
  for (const id of CHECK_IDS) {
    yield await Promise.race([examination.result(id), work.then(() => examination.result(id))]);
  }
}

interface Ward {
  readonly examination: Examination;
  readonly context: CommandContext;
  readonly folders: Folders;
}

async function examine(ward: Ward): Promise<void> {
  const { examination, context, folders } = ward;
  await Promise.all([
    examination.run("user", LOCAL, async () => only(await checkUser(context, folders))),
    examination.run("disk", LOCAL, async () => only(await checkDisk(context, folders))),
    examination.run("daemon", LOCAL, async (signal) => only(await checkDaemon(context, folders, signal))),
    examination
      .run("configuration", LOCAL, () => checkConfiguration(context, folders))
      .then((configuration) => (configuration === null ? withoutConfiguration(ward) : configured(ward, configuration))),
  ]);
}

async function withoutConfiguration({ examination, context, folders }: Ward): Promise<void> {
  skipAll(
    examination,
    ["manifest", "files", "key", "dns", "tcp", "proxy", "tls", "service", "authentication"],
    "configuration",
  );
  await Promise.all([
    examination.run("state", LOCAL, () => checkState(context, folders, null)),
    examination.run("inotify", LOCAL, async (signal) => only(await checkInotify(context, folders, null, null, signal))),
    examination.run("clock", LOCAL, async () => only(checkClock(context.machine.clock, null))),
  ]);
}

async function configured(ward: Ward, configuration: AgentConfiguration): Promise<void> {
  const { examination, context, folders } = ward;
  const state = examination.run("state", LOCAL, () => checkState(context, folders, configuration));
  const key = examination.run("key", LOCAL, () => checkKey(context, folders, configuration));
  const files = async () => {
    const manifest = await examination.run("manifest", LOCAL, () => checkManifest(context, configuration));
    if (manifest === null) skipAll(examination, ["files"], "manifest");
    else await examination.run("files", LOCAL, async () => only(await checkFiles(context, configuration, manifest)));
    await examination.run("inotify", LOCAL, async (signal) =>
      only(await checkInotify(context, folders, configuration, manifest, signal)),
    );
  };
  const network = async () => {
    const answer = (await reach(ward, configuration))
      ? await examination.run("service", requestLimit(configuration), async (signal) =>
          checkService(context, configuration, await key, signal),
        )
      : null;
    await examination.run("clock", LOCAL, async () => only(checkClock(context.machine.clock, answer)));
    if (answer === null) skipAll(examination, ["authentication"], "service");
    else if ((await key) === null) skipAll(examination, ["authentication"], "key");
    else await examination.run("authentication", LOCAL, async () => only(judgeKey(answer, await state)));
  };
  await Promise.all([files(), network()]);
}

/** Goes the way to the service up to the point where something can be sent. @returns false when it ends before, the rest skipped. */
async function reach(ward: Ward, { service }: AgentConfiguration): Promise<boolean> {
  const { examination, context } = ward;
  const { environment } = context;
  const limit_ms = service.connect_timeout_s * 1000;
  const url = new URL(service.url);
  const choice = chooseProxy({ proxy: service.proxy, environment, allow_insecure: service.allow_insecure }, url);
  if (choice.kind === "proxy-problem") {
    await examination.run("proxy", LOCAL, async () => only(explainProxyProblem(choice)));
    return ended(examination, ["dns", "tcp", "tls", "service"], "proxy");
  }
  const proxy = choice.kind === "proxy" ? choice : null;
  const hop = firstHop(url, proxy);
  const addresses = await examination.run("dns", dnsLimit(hop, limit_ms), () => checkDns(hop));
  if (addresses === null) return ended(examination, ["tcp", "proxy", "tls", "service"], "dns");
  const address = await examination.run("tcp", tcpLimit(hop, limit_ms), (signal) => checkTcp(hop, addresses, signal));
  if (address === null) return ended(examination, ["proxy", "tls", "service"], "tcp");

  const way: Way = { url, proxy, ca_file: service.ca_file };
  return url.protocol === "https:" ? reachSecurely(ward, way, limit_ms) : reachPlainly(examination, way);
}

async function reachPlainly(examination: Examination, { url, proxy }: Way): Promise<boolean> {
  const verdict = proxy === null ? NO_PROXY : ok(`requests for ${url.host} go to ${proxy.url.host}`);
  await examination.run("proxy", LOCAL, async () => only(verdict));
  await examination.run("tls", LOCAL, async () => only(judgePlainHttp(url)));
  return true;
}

async function reachSecurely({ examination, context }: Ward, way: Way, limit_ms: number): Promise<boolean> {
  const { files, clock } = context.machine;
  const { proxy } = way;
  const limit = travelLimit(way, limit_ms);
  let trip: Trip | null = null;
  if (proxy === null) {
    await examination.run("proxy", LOCAL, async () => only(NO_PROXY));
  } else {
    // What is behind a proxy shows only in one go.
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

const NO_PROXY = ok("none is used for this service");

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

/** A verdict that nothing else depends on. */
function only(verdict: Verdict): Examined<null> {
  return { verdict, value: null };
}
