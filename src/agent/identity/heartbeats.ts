import type { Heartbeat } from "../../api/installations.ts";
import type { IdentityClient } from "../../client/identity-client.ts";
import { printable } from "../../client/printable.ts";
import type { Secret } from "../../client/secret.ts";
import { isoNow } from "../../platform/clock.ts";
import { createPace, judgeHeartbeat } from "./answers.ts";
import type { MachineOptions, Readiness } from "./exchange.ts";

/** What came of a heartbeat. */
export type Beat =
  /** `isBack`: the one before failed. */
  | { readonly kind: "accepted"; readonly renewAfterS: number; readonly isBack: boolean }
  | ReturnType<typeof judgeHeartbeat>;

/** A line of a list, and a label of an alert. */
const REASON_LIMIT = 200;
const SPREAD = 0.2;
/** A service counts a robot as online for 90 s after a heartbeat, and an answer takes time. */
const LONGEST_DELAY_MS = 85_000;
/** A changed readiness is reported within this time. */
const CHANGE_MS = 2000;

/** When the next heartbeat is due, and what it says. Nothing is written to disk. */
export function createHeartbeats({
  machine: { clock, random },
  log,
  version,
}: Pick<MachineOptions, "machine" | "log" | "version">) {
  /** Not that of the renewals: accepted heartbeats must not shorten the pauses between renewals that fail. */
  const pace = createPace(random);
  let dueMs = 0;
  /** A failed one is not repeated before, whatever changes. */
  let notBeforeMs = 0;
  let failed = 0;
  let told: Readiness | null = null;
  let acceptedAt: string | null = null;

  /** Sends the next one within this time, unless the last one failed. */
  function hurry(delayMs = 0): void {
    dueMs = Math.min(dueMs, Math.max(notBeforeMs, clock.monotonicMs() + delayMs));
  }

  return {
    /** Monotonic. */
    get dueMs() {
      return dueMs;
    },
    /** When the service accepted the last one, by the wall clock; null for none since the start. */
    get acceptedAt() {
      return acceptedAt;
    },
    async send(
      client: IdentityClient,
      credential: Secret,
      readiness: Readiness,
      periodMs: number,
      signal: AbortSignal,
    ): Promise<Beat> {
      const result = await client.heartbeat(describeHeartbeat(readiness, version), credential, signal);
      signal.throwIfAborted();
      const nowMs = clock.monotonicMs();
      dueMs = nowMs + Math.min(periodMs * (1 - SPREAD / 2 + SPREAD * random.unit()), LONGEST_DELAY_MS);
      if (result.kind === "ok") {
        const isBack = failed > 0;
        if (isBack) log.info("heartbeats-accepted-again", { failed });
        failed = 0;
        pace.reset();
        acceptedAt = isoNow(clock);
        told = { ...readiness, registeredDigest: readiness.registeredDigest ?? told?.registeredDigest ?? null };
        return { kind: "accepted", renewAfterS: result.value.renew_after_s, isBack };
      }
      const verdict = judgeHeartbeat(result);
      if (verdict.kind === "later") {
        if (failed === 0) log.warn("heartbeat-failed", { detail: verdict.detail });
        failed += 1;
        notBeforeMs = nowMs + pace.after(verdict);
        dueMs = notBeforeMs;
      }
      return verdict;
    },
    /** Reports a change of readiness soon. */
    changed({ problem, registeredDigest }: Readiness) {
      if (told === null) return;
      // The reason may change often; what counts is whether the robot is ready.
      const isSame = (problem === null) === (told.problem === null);
      if (isSame && (registeredDigest === null || registeredDigest === told.registeredDigest)) return;
      hurry(CHANGE_MS * random.unit());
    },
    hurry,
    /** After a pause: the next one within a tenth of the period. */
    resume(periodMs: number) {
      dueMs = clock.monotonicMs() + (SPREAD / 2) * periodMs * random.unit();
    },
  };
}

/**
 * Version and digest are sent each time, although the service keeps them: it may lose a heartbeat that it accepted, and a new
 * installation has none.
 */
export function describeHeartbeat({ problem, registeredDigest }: Readiness, version: string): Heartbeat {
  return {
    ...(problem === null
      ? { readiness: "ready" as const }
      : { readiness: "not_ready" as const, reason: describeProblem(problem) || "no reason" }),
    runtime_version: version.slice(0, 64),
    ...(registeredDigest === null ? {} : { manifest_digest: registeredDigest }),
  };
}

/** Where the whole text is too long, folders are left out first, so that the name of the file and the cause are told. */
function describeProblem(problem: string): string {
  const isLong = problem.length > REASON_LIMIT;
  return printable(isLong ? problem.replaceAll(/\/(?:[^/\s:]+\/)+/g, "…/") : problem, REASON_LIMIT);
}
