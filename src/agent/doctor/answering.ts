import { robotListSchema } from "../../api/robot-views.ts";
import { operationUrl } from "../../client/address.ts";
import { readAnswer } from "../../client/answer.ts";
import { type AnsweredCall, isOfNetwork, isPassing, refusalText } from "../../client/call-result.ts";
import { LIST_LIMIT_BYTES } from "../../client/client.ts";
import { type Credential, describeCredential } from "../../client/credential.ts";
import { Secret } from "../../client/secret.ts";
import { sendRequest } from "../../client/send-request.ts";
import type { Clock } from "../../platform/clock.ts";
import { RELEASED_AT_MS } from "../../platform/release.ts";
import { EXIT } from "../../platform/terminal.ts";
import type { CommandContext } from "../commands/context.ts";
import type { AgentConfiguration } from "../configuration/configuration.ts";
import type { Registration } from "../registration/record.ts";
import { withAccess } from "./asking.ts";
import { type Examined, fail, type Limit, ok, skip, type Verdict, warn } from "./check.ts";
import type { TimeService } from "./time-service.ts";
import { proxyRemedy } from "./tls.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
/** More than the drift of a synchronized clock. */
const SKEW_WARNING_MS = 5 * MINUTE_MS;
/** Enough that certificates appear expired or not yet valid. */
const SKEW_FAILURE_MS = DAY_MS;

const SET_CLOCK = "sudo timedatectl set-ntp true; then see: timedatectl status";
/** Without an installed time service `set-ntp` has no effect. */
const INSTALL_TIME_SERVICE =
  "no time service is installed: sudo apt install systemd-timesyncd; then see: timedatectl status";

/** The answer to `GET /v1/robots`, sent with the key if there is one. */
export interface Answer {
  readonly result: AnsweredCall<unknown>;
  /** The times of the service, from the Date header, and of this machine; null without that header. */
  readonly dated: { readonly serviceMs: number; readonly hereMs: number } | null;
}

export function requestLimit({ service }: AgentConfiguration): Limit {
  const limitMs = service.request_timeout_s * 1000;
  const what = `no whole answer within ${service.request_timeout_s} s`;
  return { limitMs, late: fail(EXIT.unreachable, what, "the service hangs or is overloaded: ask its operator") };
}

/** Checks that the answer comes from a robot policy service. */
export async function checkService(
  context: CommandContext,
  configuration: AgentConfiguration,
  credential: Credential | null,
  signal: AbortSignal,
): Promise<Examined<Answer>> {
  const { clock } = context.machine;
  const url = operationUrl(configuration.service.url, "/v1/robots", {});
  const request = { method: "GET", url, body: null, answerLimitBytes: LIST_LIMIT_BYTES } as const;
  const secret = credential?.secret ?? null;
  const startedAtMs = clock.monotonicMs();
  const sent = await withAccess(context, configuration.service, (access) =>
    sendRequest(access, request, secret, signal),
  );
  signal.throwIfAborted();
  if (sent.kind === "unreachable") {
    const remedy =
      sent.reason === "proxy" ? proxyRemedy(sent.code) : "check the log of the service, and proxies in between";
    return fail(EXIT.unreachable, sent.detail, remedy);
  }
  const tookMs = Math.round(clock.monotonicMs() - startedAtMs);
  const { answer, wallMs: hereMs } = sent;
  const result = readAnswer(answer, { schema: robotListSchema, url, wallMs: hereMs, secret: secret ?? new Secret("") });
  const serviceMs = Date.parse(answer.headers["date"] ?? "");
  return {
    verdict: judgeAnswer(result, tookMs),
    value: { result, dated: Number.isNaN(serviceMs) ? null : { serviceMs, hereMs } },
  };
}

const NOT_THE_SERVICE = "check service.url and service.proxy; a captive portal requires a login to the network first";

function judgeAnswer(result: Answer["result"], tookMs: number): Verdict {
  const fine = ok(`answers in ${tookMs} ms`);
  switch (result.kind) {
    case "ok":
      return fine;
    case "undecodable":
      return fail(
        EXIT.unreachable,
        `HTTP ${result.status}, but not from a robot policy service: ${result.detail}`,
        NOT_THE_SERVICE,
      );
    case "refused":
      break;
  }
  const what = refusalText(result);
  if (isOfNetwork(result)) return fail(EXIT.unreachable, what, NOT_THE_SERVICE);
  switch (result.status) {
    case 401:
    case 403:
      return fine;
    case 404:
    case 405:
      return fail(EXIT.failed, what, "this is not the address of a robot policy service: check service.url");
    case 429:
      return warn(what, "wait; the service limits the rate of requests");
  }
  if (isPassing(result)) return fail(EXIT.unreachable, what, "wait; if it continues, tell the operator of the service");
  return fail(EXIT.failed, what, "check service.url, and proxies in between");
}

/**
 * Checks that the clock is plausible and agrees with the service's.
 *
 * @param answer null when there is none to compare with.
 * @param timeService whether a time service keeps the clock synchronized.
 */
export function checkClock(clock: Clock, answer: Answer | null, timeService: TimeService): Verdict {
  const setClock = timeService === "not-installed" ? INSTALL_TIME_SERVICE : SET_CLOCK;
  const nowMs = clock.wallMs();
  if (nowMs < RELEASED_AT_MS) {
    const what = `the clock says ${new Date(nowMs).toISOString().slice(0, 16)}, before this program was written`;
    return fail(EXIT.unreachable, what, setClock);
  }
  const dated = answer?.dated ?? null;
  const isLeftAlone = timeService === "not-synchronized" || timeService === "not-installed";
  if (dated === null) {
    if (isLeftAlone) return warn("plausible, but no time service keeps it right", setClock);
    return skip("plausible; not compared, because the service did not answer");
  }
  const skewMs = dated.hereMs - dated.serviceMs;
  const what = `${describeSkew(Math.abs(skewMs))} ${skewMs > 0 ? "ahead of" : "behind"} the service's`;
  if (Math.abs(skewMs) > SKEW_FAILURE_MS) return fail(EXIT.unreachable, what, setClock);
  if (Math.abs(skewMs) > SKEW_WARNING_MS) return warn(what, setClock);
  const near = `within ${Math.max(1, Math.ceil(Math.abs(skewMs) / 1000))} s of the service's`;
  if (isLeftAlone) return warn(`${near}, but no time service keeps it so`, setClock);
  return ok(`${near}${timeService === "synchronized" ? ", and a time service keeps it so" : ""}`);
}

function describeSkew(skewMs: number): string {
  if (skewMs > 2 * DAY_MS) return `${Math.round(skewMs / DAY_MS)} days`;
  if (skewMs > 2 * HOUR_MS) return `${Math.round(skewMs / HOUR_MS)} hours`;
  return `${Math.round(skewMs / MINUTE_MS)} minutes`;
}

/** For a key with scope robots:setup, which cannot list robots as this check does. */
const LACKS_ONLY_LISTING = /\blacks the scope robots:read\b/;
const MAY_REGISTER_ONLY = "the service knows the key, which may register robots only";

/** @param registration this robot's registration at the service; a key with scope robots:setup may register but not list. */
export function judgeKey(
  { result }: Answer,
  registration: Registration | null,
  credential: Pick<Credential, "source" | "where">,
): Verdict {
  const { source, where } = credential;
  switch (result.kind) {
    case "ok":
      return ok("the service accepts the key");
    case "undecodable":
      return skip("needs service");
    case "refused":
      break;
  }
  if (isOfNetwork(result)) return skip("needs service");
  const what = refusalText(result);
  // With it a robot may register itself, and not list robots.
  if (source === "enrolment" && result.status === 403 && result.reason === "scope")
    return ok("the service accepts the robot's credential");
  switch (result.status) {
    case 401: {
      const named = `${what} (${describeCredential(credential)})`;
      if (source === "enrolment")
        return fail(EXIT.unauthorized, named, "the running agent renews it; if it cannot: robot-policy-agent enroll");
      return fail(
        EXIT.unauthorized,
        named,
        `ask the operator of the service for a valid key (robot-policy-service keys create), and put it in place of the one in ${where}`,
      );
    }
    case 403:
      if (LACKS_ONLY_LISTING.test(result.detail)) {
        return ok(registration === null ? "the service knows the key, which may not list robots" : MAY_REGISTER_ONLY);
      }
      if (registration === null) break;
      return warn(
        `${what}; but this robot is registered: the key may be one that can only register, not list robots`,
        "nothing, if the key is only for setup",
      );
    default:
      return skip("needs service");
  }
  return fail(
    EXIT.unauthorized,
    what,
    "ask for a key that may register robots: robot-policy-service keys create --scope robots:setup",
  );
}
