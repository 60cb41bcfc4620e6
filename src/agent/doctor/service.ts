import { regionListSchema } from "../../api/endpoints.ts";
import { robotListSchema } from "../../api/robot-views.ts";
import { serviceKeyOffset } from "../../api/wire/service-key.ts";
import { readAnswer } from "../../client/answer.ts";
import { type CallResult, isOfNetwork, isPassing, refusalText } from "../../client/call-result.ts";
import { createClient } from "../../client/client.ts";
import {
  LIST_LIMIT_BYTES,
  operationUrl,
  RECORD_LIMIT_BYTES,
  sendRequest,
  type ServiceAccess,
} from "../../client/send-request.ts";
import { type Credential, describeCredential } from "../../client/credential.ts";
import { NO_SECRET } from "../../client/secret.ts";
import type { Clock } from "../../platform/clock.ts";
import { nearest } from "../../documents/nearest.ts";
import { systemPrograms } from "../../platform/programs.ts";
import { RELEASED_AT_MS } from "../../platform/release.ts";
import { EXIT } from "../../platform/terminal.ts";
import type { CommandContext } from "../commands/context.ts";
import type { AgentConfiguration } from "../configuration/configuration.ts";
import { region as regionSchema } from "../configuration/keys.ts";
import { askWhetherHeld } from "../registration/confirmation.ts";
import { openAccess } from "../registration/connect.ts";
import type { Registration } from "../registration/registration.ts";
import { type CheckId, combine, fail, type Limit, ok, skip, type Verdict, warn } from "./check.ts";
import type { KeyFacts } from "./key.ts";
import { type Handshake, withHandshake } from "./tls.ts";

/** What one request to the service came to: `GET /v1/robots`, with the key if there is one. */
export interface Contact {
  readonly result: Exclude<CallResult<unknown>, { readonly kind: "no-credential" }>;
  /** The times of the service, from the Date header, and of this machine; null without that header. */
  readonly dated: { readonly serviceMs: number; readonly hereMs: number } | null;
  readonly handshake: Handshake | null;
  readonly tookMs: number;
}

/** The facts that the service's answers are compared with. */
export interface Asked {
  readonly configuration: AgentConfiguration;
  readonly key: KeyFacts | null;
  /** This robot's, as saved; null for none that can be compared. */
  readonly registration: Registration | null;
}

/** A request has limits of its own, which say more; this one is for what hangs beside it. */
const MARGIN_MS = 2000;

export function requestLimit({ service }: AgentConfiguration): Limit {
  const limitMs = service.request_timeout_s * 1000 + MARGIN_MS;
  return { limitMs, late: fail(EXIT.unreachable, `no answer within ${limitMs / 1000} s`, ASK_OPERATOR) };
}

const ASK_OPERATOR = "the service hangs or is overloaded: ask its operator";

/** Sends the request. Its failure is a value. */
export async function contactService(
  context: CommandContext,
  { service }: AgentConfiguration,
  credential: Credential | null,
  signal: AbortSignal,
): Promise<Contact> {
  const { clock } = context.machine;
  const url = operationUrl(service.url, "/v1/robots", {});
  const request = { method: "GET", url, body: null, answerLimitBytes: LIST_LIMIT_BYTES } as const;
  const secret = credential?.secret ?? NO_SECRET;
  const startedAtMs = clock.monotonicMs();
  const [sent, handshake] = await withHandshake(new URL(url), () =>
    withAccess(context, service, (access) => sendRequest(access, request, credential?.secret ?? null, signal)),
  );
  signal.throwIfAborted();
  const seen = { handshake, tookMs: Math.round(clock.monotonicMs() - startedAtMs) };
  if (sent.kind === "unreachable") return { ...seen, result: sent, dated: null };
  const { answer, wallMs: hereMs } = sent;
  const result = readAnswer(answer, { schema: robotListSchema, url, wallMs: hereMs, secret });
  const serviceMs = Date.parse(answer.headers["date"] ?? "");
  return { ...seen, result, dated: Number.isNaN(serviceMs) ? null : { serviceMs, hereMs } };
}

/** Sends requests to the service, and closes the connections afterwards. */
export async function withAccess<T>(
  context: CommandContext,
  service: AgentConfiguration["service"],
  send: (access: ServiceAccess) => Promise<T>,
): Promise<T> {
  const access = openAccess(service, context);
  try {
    return await send(access);
  } finally {
    await access.transport.close();
  }
}

/** Judges whether a robot policy service answers, its clock and the key, and whether it has the robot's region and registration. */
export async function judgeService(
  context: CommandContext,
  asked: Asked,
  contact: Contact,
  signal: AbortSignal,
): Promise<Verdict> {
  const { configuration, key, registration } = asked;
  const answer = judgeAnswer(contact);
  const clock = judgeClock(context.machine.clock, contact.dated, await isTimeKept());
  if (answer.status === "fail" || contact.result.kind === "unreachable") return combine([answer, clock]);
  const credential = key?.credential ?? null;
  const { service, robot } = configuration;
  // The approval may have given an enrolled robot another region than the configuration has.
  const registered = credential?.source === "enrolment" ? registration?.request.region : undefined;
  const [region, held] = await withAccess(context, service, (access) =>
    Promise.all([
      checkRegion(access, registered ?? robot.region, credential, signal),
      checkRegistration(access, credential, registration, signal),
    ]),
  );
  const accepted =
    credential === null ? judgeEnrolment(key) : judgeKey(contact.result, registration !== null, credential);
  return combine([answer, clock, accepted, region, held]);
}

/** The verdict where the service was not reached: the clock may be the cause. */
export function serviceSkipped(clock: Clock, needed: CheckId): Verdict {
  return combine([skip(`needs ${needed}`), judgeClock(clock, null, null)]);
}

const NOT_THE_SERVICE = "check service.url and service.proxy; a captive portal requires a login to the network first";

function judgeAnswer({ result, tookMs }: Pick<Contact, "result" | "tookMs">): Verdict {
  switch (result.kind) {
    case "ok":
      return ok(`answers in ${tookMs} ms`);
    case "unreachable": {
      const remedy =
        result.reason === "timeout" ? ASK_OPERATOR : "check the log of the service, and proxies in between";
      return fail(EXIT.unreachable, result.detail, remedy);
    }
    case "undecodable": {
      const what = `HTTP ${result.status}, but not from a robot policy service: ${result.detail}`;
      return fail(EXIT.unreachable, what, NOT_THE_SERVICE);
    }
    case "refused":
      break;
  }
  const what = refusalText(result);
  if (isOfNetwork(result)) return fail(EXIT.unreachable, what, NOT_THE_SERVICE);
  switch (result.status) {
    case 401:
    case 403:
      return ok(`answers in ${tookMs} ms`);
    case 404:
    case 405:
      return fail(EXIT.failed, what, "this is not the address of a robot policy service: check service.url");
    case 429:
      return warn(what, "wait; the service limits the rate of requests");
  }
  if (isPassing(result)) return fail(EXIT.unreachable, what, "wait; if it continues, tell the operator of the service");
  return fail(EXIT.failed, what, "check service.url, and proxies in between");
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
/** More than the drift of a synchronized clock. */
const SKEW_WARNING_MS = 5 * MINUTE_MS;
/** Enough that certificates appear expired or not yet valid. */
const SKEW_FAILURE_MS = DAY_MS;

const SET_CLOCK = "sudo timedatectl set-ntp true; then see: timedatectl status";

/**
 * Judges whether the clock is plausible and agrees with the service's.
 *
 * @param dated null when there is no time to compare with.
 * @param isKept whether a time service keeps the clock right; null when that is not known.
 */
export function judgeClock(clock: Clock, dated: Contact["dated"], isKept: boolean | null): Verdict {
  const nowMs = clock.wallMs();
  if (nowMs < RELEASED_AT_MS) {
    const what = `the clock says ${new Date(nowMs).toISOString().slice(0, 16)}, before this program was written`;
    return fail(EXIT.unreachable, what, SET_CLOCK);
  }
  const skewMs = dated === null ? 0 : dated.hereMs - dated.serviceMs;
  const what = `the clock is ${describeSkew(Math.abs(skewMs))} ${skewMs > 0 ? "ahead of" : "behind"} the service's`;
  if (Math.abs(skewMs) > SKEW_FAILURE_MS) return fail(EXIT.unreachable, what, SET_CLOCK);
  if (Math.abs(skewMs) > SKEW_WARNING_MS) return warn(what, SET_CLOCK);
  if (isKept === false) return warn("no time service keeps the clock right", SET_CLOCK);
  return dated === null ? skip("its clock is not known") : ok("the clocks agree");
}

function describeSkew(skewMs: number): string {
  if (skewMs > 2 * DAY_MS) return `${Math.round(skewMs / DAY_MS)} days`;
  if (skewMs > 2 * HOUR_MS) return `${Math.round(skewMs / HOUR_MS)} hours`;
  return `${Math.round(skewMs / MINUTE_MS)} minutes`;
}

/** Whether a time service synchronizes the clock, from the kernel's flag (adjtimex(2)), which every time service sets; null when not known. */
async function isTimeKept(): Promise<boolean | null> {
  const result = await systemPrograms(["timedatectl", "show", "--property=NTPSynchronized"], { limitMs: 4000 });
  if (result.kind !== "ended" || result.exitCode !== 0) return null;
  const shown = result.stdout.trim();
  return shown === "NTPSynchronized=yes" ? true : shown === "NTPSynchronized=no" ? false : null;
}

/** The way to the service is free: what is left to do is the enrolment. */
function judgeEnrolment(key: KeyFacts | null): Verdict {
  const enrolment = key?.enrolment ?? null;
  if (enrolment === null) return skip("needs key");
  return { ...enrolment, status: "fail", exitCode: EXIT.unauthorized };
}

/** For a key with scope robots:setup, which cannot list robots as this check does. */
const LACKS_ONLY_LISTING = /\blacks the scope robots:read\b/;

/** @param isRegistered a key with scope robots:setup may register but not list. */
export function judgeKey(
  result: Contact["result"],
  isRegistered: boolean,
  credential: Pick<Credential, "source" | "where">,
): Verdict {
  const { source, where } = credential;
  const accepted = ok(source === "enrolment" ? "accepts the robot's credential" : "accepts the key");
  if (result.kind === "ok") return accepted;
  if (result.kind !== "refused" || isOfNetwork(result)) return skip("needs service");
  const what = refusalText(result);
  switch (result.status) {
    case 401: {
      const named = `${what} (${describeCredential(credential)})`;
      const remedy =
        source === "enrolment"
          ? "the running agent renews it; if it cannot: robot-policy-agent enroll"
          : `ask the operator of the service for a valid key (robot-policy-service keys create), and put it in place of the one in ${where}`;
      return fail(EXIT.unauthorized, named, remedy);
    }
    case 403:
      // With its credential a robot may register itself, and not list robots.
      if (source === "enrolment" && result.reason === "scope") return accepted;
      if (LACKS_ONLY_LISTING.test(result.detail)) return ok("knows the key, which may not list robots");
      return isRegistered
        ? warn(
            `${what}; but this robot is registered`,
            "nothing, if the key is only for setup, and may not list robots",
          )
        : fail(
            EXIT.unauthorized,
            what,
            "ask for a key that may register robots: robot-policy-service keys create --scope robots:setup",
          );
    default:
      return skip("needs service");
  }
}

/** Bounds the list for a person to choose from. */
const REGIONS_LIMIT = 100;

/** Checks that the service has an endpoint in the robot's region. */
async function checkRegion(
  access: ServiceAccess,
  region: string,
  credential: Credential | null,
  signal: AbortSignal,
): Promise<Verdict> {
  const regions = await listRegions(access, credential, signal);
  if (regions === null) return skip("the service does not tell its regions");
  if (regions.length === 0) return skip("the service has no endpoints yet");
  if (regions.includes(region)) return ok(`has an endpoint in ${region}`);
  const meant = nearest(region, regions);
  const what = `the service has no endpoint in the region ${region}${meant === undefined ? "" : ` (did you mean ${meant}?)`}`;
  return warn(what, `write one of these as robot.region: ${regions.join(", ")}`);
}

/**
 * The regions in which the service has endpoints, without those of an invalid format; null where it does not tell.
 *
 * @param credential none is needed; a service may want one.
 */
export async function listRegions(
  access: ServiceAccess,
  credential: Credential | null,
  signal: AbortSignal,
): Promise<readonly string[] | null> {
  const url = operationUrl(access.baseUrl, "/v1/regions", {});
  const request = { method: "GET", url, body: null, answerLimitBytes: RECORD_LIMIT_BYTES } as const;
  const sent = await sendRequest(access, request, credential?.secret ?? null, signal);
  if (sent.kind === "unreachable") return null;
  const secret = credential?.secret ?? NO_SECRET;
  const result = readAnswer(sent.answer, { schema: regionListSchema, url, wallMs: sent.wallMs, secret });
  if (result.kind !== "ok") return null;
  const isRegion = (text: string) => regionSchema.safeParse(text).success && serviceKeyOffset(text) === -1;
  return result.value.regions.filter(isRegion).slice(0, REGIONS_LIMIT);
}

const REGISTER = "the running agent registers again within a day; at once: robot-policy-agent --setup";

/** Checks that the service has the saved registration. */
async function checkRegistration(
  access: ServiceAccess,
  credential: Credential | null,
  registration: Registration | null,
  signal: AbortSignal,
): Promise<Verdict> {
  if (credential === null || registration === null) return skip("there is no registration to ask for");
  if (registration.service_url !== access.baseUrl) return skip(`registered at ${registration.service_url}`);
  const client = createClient({ ...access, credential: async () => credential });
  const found = await askWhetherHeld(client, registration, signal);
  const { name } = registration.request;
  const renameOne = `if two computers have the name ${name}, give one of them another`;
  if (found.kind === "held")
    return found.contestedSince === null
      ? ok(`has the registration of ${name}`)
      : warn(`computers take turns registering ${name} since ${found.contestedSince}`, renameOne);
  if (found.kind !== "replaced")
    return warn(`the service does not confirm the registration of ${name}: ${found.detail}`, REGISTER);
  if (!registration.in_doubt)
    return fail(
      EXIT.conflict,
      `another registration replaced this robot's at ${found.at}`,
      `${renameOne}; ${REGISTER}`,
    );
  const what = `the service has a registration of ${found.at}, probably by this robot's last request, whose answer was lost`;
  return warn(what, "the running agent sends it again; at once: robot-policy-agent --setup");
}
