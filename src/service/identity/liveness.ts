import { sql } from "kysely";

import type { Heartbeat } from "../../api/installations.ts";
import { isoNow } from "../../platform/clock.ts";
import type { ServiceMachine } from "../kernel/machine.ts";
import type { Reader, Store } from "../kernel/store/store.ts";
import type { Task } from "../kernel/tasks/task-loop.ts";

/** Heartbeats that this replica accepted. They are in memory first: a crash loses at most the last second of them. */
export interface Liveness {
  /** Notes a heartbeat that arrives now. */
  note(installationId: string, heartbeat: Heartbeat, address: string): void;
  /** The last heartbeat noted here, unless the store has one of a later time (ISO 8601): another replica heard the robot since. */
  seen(installationId: string, storedAt: string | null): Seen | undefined;
  /** Changes when what `seen` says differs from the store in more than a time; part of the key of cached lists. */
  readonly revision: number;
  /** Writes what was noted, at most once a second for all robots. */
  readonly task: Task;
  /** Writes everything noted. @throws StoreUnavailableError. */
  flush(): Promise<void>;
}

/** The last heartbeat of an installation. */
export interface Seen extends Versions {
  /** ISO 8601. */
  readonly at: string;
  readonly readiness: Heartbeat["readiness"];
  readonly reason: string | null;
  readonly address: string;
}

/** What a robot may say only when it changes, to one replica. Null once it was written: the store has the latest word of all replicas. */
interface Versions {
  readonly runtimeVersion: string | null;
  readonly manifestDigest: string | null;
}

interface Noted extends Seen {
  /** The last versions that were said here, also after they were written: a different one is news. */
  readonly said: Versions;
  /** When the store last got the time of a heartbeat, by the monotonic clock. */
  readonly writtenMs: number;
  readonly notedMs: number;
}

/** Never less than a second, also with the jitter of tasks. */
const PERIOD_MS = 1200;
/**
 * The time of a robot's last heartbeat is written at most this often, unless the heartbeat says something new. Shorter than the agent's
 * period, so that the store knows when a robot went away, whichever replica heard it last.
 */
const WRITE_EVERY_MS = 20_000;
/** Rows per commit: one statement of a few milliseconds. The rest follows a second later. */
const ROWS_MAXIMUM = 1000;
/** Robots that report nothing for this long are forgotten: the store has their last heartbeat. */
const FORGET_AFTER_MS = 10 * 60_000;

export function createLiveness(
  store: Pick<Store, "write">,
  { clock }: Pick<ServiceMachine, "clock">,
  onlineWindowMs: number,
): Liveness {
  const robots = new Map<string, Noted>();
  /** Installations to write, longest waiting first. */
  const due = new Set<string>();
  let revision = 0;

  async function writeSome(): Promise<void> {
    const ids = [...due].slice(0, ROWS_MAXIMUM);
    if (ids.length === 0) return;
    const rows = ids.flatMap((id) => {
      const noted = robots.get(id);
      return noted === undefined ? [] : [{ id, noted }];
    });
    for (const id of ids) due.delete(id);
    try {
      // In a fixed order, so that replicas which write the same rows do not deadlock.
      const ordered = rows.toSorted((left, right) => (left.id < right.id ? -1 : 1));
      await store.write((transaction) => writeSeen(transaction, ordered));
    } catch (error) {
      for (const id of ids) due.add(id);
      throw error;
    }
    for (const { id, noted } of rows) {
      const latest = robots.get(id);
      if (latest !== undefined) robots.set(id, { ...latest, ...unwritten(latest, noted), writtenMs: noted.notedMs });
    }
  }

  return {
    note(id, { readiness, reason, runtime_version: version, manifest_digest: digest }, address) {
      const before = robots.get(id);
      const notedMs = clock.monotonicMs();
      const noted: Noted = {
        at: isoNow(clock),
        readiness,
        reason: reason ?? null,
        ...versions(version, digest, before),
        said: versions(version, digest, before?.said),
        address,
        notedMs,
        writtenMs: before?.writtenMs ?? Number.NEGATIVE_INFINITY,
      };
      // Set again, so that the map has the robots in the order of their heartbeats.
      robots.delete(id);
      robots.set(id, noted);
      const isNews = before === undefined || notedMs - before.notedMs > onlineWindowMs || !saysTheSame(before, noted);
      if (isNews) revision += 1;
      if (isNews || notedMs - noted.writtenMs >= WRITE_EVERY_MS) due.add(id);
      forgetSilent(notedMs);
    },
    seen(id, storedAt) {
      const noted = robots.get(id);
      return noted === undefined || (storedAt !== null && storedAt > noted.at) ? undefined : noted;
    },
    get revision() {
      return revision;
    },
    task: { name: "write-heartbeats", intervalMs: PERIOD_MS, ignoresNudges: true, run: writeSome },
    async flush() {
      while (due.size > 0) await writeSome();
    },
  };

  /** Forgets those at the front of the map that were written and have been silent. */
  function forgetSilent(nowMs: number): void {
    for (const [id, { notedMs }] of robots) {
      if (nowMs - notedMs <= FORGET_AFTER_MS || due.has(id)) return;
      robots.delete(id);
    }
  }
}

function versions(
  version: Heartbeat["runtime_version"],
  digest: Heartbeat["manifest_digest"],
  before: Versions | undefined,
): Versions {
  return {
    runtimeVersion: version ?? before?.runtimeVersion ?? null,
    manifestDigest: digest ?? before?.manifestDigest ?? null,
  };
}

/** The versions of `latest` without those that were written. Written again later, they would undo what another replica heard since. */
function unwritten(latest: Versions, written: Versions): Versions {
  return {
    runtimeVersion: latest.runtimeVersion === written.runtimeVersion ? null : latest.runtimeVersion,
    manifestDigest: latest.manifestDigest === written.manifestDigest ? null : latest.manifestDigest,
  };
}

function saysTheSame(one: Noted, other: Noted): boolean {
  return (
    one.readiness === other.readiness &&
    one.reason === other.reason &&
    one.said.runtimeVersion === other.said.runtimeVersion &&
    one.said.manifestDigest === other.said.manifestDigest &&
    one.address === other.address
  );
}

/** One statement for all rows. */
async function writeSeen(
  transaction: Reader,
  rows: readonly { readonly id: string; readonly noted: Seen }[],
): Promise<void> {
  const values = rows.map(
    ({ id, noted }) =>
      sql`(${id}, ${noted.at}, ${noted.readiness}, ${noted.reason}, ${noted.runtimeVersion}, ${noted.manifestDigest}, ${noted.address})`,
  );
  await sql`with seen(id, at, readiness, reason, runtime_version, manifest_digest, address) as (values ${sql.join(values)})
    update installations set
      last_seen_at = seen.at, readiness = seen.readiness, reason = seen.reason, last_address = seen.address,
      runtime_version = coalesce(seen.runtime_version, installations.runtime_version),
      manifest_digest = coalesce(seen.manifest_digest, installations.manifest_digest)
    from seen
    where installations.id = seen.id`.execute(transaction);
}
