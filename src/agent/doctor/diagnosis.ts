/**
 * The diagnosis behind `doctor`: checks everything that can prevent registration.
 *
 * A check whose cause has failed is skipped, so that the first failure is the cause. Registers nothing, and writes nothing but a probe file
 * in the state folder, removed at once.
 */
import { chooseProxy } from "../../client/transport/proxy.ts";
import { findAgentUser } from "../access/agent-user.ts";
import type { CommandContext } from "../commands/context.ts";
import type { AgentConfiguration } from "../configuration/configuration.ts";
import type { Folders } from "../configuration/folders.ts";
import type { Registration } from "../registration/registration.ts";
import {
  type CheckId,
  type CheckResult,
  examine,
  examineHere,
  LOCAL_LIMIT_MS,
  skipped,
  type Subject,
} from "./check.ts";
import { checkDaemon, unitFacts } from "./daemon.ts";
import { checkConfiguration, checkFiles, checkManifest } from "./files.ts";
import { checkKey, type KeyFacts } from "./key.ts";
import { checkDns, checkTcp, dnsLimit, explainProxyProblem, firstHop, judgeProxy, tcpLimit } from "./network.ts";
import { type Contact, contactService, judgeService, requestLimit, serviceSkipped } from "./service.ts";
import { checkState } from "./state.ts";
import { judgeTls } from "./tls.ts";
import { judgeUnit } from "./unit.ts";

/**
 * Yields every check once, in the order of `CHECK_IDS`.
 *
 * @throws `context.signal.reason` when it aborts.
 */
export async function* diagnose(context: CommandContext, folders: Folders): AsyncGenerator<CheckResult, void> {
  const subject = await openSubject(context, folders);
  const { agentUser } = subject;
  // The running agent first, because its errors are the real ones.
  const daemon = await examineHere(subject, "daemon", (signal) => checkDaemon(subject, signal));
  const status = daemon.value;

  const configuration = await examineHere(subject, "configuration", () => checkConfiguration(subject));
  yield configuration.result;
  const inForce = configuration.value;
  const manifest =
    inForce === null
      ? skipped("manifest", "configuration")
      : await examineHere(subject, "manifest", () => checkManifest(subject, inForce));
  yield manifest.result;
  const listing = manifest.value;
  const files =
    inForce === null || listing === null
      ? skipped("files", "manifest")
      : await examineHere(subject, "files", async () => checkFiles(subject, inForce, listing));
  yield files.result;
  const key =
    inForce === null
      ? skipped("key", "configuration")
      : await examineHere(subject, "key", () => checkKey(subject, inForce, status?.identity ?? null));
  yield key.result;

  const stateProblem = status?.state_problem ?? null;
  const state = await examineHere(subject, "state", () => checkState(subject, inForce, stateProblem));
  yield state.result;
  const unit = await examineHere(subject, "unit", async () =>
    judgeUnit(agentUser.unit, await unitFacts(folders, context.machine.files)),
  );
  yield unit.result;
  yield daemon.result;

  if (inForce === null) return yield* skipAll(subject, NETWORK_CHECK_IDS, "configuration");
  // The agent has a later registration than one that it could not save.
  const registration = stateProblem === null ? state.value : null;
  yield* diagnoseNetwork(subject, inForce, key.value, registration);
}

async function openSubject(context: CommandContext, folders: Folders): Promise<Subject> {
  const localDeadlineMs = context.machine.clock.monotonicMs() + LOCAL_LIMIT_MS;
  return { context, folders, agentUser: await findAgentUser(context, folders), localDeadlineMs };
}

const NETWORK_CHECK_IDS = ["dns", "tcp", "proxy", "tls", "service"] as const;

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
    yield { id: "proxy", verdict: explainProxyProblem(choice), durationMs: 0 };
    return yield* skipAll(subject, ["tls", "service"], "proxy");
  }
  const proxy = choice.kind === "proxy" ? choice : null;
  const hop = firstHop(url, proxy);
  const dns = await examine(context, "dns", dnsLimit(hop, limitMs), () => checkDns(hop));
  yield dns.result;
  const addresses = dns.value;
  if (addresses === null) return yield* skipAll(subject, ["tcp", "proxy", "tls", "service"], "dns");
  const tcp = await examine(context, "tcp", tcpLimit(hop, limitMs), (signal) =>
    checkTcp(hop, addresses, limitMs, signal),
  );
  yield tcp.result;
  if (tcp.value === null) return yield* skipAll(subject, ["proxy", "tls", "service"], "tcp");

  // One request shows the proxy, TLS and the service at once.
  const request = requestLimit(configuration);
  const contact = await examine<Contact>(context, "proxy", request, async (signal) => {
    const value = await contactService(context, configuration, key?.credential ?? null, signal);
    const verdict = judgeProxy(proxy, service.proxy === null, url, value.result);
    return { verdict, value: verdict.status === "fail" ? null : value };
  });
  yield contact.result;
  const made = contact.value;
  if (made === null) return yield* skipAll(subject, ["tls", "service"], "proxy");
  const route = { url, proxy, caFile: service.ca_file };
  const tls = await examine(context, "tls", request, (signal) => judgeTls(route, made, context.machine.clock, signal));
  yield tls.result;
  if (tls.result.verdict.status === "fail") return yield* skipAll(subject, ["service"], "tls");
  const asked = { configuration, key, registration };
  const answered = await examine(context, "service", request, (signal) => judgeService(context, asked, made, signal));
  yield answered.result;
}

function* skipAll(subject: Subject, ids: readonly CheckId[], needed: CheckId): Generator<CheckResult, void> {
  for (const id of ids) {
    const { result } = skipped(id, needed);
    yield id === "service" ? { ...result, verdict: serviceSkipped(subject.context.machine.clock, needed) } : result;
  }
}
