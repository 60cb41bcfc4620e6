import type { RobotSetup } from "../../../src/api/robots.ts";
import type { SentRequest } from "../machine/network.ts";
import { FILE_LISTS, GRACE_MS, SETTLE_MS } from "../machine/robot-files.ts";
import { createTimeline, type Span } from "../timeline.ts";
import type { Incarnation, Witness, World } from "../world.ts";

/** How old the truth may be that is sent: looking, reading and finding the key take some operations, and disks are slow at times. */
const STALE_OPERATIONS = 60;
/** Timestamps are of the kernel's last tick. On filesystems with coarser ones the agent has to make up for that. */
const TOLERANCE_MS = 11;
/** Timers are late now and then; looks at the files take operations too. */
const SLACK_MS = 300;

/**
 * Since when contents like the last one have been there; what came back before anybody would have given up waiting for it, has been there all
 * along.
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
 * No digest is sent but that of a state of all the files that was on the disk at one moment, lately, and for long enough:
 * the settle time; or, where a file looks half-written, the grace. Files that never hold still are taken after the grace as they
 * are, but never as a mix; half-written only when they have been half-written again and again for the grace.
 */
export function honestDigests(world: World): Witness {
  const timeline = createTimeline(world.disk);
  /** Contents that looked half-written and were waited for once; they need no patience again. */
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

  /** A clock that was set forward before the agent first looked at it makes new files look old, and nobody can know. */
  function seemsOld({ createdMs }: Incarnation, changedMs: number): boolean {
    return world.wall.lastForwardMs >= changedMs && world.wall.lastForwardMs <= createdMs;
  }

  /** True when the file changed again and again for as long as the grace. */
  function neverRested(path: string, sentMs: number): boolean {
    let laterMs = sentMs;
    // Coarse timestamps hide when exactly within them a file changed last.
    const restMs = SETTLE_MS + SLACK_MS + world.granularityMs;
    for (const changeMs of timeline.changes(path).toReversed()) {
      if (laterMs - changeMs > restMs) return false;
      if (changeMs <= sentMs - GRACE_MS + restMs) return true;
      laterMs = changeMs;
    }
    return false;
  }

  /** Takes down what looks half-written and stood for the grace, sent or not. */
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
