import { chooseProxy } from "../../client/transport/proxy.ts";
import { EXIT, type ExitCode, type Terminal } from "../../platform/terminal.ts";
import { findAgentUser } from "../access/agent-user.ts";
import type { AgentConfiguration } from "../configuration/configuration.ts";
import { hasStandardState, resolveFolders } from "../configuration/folders.ts";
import {
  CHECK_IDS,
  type CheckId,
  type CheckResult,
  examine,
  type Found,
  LOCAL_LIMIT,
  skip,
  type Subject,
} from "../doctor/check.ts";
import { checkDaemon, judgeUnit } from "../doctor/daemon.ts";
import { checkConfiguration, checkDevices, checkFiles, checkManifest } from "../doctor/files.ts";
import { checkKey, type KeyFacts } from "../doctor/key.ts";
import {
  checkDns,
  checkTcp,
  dnsLimit,
  explainProxyProblem,
  firstHop,
  judgeProxy,
  tcpLimit,
} from "../doctor/network.ts";
import { type Contact, contactService, judgeService, requestLimit, serviceSkipped } from "../doctor/service.ts";
import { checkState } from "../doctor/state.ts";
import { judgeTls } from "../doctor/tls.ts";
import type { Registration } from "../registration/registration.ts";
import type { Command, CommonOptions } from "./context.ts";

const SCHEMA_VERSION = 1;
const STATUS_COLUMN = 6;
const ID_COLUMN = Math.max(...CHECK_IDS.map((id) => id.length)) + 2;

const STYLES = { ok: "good", warn: "warn", fail: "bad", skip: "dim" } as const;

/** The order in which failures determine the exit code: the one to fix first comes first. */
const FIRST_TO_MEND: readonly ExitCode[] = [
  EXIT.invalid,
  EXIT.unreachable,
  EXIT.unauthorized,
  EXIT.conflict,
  EXIT.rejected,
  EXIT.failed,
];

/** `doctor`: checks everything that can prevent registration, one check each, with a remedy. */
export const doctor: Command<CommonOptions> = async (options, context) => {
  const { terminal } = context;
  const folders = resolveFolders(options, context.environment);
  const results: CheckResult[] = [];
  for await (const result of diagnose({ context, folders, agentUser: await findAgentUser(context, folders) })) {
    results.push(result);
    if (options.json !== true) show(result, terminal);
  }
  const failures = new Set(results.map(({ exitCode }) => exitCode));
  const exitCode = FIRST_TO_MEND.find((each) => failures.has(each)) ?? EXIT.ok;
  if (options.json === true) {
    const checks = results.map(({ id, status, what, remedy, durationMs }) => ({
      id,
      status,
      what,
      remedy,
      duration_ms: durationMs,
    }));
    terminal.json({ schema_version: SCHEMA_VERSION, healthy: exitCode === EXIT.ok, checks });
  }
  return exitCode;
};

function show({ id, status, what, remedy }: CheckResult, terminal: Terminal): void {
  terminal.print(`${terminal.style(STYLES[status], status.padEnd(STATUS_COLUMN))}${id.padEnd(ID_COLUMN)}${what}`);
  if (remedy !== null) terminal.print(`${" ".repeat(STATUS_COLUMN + ID_COLUMN)}→ ${remedy}`);
}

/**
 * Yields every check once, in the order of `CHECK_IDS`. A check whose cause has failed is skipped, so that the first failure is the cause.
 * Registers nothing, and writes nothing but a probe file in the state folder, removed at once.
 *
 * @throws `context.signal.reason` when it aborts.
 */
async function* diagnose(subject: Subject): AsyncGenerator<CheckResult, void> {
  const { context, folders, agentUser } = subject;
  const here = <T>(id: CheckId, check: (signal: AbortSignal) => Promise<Found<T>>) =>
    examine(context, id, LOCAL_LIMIT, check);
  // The running agent first, because its errors are the real ones.
  const daemon = await here("daemon", (signal) => checkDaemon(subject, signal));
  const status = daemon.value ?? null;

  const configuration = await here("configuration", () => checkConfiguration(subject));
  yield configuration;
  const inForce = configuration.value ?? null;
  let key: KeyFacts | null = null;
  if (inForce === null) yield* skipAll(subject, ["manifest", "files", "key"], "configuration");
  else {
    const manifest = await here("manifest", () => checkManifest(subject, inForce));
    yield manifest;
    const listing = manifest.value ?? null;
    if (listing === null) yield* skipAll(subject, ["files"], "manifest");
    else {
      yield await here("files", () => checkFiles(subject, inForce, listing));
      if (listing.configuration_files.some(({ hardware }) => hardware !== undefined))
        yield await here("devices", (signal) => checkDevices(subject.context.machine, inForce, listing, signal));
    }
    const checked = await here("key", () => checkKey(subject, inForce, status?.identity ?? null));
    key = checked.value ?? null;
    yield checked;
  }
  const stateProblem = status?.state_problem ?? null;
  const state = await here("state", () => checkState(subject, inForce, stateProblem));
  yield state;
  yield await here("unit", async () => judgeUnit(agentUser.unit, hasStandardState(folders)));
  yield daemon;

  if (inForce === null) return yield* skipAll(subject, ["dns", "tcp", "proxy", "tls", "service"], "configuration");
  // The agent has a later registration than one that it could not save.
  const registration = stateProblem === null ? (state.value ?? null) : null;
  yield* diagnoseNetwork(subject, inForce, key, registration);
}

/** Follows the way of a request: name, connection, proxy, TLS, answer. */
async function* diagnoseNetwork(
  subject: Subject,
  configuration: AgentConfiguration,
  key: KeyFacts | null,
  registration: Registration | null,
): AsyncGenerator<CheckResult, void> {
  const { context } = subject;
  const { service } = configuration;
  const url = new URL(service.url);
  const limitMs = service.connect_timeout_s * 1000;
  const choice = chooseProxy({ ...service, environment: context.environment }, url);
  if (choice.kind === "proxy-problem") {
    yield* skipAll(subject, ["dns", "tcp"], "proxy");
    yield { ...explainProxyProblem(choice), id: "proxy", durationMs: 0 };
    return yield* skipAll(subject, ["tls", "service"], "proxy");
  }
  const proxy = choice.kind === "proxy" ? choice : null;
  const hop = firstHop(url, proxy);
  const dns = await examine(context, "dns", dnsLimit(hop, limitMs), () => checkDns(hop));
  yield dns;
  const addresses = dns.value ?? null;
  if (addresses === null) return yield* skipAll(subject, ["tcp", "proxy", "tls", "service"], "dns");
  const tcp = await examine(context, "tcp", tcpLimit(hop, limitMs), (signal) =>
    checkTcp(hop, addresses, limitMs, signal),
  );
  yield tcp;
  if (tcp.status === "fail") return yield* skipAll(subject, ["proxy", "tls", "service"], "tcp");

  // One request shows the proxy, TLS and the service at once.
  const request = requestLimit(configuration);
  const contact = await examine<Contact>(context, "proxy", request, async (signal) => {
    const value = await contactService(context, configuration, key?.credential ?? null, signal);
    return { ...judgeProxy(proxy, service.proxy === null, url, value.result), value };
  });
  yield contact;
  const made = contact.value ?? null;
  if (made === null || contact.status === "fail") return yield* skipAll(subject, ["tls", "service"], "proxy");
  const route = { url, proxy, caFile: service.ca_file };
  const tls = await examine(context, "tls", request, (signal) => judgeTls(route, made, context.machine.clock, signal));
  yield tls;
  if (tls.status === "fail") return yield* skipAll(subject, ["service"], "tls");
  const asked = { configuration, key, registration };
  yield await examine(context, "service", request, (signal) => judgeService(context, asked, made, signal));
}

/** Reports these checks as skipped, because the check that they need failed. */
function* skipAll(subject: Subject, ids: readonly CheckId[], needed: CheckId): Generator<CheckResult, void> {
  for (const id of ids) {
    const verdict = id === "service" ? serviceSkipped(subject.context.machine.clock, needed) : skip(`needs ${needed}`);
    yield { ...verdict, id, durationMs: 0 };
  }
}
