/**
 * Checks whether the service still has this robot's registration.
 *
 * The robot is not told when a service is restored from a backup or a person removes the robot, so it has to ask. It asks some minutes after
 * a start, which does not delay the boot, and then about once a day. It also asks once some minutes after each registration, because another
 * computer of the same name may have registered since. After a stop that was not in order, such as a power cut, it asks within seconds: the
 * disk may lack the last registration. Nothing is written to disk.
 */
import { isDeepStrictEqual } from "node:util";

import { ROBOT_TEXT_NAMES } from "../../api/robot-texts.ts";
import { isPathParameter } from "../../client/send-request.ts";
import { type CallResult, isPassing, refusalText } from "../../client/call-result.ts";
import type { HeldRegistration, ServiceClient } from "../../client/client.ts";
import { isoNow } from "../../platform/clock.ts";
import type { Machine } from "../../platform/machine.ts";
import { createBackoff } from "../../platform/retry.ts";
import type { Registration } from "./registration.ts";

/** The result of asking the service. */
export type Verdict =
  /**
   * `contestedSince`: since when several computers take turns registering the name; null when they do not. `lacksParts`: the service could
   * know what the digest covers, but does not.
   */
  | { readonly kind: "held"; readonly contestedSince: string | null; readonly lacksParts?: true }
  /** Another registration was made under this robot's name since. */
  | { readonly kind: "replaced"; readonly at: string; readonly configuration_digest: string }
  /** The service has an earlier registration, or another robot with this name. */
  | { readonly kind: "lost"; readonly detail: string }
  /**
   * The service gives no answer to the question: the robot is unknown, the key is not accepted, or the service has no such operation. The
   * agent then registers again, which every service supports, the key allows, and which changes nothing when nothing is different.
   */
  | { readonly kind: "unknown"; readonly detail: string }
  /** There was no answer; a retry may succeed. */
  | { readonly kind: "unanswered"; readonly detail: string; readonly retryAfterMs: number | null };

export async function askWhetherHeld(
  client: ServiceClient,
  registration: Registration,
  signal: AbortSignal,
): Promise<Verdict> {
  const { name } = registration.request;
  if (!isPathParameter(name)) return { kind: "unknown", detail: `no address can hold the name ${name}` };
  return judgeHeld(await client.getRegistration(name, signal), registration);
}

export function judgeHeld(result: CallResult<HeldRegistration>, registration: Registration): Verdict {
  switch (result.kind) {
    case "ok":
      return compare(result.value, registration);
    case "unreachable":
    case "undecodable":
      return { kind: "unanswered", detail: result.detail, retryAfterMs: null };
    case "no-credential":
      return { kind: "unknown", detail: result.problem.what };
    case "refused": {
      const detail = refusalText(result);
      return isPassing(result)
        ? { kind: "unanswered", detail, retryAfterMs: result.retryAfterMs }
        : { kind: "unknown", detail };
    }
  }
}

function compare(view: HeldRegistration, { request, robot, registered_at: registeredAt }: Registration): Verdict {
  if (view.robot !== request.name)
    return { kind: "unanswered", detail: "the answer is about another robot", retryAfterMs: null };
  if (view.robot_id !== robot.id) return { kind: "lost", detail: "the robot of this name is another one now" };
  const { configuration_digest: configurationDigest, robot_type_id: robotTypeId, region, labels, contract } = view;
  const isEqual =
    configurationDigest === request.configuration_digest &&
    robotTypeId === request.robot_type_id &&
    region === request.region &&
    ROBOT_TEXT_NAMES.every((name) => view[name] === undefined || view[name] === (request[name] ?? null)) &&
    isDeepStrictEqual(labels, request.labels ?? {}) &&
    isDeepStrictEqual(contract, request.contract ?? null);
  if (isEqual)
    return {
      kind: "held",
      contestedSince: view.contested_since,
      ...(view.parts_recorded === false && { lacksParts: true }),
    };
  // A service restored from a backup has an older registration. Clocks differ by minutes, backups are hours old.
  const isEarlier = Date.parse(view.registered_at) < Date.parse(registeredAt);
  return isEarlier
    ? { kind: "lost", detail: `the service holds the registration of ${view.registered_at}` }
    : { kind: "replaced", at: view.registered_at, configuration_digest: configurationDigest };
}

/** The result of the last confirmation, and when the next is due. */
export interface Confirmation {
  /** When the service last confirmed the registration, ISO 8601; null when not since this process started. */
  readonly confirmedAt: string | null;
  /** Why the last question failed; null when it was answered. */
  readonly problem: string | null;
  /** The registration that had replaced this robot's; null once this robot's has been in place for a day. */
  readonly replaced: Omit<Extract<Verdict, { kind: "replaced" }>, "kind"> | null;
  /** Since when several computers take turns registering the robot's name, from the last answer, ISO 8601. */
  readonly contestedSince: string | null;
  /** Monotonic time of the next question. */
  readonly dueMs: number;
}

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
/** The first question after a start, at a random time in this range. */
export const FIRST_CONFIRMATION_MS = [4 * MINUTE_MS, 10 * MINUTE_MS] as const;
/** The same after a stop that was not in order. */
const UNCLEAN_MS = [1000, 6000] as const;
/** The question after a registration. */
const AFTER_REGISTRATION_MS = 10 * MINUTE_MS;
/** Random share of these periods. */
const SPREAD = 0.2;
/** Retries without an answer. */
const BACKOFF = { firstMs: MINUTE_MS, capMs: 60 * MINUTE_MS } as const;
/** After a replacement, the warning ends when the registration is confirmed this much later. */
const DISPUTE_MS = DAY_MS * (1 - SPREAD);

export function createConfirmations({ clock, random }: Pick<Machine, "clock" | "random">) {
  const backoff = createBackoff({ ...BACKOFF, random });
  let replacedAtMs = Number.NEGATIVE_INFINITY;
  /** The next registration repeats the last one, because a question was not answered with `held`. */
  let isRepeatNext = false;
  const nothing = { confirmedAt: null, problem: null, replaced: null, contestedSince: null };
  let current: Confirmation = { ...nothing, dueMs: within(FIRST_CONFIRMATION_MS) };

  function within([leastMs, mostMs]: readonly [number, number]): number {
    return clock.monotonicMs() + leastMs + random.unit() * (mostMs - leastMs);
  }

  function about(periodMs: number): number {
    return clock.monotonicMs() + periodMs * (1 + SPREAD * (random.unit() - 0.5));
  }

  function confirm(dueMs: number): void {
    backoff.reset();
    isRepeatNext = false;
    current = { ...current, confirmedAt: isoNow(clock), problem: null, dueMs };
  }

  return {
    get current() {
      return current;
    },
    /** The service accepted a registration. After a repeated one it is not asked soon: two computers would take turns every ten minutes. */
    registered: () => confirm(about(isRepeatNext ? DAY_MS : AFTER_REGISTRATION_MS)),
    /** The disk may lack the last registration. */
    hurry() {
      current = { ...current, dueMs: within(UNCLEAN_MS) };
    },
    take(verdict: Verdict) {
      switch (verdict.kind) {
        case "held": {
          confirm(about(DAY_MS));
          const isSettled = clock.monotonicMs() - replacedAtMs >= DISPUTE_MS;
          const replaced = isSettled ? null : current.replaced;
          current = { ...current, contestedSince: verdict.contestedSince, replaced };
          return;
        }
        case "unanswered": {
          const dueMs = clock.monotonicMs() + backoff.nextMs(verdict.retryAfterMs);
          current = { ...current, problem: verdict.detail, dueMs };
          return;
        }
        case "replaced":
          replacedAtMs = clock.monotonicMs();
          current = { ...current, replaced: verdict };
      }
      isRepeatNext = true;
      current = { ...current, problem: null, dueMs: about(DAY_MS) };
    },
  };
}
