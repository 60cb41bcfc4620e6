import { robotListSchema } from "../../api/robot-views.ts";
import { operationUrl } from "../../client/address.ts";
import { readAnswer } from "../../client/answer.ts";
import type { CallResult } from "../../client/client.ts";
import type { Credential } from "../../client/credentials.ts";
import { Secret } from "../../client/secret.ts";
import { refusalInWords } from "../../client/http-words.ts";
import type { HttpAnswer } from "../../client/transport.ts";
import { TransportError } from "../../client/transport.ts";
import { createUndiciTransport } from "../../client/undici-transport.ts";
import type { Clock } from "../../platform/clock.ts";
import { RELEASED_AT_MS } from "../../platform/release.ts";
import { EXIT } from "../../platform/terminal.ts";
import type { CommandContext } from "../commands/context.ts";
import type { AgentConfiguration } from "../configuration.ts";
import type { Registration } from "../registration.ts";
import type { Examined, Limit, Verdict } from "./check.ts";
import { fail, ok, skip, warn } from "./check.ts";
import type { TimeService } from "./time-service.ts";

const ANSWER_LIMIT_BYTES = 32 * 1024 * 1024;
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
/** More than this is no drift of a clock that is looked after. */
const SKEW_WARNING_MS = 5 * MINUTE_MS;
/** Enough for certificates to seem expired, or not valid yet. */
const SKEW_FAILURE_MS = DAY_MS;

const SET_CLOCK = "sudo timedatectl set-ntp true; then see: timedatectl status";
/** systemd has nothing then that `set-ntp` could switch on. */
const INSTALL_TIME_SERVICE =
  "no time service is installed: sudo apt install systemd-timesyncd; then see: timedatectl status";

/** What the service said to `GET /v1/robots`, with the key where there is one. */
export interface Answer {
  readonly result: Exclude<CallResult<unknown>, { kind: "unreachable" | "no-credential" }>;
  /** Its Date header in milliseconds, when it came. */
  readonly dated: { readonly service_ms: number; readonly here_ms: number } | null;
}

export function requestLimit({ service }: AgentConfiguration): Limit {
  const limit_ms = service.request_timeout_s * 1000;
  const what = `no whole answer within ${service.request_timeout_s} s`;
  return { limit_ms, late: fail(EXIT.unreachable, what, "the service hangs, or is overloaded: ask its keeper") };
}

/** Something answers as a robot policy service does. */
export async function checkService(
  context: CommandContext,
  configuration: AgentConfiguration,
  credential: Credential | null,
  signal: AbortSignal,
): Promise<Examined<Answer>> {
  const { clock } = context.machine;
  const secret = credential?.secret ?? new Secret("");
  const url = operationUrl(configuration.service.url, "/v1/robots", {});
  const started_at_ms = clock.monotonic_ms();
  let http: HttpAnswer;
  try {
    http = await send(url, context, configuration, credential, signal);
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof TransportError)) throw error;
    const verdict = fail(
      EXIT.unreachable,
      secret.redactFrom(error.message),
      "look at the service's log, and at what lies between",
    );
    return { verdict, value: null };
  }
  const took_ms = Math.round(clock.monotonic_ms() - started_at_ms);
  const here_ms = clock.wall_ms();
  const result = readAnswer(http, { schema: robotListSchema, url, wall_ms: here_ms, secret });
  // An answer is there, so it is none of the ways to have none.
  if (result.kind === "unreachable" || result.kind === "no-credential")
    throw new Error(`an answer read as ${result.kind}`);
  const service_ms = Date.parse(http.headers["date"] ?? "");
  return {
    verdict: judgeAnswer(result, took_ms),
    value: { result, dated: Number.isNaN(service_ms) ? null : { service_ms, here_ms } },
  };
}

async function send(
  url: string,
  { machine, environment, version }: CommandContext,
  { service }: AgentConfiguration,
  credential: Credential | null,
  signal: AbortSignal,
): Promise<HttpAnswer> {
  const { ca_file, proxy, allow_insecure, connect_timeout_s, headers_timeout_s, request_timeout_s } = service;
  const transport = createUndiciTransport({ ca_file, proxy, allow_insecure, environment, ...machine });
  const headers = {
    accept: "application/json",
    "user-agent": `robot-policy-agent/${version}`,
    ...(credential === null ? {} : { authorization: `Bearer ${credential.secret.reveal()}` }),
  };
  const timeouts = {
    connect_ms: connect_timeout_s * 1000,
    headers_ms: headers_timeout_s * 1000,
    total_ms: request_timeout_s * 1000,
  };
  try {
    const request = {
      method: "GET",
      url,
      headers,
      body: null,
      timeouts,
      answer_limit_bytes: ANSWER_LIMIT_BYTES,
    } as const;
    return await transport.send(request, signal);
  } finally {
    await transport.close();
  }
}

function judgeAnswer(result: Answer["result"], took_ms: number): Verdict {
  const fine = ok(`answers in ${took_ms} ms`);
  switch (result.kind) {
    case "ok":
      return fine;
    case "undecodable":
      return fail(
        EXIT.unreachable,
        `HTTP ${result.status}, but not from a robot policy service: ${result.detail}`,
        "check service.url; a captive portal wants somebody to log in to the network first",
      );
    case "refused":
      break;
  }
  const what = refusalInWords(result);
  switch (result.status) {
    case 401:
    case 403:
      return fine;
    case 404:
    case 405:
      return fail(EXIT.failed, what, "this is no robot policy service, or not its address: check service.url");
    case 429:
      return warn(what, "wait; the service wants fewer requests");
  }
  if (result.status >= 500) return fail(EXIT.unreachable, what, "wait; if it stays so, tell whoever runs the service");
  return fail(EXIT.failed, what, "check service.url, and what lies between");
}

/**
 * The clock is plausible, and agrees with the service's.
 *
 * @param answer null where there was none to compare with.
 * @param time_service whether it stays right by itself.
 */
export function checkClock(clock: Clock, answer: Answer | null, time_service: TimeService): Verdict {
  const set_clock = time_service === "not-installed" ? INSTALL_TIME_SERVICE : SET_CLOCK;
  const now_ms = clock.wall_ms();
  if (now_ms < RELEASED_AT_MS) {
    const what = `the clock says ${new Date(now_ms).toISOString().slice(0, 16)}, before this program was written`;
    return fail(EXIT.unreachable, what, set_clock);
  }
  const dated = answer?.dated ?? null;
  const is_left_alone = time_service === "not-synchronized" || time_service === "not-installed";
  if (dated === null) {
    if (is_left_alone) return warn("plausible, but no time service keeps it right", set_clock);
    return skip("plausible; there is no answer of the service to compare it with");
  }
  const skew_ms = dated.here_ms - dated.service_ms;
  const what = `${describeSkew(Math.abs(skew_ms))} ${skew_ms > 0 ? "ahead of" : "behind"} the service's`;
  if (Math.abs(skew_ms) > SKEW_FAILURE_MS) return fail(EXIT.unreachable, what, set_clock);
  if (Math.abs(skew_ms) > SKEW_WARNING_MS) return warn(what, set_clock);
  const near = `within ${Math.max(1, Math.ceil(Math.abs(skew_ms) / 1000))} s of the service's`;
  if (is_left_alone) return warn(`${near}, but no time service keeps it so`, set_clock);
  return ok(`${near}${time_service === "synchronized" ? ", and a time service keeps it so" : ""}`);
}

function describeSkew(skew_ms: number): string {
  if (skew_ms > 2 * DAY_MS) return `${Math.round(skew_ms / DAY_MS)} days`;
  if (skew_ms > 2 * HOUR_MS) return `${Math.round(skew_ms / HOUR_MS)} hours`;
  return `${Math.round(skew_ms / MINUTE_MS)} minutes`;
}

/** What the service answers for a key that was made for robots: listing, which this asks for, is all that is known to be denied. */
const LACKS_ONLY_LISTING = /\blacks the scope robots:read\b/;
const MAY_REGISTER_ONLY = "the service knows the key, which may register robots only";

/** @param registration what this robot is registered as there; a key made for robots may set up and not list. */
export function judgeKey({ result }: Answer, registration: Registration | null): Verdict {
  switch (result.kind) {
    case "ok":
      return ok("the service accepts the key");
    case "undecodable":
      return skip("needs service");
    case "refused":
      break;
  }
  const what = refusalInWords(result);
  switch (result.status) {
    case 401:
      return fail(
        EXIT.unauthorized,
        what,
        "ask whoever runs the service for a valid key: robot-policy-service keys create",
      );
    case 403:
      if (LACKS_ONLY_LISTING.test(result.detail)) {
        return ok(registration === null ? "the service knows the key, which may not list robots" : MAY_REGISTER_ONLY);
      }
      if (registration === null) break;
      return warn(
        `${what}; but this robot is registered: a key for setup alone may not list robots`,
        "nothing, if that is what it is for",
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
