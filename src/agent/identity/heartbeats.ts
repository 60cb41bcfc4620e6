import type { Heartbeat } from "../../api/installations.ts";
import type { IdentityClient } from "../../client/identity-client.ts";
import { printable } from "../../client/printable.ts";
import type { Secret } from "../../client/secret.ts";
import type { Machine } from "../../platform/machine.ts";
import { type HeartbeatVerdict, judgeHeartbeat } from "./answers.ts";

/** What the agent reports of the robot. */
export interface Readiness {
  /** Why the robot cannot register; null if what it has on the disk is registered, or about to be. */
  readonly problem: string | null;
  /** The digest that the service holds, as far as known. */
  readonly registeredDigest: string | null;
}

/** A line of a list, and a label of an alert. */
const REASON_LIMIT = 200;
const SPREAD = 0.2;
/** A service counts a robot as online for 90 s after a heartbeat, and an answer takes time. */
const LONGEST_DELAY_MS = 85_000;
/** A changed readiness is reported within this time. */
const CHANGE_MS = 2000;
/** A service without heartbeats is asked so often: another server may have answered in its place. */
const UNKNOWN_HERE_MS = 5 * 60_000;

/** When the next heartbeat is due, and what it says. Nothing is written to disk. */
export function createHeartbeats(
  { clock, random }: Pick<Machine, "clock" | "random">,
  version: string,
  periodMs: () => number,
) {
  let dueMs = 0;
  /** A failed one is not repeated before, whatever changes. */
  let notBeforeMs = 0;
  let isUnknownHere = false;
  let told: { readonly problem: string | null; readonly digest: string | null } | null = null;

  function spread(delayMs: number): number {
    return delayMs * (1 - SPREAD / 2 + SPREAD * random.unit());
  }

  /** Sends the next one within this time, unless the last one failed. */
  function hurry(delayMs = 0): void {
    dueMs = Math.min(dueMs, Math.max(notBeforeMs, clock.monotonicMs() + delayMs));
  }

  /**
   * Version and digest are sent each time, although the service keeps them: it may lose a heartbeat that it accepted, and a new
   * installation has none.
   */
  function describe({ problem, registeredDigest }: Readiness): Heartbeat {
    return {
      ...(problem === null
        ? { readiness: "ready" as const }
        : {
            readiness: "not_ready" as const,
            reason: describeProblem(problem) || "no reason",
          }),
      runtime_version: version.slice(0, 64),
      ...(registeredDigest === null ? {} : { manifest_digest: registeredDigest }),
    };
  }

  return {
    /** Monotonic. */
    get dueMs() {
      return dueMs;
    },
    async send(
      client: IdentityClient,
      credential: Secret,
      readiness: Readiness,
      signal: AbortSignal,
    ): Promise<HeartbeatVerdict> {
      const verdict = judgeHeartbeat(await client.heartbeat(describe(readiness), credential, signal));
      isUnknownHere = verdict.kind === "unknown-here";
      const delayMs = isUnknownHere ? spread(UNKNOWN_HERE_MS) : Math.min(spread(periodMs()), LONGEST_DELAY_MS);
      dueMs = clock.monotonicMs() + delayMs;
      if (verdict.kind === "accepted") {
        told = { problem: readiness.problem, digest: readiness.registeredDigest ?? told?.digest ?? null };
      }
      return verdict;
    },
    /** Reports a change of readiness soon. */
    changed({ problem, registeredDigest }: Readiness) {
      if (told === null || isUnknownHere) return;
      // The reason may change often; what counts is whether the robot is ready.
      const isSame = (problem === null) === (told.problem === null);
      if (isSame && (registeredDigest === null || registeredDigest === told.digest)) return;
      hurry(CHANGE_MS * random.unit());
    },
    hurry,
    /** After a pause: the next one within a tenth of the period. */
    resume() {
      isUnknownHere = false;
      dueMs = clock.monotonicMs() + (SPREAD / 2) * periodMs() * random.unit();
    },
    /** The last one failed. @param delayMs until the next, whatever the period. */
    postpone(delayMs: number) {
      dueMs = clock.monotonicMs() + delayMs;
      notBeforeMs = dueMs;
    },
  };
}

/** Where the whole text is too long, folders are left out first, so that the name of the file and the cause are told. */
function describeProblem(problem: string): string {
  const isLong = problem.length > REASON_LIMIT;
  return printable(isLong ? problem.replaceAll(/\/(?:[^/\s:]+\/)+/g, "…/") : problem, REASON_LIMIT);
}
