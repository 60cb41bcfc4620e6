/**
 * Whether the service still holds what this robot registered.
 *
 * A service that went back to a backup, or a person who removed the robot, tells the robot nothing: it has to ask. It asks once some
 * minutes after a start, so that no boot waits and a fleet after a power cut does not come at once, and then about once a day. Nothing of
 * it is written to the disk.
 */
import { isDeepStrictEqual } from "node:util";

import { isPathParameter } from "../../client/address.ts";
import type { CallResult } from "../../client/call-result.ts";
import type { ServiceClient } from "../../client/client.ts";
import type { HeldRegistration } from "../../client/held-registration.ts";
import { refusalInWords } from "../../client/http-words.ts";
import type { Machine } from "../../platform/machine.ts";
import { createBackoff } from "../../platform/retry.ts";
import type { Registration } from "./registration.ts";

/** What is known after the service was asked. */
export type Verdict =
  /** Since when the service sees more than one computer register the name in turn; null where it does not. */
  | { readonly kind: "held"; readonly contestedSince: string | null }
  /** Somebody registered something else under this robot's name since. */
  | { readonly kind: "replaced"; readonly at: string; readonly configuration_digest: string }
  /** It holds an earlier registration, or another robot of this name. */
  | { readonly kind: "lost"; readonly detail: string }
  /**
   * It does not say: the robot is gone, the key may not ask or is no longer accepted, or the service has no such operation. Registering
   * again answers all of them: every service has that operation, the key is made for it, and it is an upsert that changes nothing where
   * nothing is different.
   */
  | { readonly kind: "untold"; readonly detail: string }
  /** There was no answer; another time there may be. */
  | { readonly kind: "unanswered"; readonly detail: string; readonly retryAfterMs: number | null };

export async function askWhetherHeld(
  client: ServiceClient,
  registration: Registration,
  signal: AbortSignal,
): Promise<Verdict> {
  const { name } = registration.request;
  if (!isPathParameter(name)) return { kind: "untold", detail: `no address can hold the name ${name}` };
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
      return { kind: "untold", detail: result.problem.what };
    case "refused": {
      const detail = refusalInWords(result);
      return isPassing(result.status)
        ? { kind: "unanswered", detail, retryAfterMs: result.retry_after_ms }
        : { kind: "untold", detail };
    }
  }
}

function isPassing(status: number): boolean {
  return status >= 500 || status === 408 || status === 425 || status === 429;
}

function compare(view: HeldRegistration, { request, robot, registered_at: registeredAt }: Registration): Verdict {
  if (view.robot !== request.name)
    return { kind: "unanswered", detail: "the answer is about another robot", retryAfterMs: null };
  if (view.robot_id !== robot.id) return { kind: "lost", detail: "the robot of this name is another one now" };
  const {
    configuration_digest: configurationDigest,
    robot_type_id: robotTypeId,
    region,
    site,
    labels,
    contract,
  } = view;
  const isEqual =
    configurationDigest === request.configuration_digest &&
    robotTypeId === request.robot_type_id &&
    region === request.region &&
    site === (request.site ?? null) &&
    isDeepStrictEqual(labels, request.labels ?? {}) &&
    isDeepStrictEqual(contract, request.contract ?? null);
  if (isEqual) return { kind: "held", contestedSince: view.contested_since };
  // A service that went back to a backup holds something older. The clocks may differ by minutes, backups are hours old.
  const isEarlier = Date.parse(view.registered_at) < Date.parse(registeredAt);
  return isEarlier
    ? { kind: "lost", detail: `the service holds the registration of ${view.registered_at}` }
    : { kind: "replaced", at: view.registered_at, configuration_digest: configurationDigest };
}

/** What confirmations came to, and when the next is due. */
export interface Confirmation {
  /** When the service last was known to hold the registration, ISO 8601; null: not since this process started. */
  readonly confirmedAt: string | null;
  /** Why it could not be asked since; null where it could. */
  readonly problem: string | null;
  /** The registration that was found in place of this robot's, until it has stood for a day. */
  readonly replaced: Pick<Extract<Verdict, { kind: "replaced" }>, "at" | "configuration_digest"> | null;
  /** Since when more than one computer registers the robot's name in turn, as the service told last, ISO 8601. */
  readonly contestedSince: string | null;
  /** When the service is to be asked, monotonic. */
  readonly dueMs: number;
}

export interface Confirmations {
  readonly current: Confirmation;
  /** The service accepted a registration. */
  registered(): void;
  take(verdict: Verdict): void;
}

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
/** After a start: a random moment between these. */
const FIRST_MS = { minimum: 4 * MINUTE_MS, maximum: 10 * MINUTE_MS } as const;
/** Share of a day that is left to chance. */
const SPREAD = 0.2;
/** Without an answer. */
const FIRST_RETRY_MS = MINUTE_MS;
const SLOWEST_RETRY_MS = 60 * MINUTE_MS;
/** How long a registration that was replaced once must have stood before it counts as undisputed. */
const DISPUTE_MS = DAY_MS * (1 - SPREAD);

export function createConfirmations({ clock, random }: Pick<Machine, "clock" | "random">): Confirmations {
  const backoff = createBackoff({ firstMs: FIRST_RETRY_MS, capMs: SLOWEST_RETRY_MS, random });
  const firstDelayMs = FIRST_MS.minimum + random.unit() * (FIRST_MS.maximum - FIRST_MS.minimum);
  let replacedAtMs = Number.NEGATIVE_INFINITY;
  let current: Confirmation = {
    confirmedAt: null,
    problem: null,
    replaced: null,
    contestedSince: null,
    dueMs: clock.monotonicMs() + firstDelayMs,
  };

  function nextDayMs(): number {
    return clock.monotonicMs() + DAY_MS * (1 + SPREAD * (random.unit() - 0.5));
  }

  function confirmed(): void {
    backoff.reset();
    const confirmedAt = new Date(clock.wallMs()).toISOString();
    current = { ...current, confirmedAt, problem: null, dueMs: nextDayMs() };
  }

  return {
    get current() {
      return current;
    },
    registered: confirmed,
    take(verdict) {
      switch (verdict.kind) {
        case "held":
          confirmed();
          current = { ...current, contestedSince: verdict.contestedSince };
          if (clock.monotonicMs() - replacedAtMs >= DISPUTE_MS) current = { ...current, replaced: null };
          return;
        case "replaced": {
          const { at, configuration_digest: configurationDigest } = verdict;
          replacedAtMs = clock.monotonicMs();
          current = {
            ...current,
            problem: null,
            replaced: { at, configuration_digest: configurationDigest },
            dueMs: nextDayMs(),
          };
          return;
        }
        case "lost":
        case "untold":
          current = { ...current, problem: null, dueMs: nextDayMs() };
          return;
        case "unanswered": {
          const dueMs = clock.monotonicMs() + backoff.nextMs(verdict.retryAfterMs);
          current = { ...current, problem: verdict.detail, dueMs };
        }
      }
    },
  };
}
