import type { RobotSetup } from "../../../src/api/robots.ts";
import type { SentRequest } from "../machine/network.ts";
import { FILE_LISTS, GRACE_MS, SETTLE_MS } from "../machine/robot-files.ts";
import { createTimeline, type Span } from "../timeline.ts";
import type { Incarnation, Witness, World } from "../world.ts";

/** Maximum age of a sent state: checking, reading and finding the key take several operations, and disks can be slow. */
const STALE_OPERATIONS = 60;
/** Resolution of timestamps: the kernel's tick. On filesystems with a coarser one the agent has to compensate. */
const TOLERANCE_MS = 11;
/** Timers can be late, and checking the files takes several operations. */
const SLACK_MS = 300;

/**
 * Start of the period in which the content was the last one. A different content that lasted less than the grace does not end the period.
 */
function sinceWhen(contents: readonly Span<string | null>[], isLikeLast: (sha256: string | null) => boolean): number {
  const last = contents.at(-1);
  let sinceMs = last?.since_ms ?? Number.POSITIVE_INFINITY;
  let fromMs = last?.fromMs ?? Number.NEGATIVE_INFINITY;
  for (const span of contents.toReversed()) {
    if (!isLikeLast(span.value)) continue;
    if (fromMs - span.toMs > GRACE_MS) break;
    sinceMs = Math.min(sinceMs, span.since_ms);
    fromMs = span.fromMs;
  }
  return sinceMs;
}

/**
 * Every sent digest is one of a state of all files that was on the disk at one moment, recently, and for at least the settle time, or for
 * the grace if a file looks half-written. Files that never settle are sent after the grace, but never as a mix of states. Half-written
 * files
 * are sent only if they were half-written during the entire grace.
 */
export function honestDigests(world: World): Witness {
  const timeline = createTimeline(world.disk);
  /** Contents that looked half-written for the entire grace. They need no further wait. */
  const accepted = new Set<string>();

  function check(incarnation: Incarnation, { sentMs, request }: SentRequest): void {
    const body: RobotSetup = JSON.parse(request.body ?? "");
    if (body.name !== world.hostname) world.fail(`a second robot would have been made: ${body.name}`);
    const found = FILE_LISTS.flatMap((list, index) =>
      timeline
        .digests(index)
        .filter(({ value }) => value === body.configuration_digest)
        .map((span) => ({ list, span })),
    );
    if (found.length === 0) {
      world.fail(`#${incarnation.process.id} sent ${body.configuration_digest}, which no state of the files ever had`);
      return;
    }
    const freshnessMs = 1000 + STALE_OPERATIONS * world.disk_trouble.latencyMs;
    const fresh = found.filter(({ span }) => span.toMs >= sentMs - freshnessMs);
    if (fresh.length === 0) {
      const latestMs = Math.max(...found.map(({ span }) => span.toMs));
      world.fail(`#${incarnation.process.id} sent a digest of the past, gone for ${(sentMs - latestMs).toFixed(1)} ms`);
      return;
    }
    const complaints = fresh.map(({ list, span }) => complaintAbout(incarnation, list, span, sentMs));
    if (!complaints.includes(null)) world.fail(`#${incarnation.process.id} ${complaints[0] ?? ""}`);
  }

  /** null when the state may be sent. */
  function complaintAbout(
    incarnation: Incarnation,
    list: readonly string[],
    span: Span<string | null>,
    sentMs: number,
  ): string | null {
    const endMs = Math.min(span.toMs, sentMs);
    let changedMs = Number.NEGATIVE_INFINITY;
    for (const path of list) {
      const contents = timeline.contents(path).filter(({ fromMs }) => fromMs < endMs);
      const lastMs = contents.at(-1)?.since_ms ?? endMs;
      if (seemsOld(incarnation, lastMs)) continue;
      changedMs = Math.max(changedMs, lastMs);
      const sha256 = contents.at(-1)?.value ?? "";
      if (!timeline.isSuspicious(sha256) || accepted.has(path + sha256)) continue;
      const isLikeLast = neverRested(path, endMs)
        ? (value: string | null) => value !== null && timeline.isSuspicious(value)
        : (value: string | null) => value === sha256;
      const contentMs = endMs - sinceWhen(contents, isLikeLast);
      if (contentMs < GRACE_MS - TOLERANCE_MS) {
        return `took ${path} as it was for only ${contentMs.toFixed(1)} ms, half-written`;
      }
      accepted.add(path + sha256);
    }
    if (endMs - changedMs >= SETTLE_MS - TOLERANCE_MS) return null;
    if (list.some((path) => neverRested(path, sentMs))) return null;
    return `sent a state that had lasted ${(endMs - changedMs).toFixed(1)} ms`;
  }

  /** New files look old when the clock was set forward before the agent first read it. The agent cannot detect this. */
  function seemsOld({ createdMs }: Incarnation, changedMs: number): boolean {
    return world.wall.lastForwardMs >= changedMs && world.wall.lastForwardMs <= createdMs;
  }

  /** Whether the file changed repeatedly during the entire grace. */
  function neverRested(path: string, sentMs: number): boolean {
    let laterMs = sentMs;
    // Coarse timestamps hide the exact time of the last change.
    const restMs = SETTLE_MS + SLACK_MS + world.granularityMs;
    for (const changeMs of timeline.changes(path).toReversed()) {
      if (laterMs - changeMs > restMs && !wasHalfWritten(path, changeMs)) return false;
      if (changeMs <= sentMs - GRACE_MS + restMs) return true;
      laterMs = changeMs;
    }
    return false;
  }

  function wasHalfWritten(path: string, atMs: number): boolean {
    const value = timeline.contents(path).findLast(({ fromMs }) => fromMs <= atMs)?.value ?? null;
    return value !== null && timeline.isSuspicious(value);
  }

  /** Records contents that looked half-written for the grace, whether sent or not. */
  function acceptWhatStood(): void {
    for (const list of FILE_LISTS) {
      for (const path of list) {
        const last = timeline.contents(path).at(-1);
        if (last?.value === null || last === undefined || !timeline.isSuspicious(last.value)) continue;
        if (world.scheduler.nowMs - last.fromMs >= GRACE_MS) accepted.add(path + last.value);
      }
    }
  }

  return {
    onDisk() {
      acceptWhatStood();
      timeline.record(world.scheduler.nowMs);
    },
    onRequest: check,
  };
}
