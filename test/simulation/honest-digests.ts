import type { RobotSetup } from "../../src/api/robots.ts";
import type { SentRequest } from "./network.ts";
import { FILE_LISTS, GRACE_MS, SETTLE_MS } from "./robot-files.ts";
import type { Span } from "./timeline.ts";
import { createTimeline } from "./timeline.ts";
import type { Incarnation, Witness, World } from "./world.ts";

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
  let since_ms = last?.since_ms ?? Number.POSITIVE_INFINITY;
  let from_ms = last?.from_ms ?? Number.NEGATIVE_INFINITY;
  for (const span of contents.toReversed()) {
    if (!isLikeLast(span.value)) continue;
    if (from_ms - span.to_ms > GRACE_MS) break;
    since_ms = Math.min(since_ms, span.since_ms);
    from_ms = span.from_ms;
  }
  return since_ms;
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

  function check(incarnation: Incarnation, { sent_ms, request }: SentRequest): void {
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
    const freshness_ms = 1000 + STALE_OPERATIONS * world.disk_trouble.latency_ms;
    const fresh = found.filter(({ span }) => span.to_ms >= sent_ms - freshness_ms);
    if (fresh.length === 0) {
      const latest_ms = Math.max(...found.map(({ span }) => span.to_ms));
      world.fail(
        `#${incarnation.process.id} sent a digest of the past, gone for ${(sent_ms - latest_ms).toFixed(1)} ms`,
      );
      return;
    }
    const complaints = fresh.map(({ list, span }) => complaintAbout(incarnation, list, span, sent_ms));
    if (!complaints.includes(null)) world.fail(`#${incarnation.process.id} ${complaints[0] ?? ""}`);
  }

  /** null when the state may be sent. */
  function complaintAbout(
    incarnation: Incarnation,
    list: readonly string[],
    span: Span<string | null>,
    sent_ms: number,
  ): string | null {
    const end_ms = Math.min(span.to_ms, sent_ms);
    let changed_ms = Number.NEGATIVE_INFINITY;
    for (const path of list) {
      const contents = timeline.contents(path).filter(({ from_ms }) => from_ms < end_ms);
      const last_ms = contents.at(-1)?.since_ms ?? end_ms;
      if (seemsOld(incarnation, last_ms)) continue;
      changed_ms = Math.max(changed_ms, last_ms);
      const sha256 = contents.at(-1)?.value ?? "";
      if (!timeline.isSuspicious(sha256) || accepted.has(path + sha256)) continue;
      const isLikeLast = neverRested(path, end_ms)
        ? (value: string | null) => value !== null && timeline.isSuspicious(value)
        : (value: string | null) => value === sha256;
      const content_ms = end_ms - sinceWhen(contents, isLikeLast);
      if (content_ms < GRACE_MS - TOLERANCE_MS) {
        return `took ${path} as it was for only ${content_ms.toFixed(1)} ms, half-written`;
      }
      accepted.add(path + sha256);
    }
    if (end_ms - changed_ms >= SETTLE_MS - TOLERANCE_MS) return null;
    if (list.some((path) => neverRested(path, sent_ms))) return null;
    return `sent a state that had lasted ${(end_ms - changed_ms).toFixed(1)} ms`;
  }

  /** A clock that was set forward before the agent first looked at it makes new files look old, and nobody can know. */
  function seemsOld({ created_ms }: Incarnation, changed_ms: number): boolean {
    return world.wall.last_forward_ms >= changed_ms && world.wall.last_forward_ms <= created_ms;
  }

  /** True when the file changed again and again for as long as the grace. */
  function neverRested(path: string, sent_ms: number): boolean {
    let later_ms = sent_ms;
    // Coarse timestamps hide when exactly within them a file changed last.
    const rest_ms = SETTLE_MS + SLACK_MS + world.granularity_ms;
    for (const change_ms of timeline.changes(path).toReversed()) {
      if (later_ms - change_ms > rest_ms) return false;
      if (change_ms <= sent_ms - GRACE_MS + rest_ms) return true;
      later_ms = change_ms;
    }
    return false;
  }

  /** Takes down what looks half-written and stood for the grace, sent or not. */
  function acceptWhatStood(): void {
    for (const list of FILE_LISTS) {
      for (const path of list) {
        const last = timeline.contents(path).at(-1);
        if (last?.value === null || last === undefined || !timeline.isSuspicious(last.value)) continue;
        if (world.scheduler.now_ms - last.from_ms >= GRACE_MS) accepted.add(path + last.value);
      }
    }
  }

  return {
    onDisk() {
      acceptWhatStood();
      timeline.record(world.scheduler.now_ms);
    },
    onRequest: check,
  };
}
