import { sql } from "kysely";

import type { IdentifiedRobotView, RobotPresence, RobotStatus } from "../../api/robot-views.ts";
import { isoNow, isoTime } from "../../platform/clock.ts";
import type { OperationContext } from "../kernel/operation.ts";
import type { Reader, Store } from "../kernel/store/store.ts";
import type { Tables } from "../kernel/store/tables.ts";
import type { Task } from "../kernel/tasks/task-loop.ts";
import { forgetReports, type Listening, listListening, report } from "../webhooks/index.ts";
import type { IdentitySettings } from "./installations.ts";
import type { Heartbeat } from "../../api/installations.ts";
import type { ServiceMachine } from "../kernel/machine.ts";

/** What decides at a moment which robots are online. */
export interface Presence extends Pick<Liveness, "seen"> {
  /** ISO 8601: robots whose last heartbeat is not older are online. */
  readonly onlineSince: string;
}

/** The live installation of a robot, as far as its presence depends on it; nulls where the robot has none. */
export interface LiveRow extends Pick<Tables["installations"], "last_seen_at" | "readiness" | "reason"> {
  readonly installation_id: string | null;
  readonly installation_state: Tables["installations"]["state"] | null;
}

/** The columns of `installations` in a `LiveRow`. */
export const LIVE_COLUMNS = [
  "installations.state as installation_state",
  "installations.last_seen_at",
  "installations.readiness",
  "installations.reason",
] as const;

/** What presence is known from. */
export interface PresenceContext {
  readonly liveness: Pick<Liveness, "seen">;
  readonly identity: IdentitySettings;
}

export function presenceAt(nowMs: number, { liveness, identity }: PresenceContext): Presence {
  return {
    seen: liveness.seen,
    onlineSince: isoTime(nowMs - identity.onlineWindowMs),
  };
}

/** What a robot's view says of its presence. */
export function presenceOf(
  { installation_id: id, installation_state: state, last_seen_at: stored, ...row }: LiveRow,
  { seen, onlineSince }: Presence,
): Pick<IdentifiedRobotView, "last_seen_at"> & {
  readonly status: RobotStatus;
  readonly presence: RobotPresence;
  readonly not_ready_reason: string | null;
} {
  const noted = id === null ? undefined : seen(id, stored);
  const lastSeen = noted?.at ?? stored;
  const unknown = { last_seen_at: lastSeen, not_ready_reason: null };
  if (id === null) return { ...unknown, status: "offline", presence: "not_monitored" };
  const isOnline = state === "active" && lastSeen !== null && lastSeen >= onlineSince;
  if (!isOnline) return { ...unknown, status: "offline", presence: "offline" };
  const { readiness, reason } = noted ?? row;
  if (readiness !== "not_ready") return { ...unknown, status: "online", presence: "online" };
  return { status: "online", last_seen_at: lastSeen, presence: "not_ready", not_ready_reason: reason };
}

/** Whether the live installation of a robot sent a heartbeat lately, to any replica. */
export async function isRobotOnline(
  reader: Reader,
  robot: Pick<Tables["robots"], "id" | "organization_id">,
  presence: Presence,
): Promise<boolean> {
  const installation = await reader
    .selectFrom("installations")
    .select("id as installation_id")
    .select(LIVE_COLUMNS)
    .where("organization_id", "=", robot.organization_id)
    .where("robot_id", "=", robot.id)
    .where("state", "=", "active")
    .executeTakeFirst();
  return installation !== undefined && isOnline(installation, presence);
}

/**
 * ISO 8601: robots whose last heartbeat in the store is not older are online. For what only the store is asked: it gets the time of a heartbeat
 * up to 20 seconds late.
 */
export function storedOnlineSince(nowMs: number, { identity }: Pick<PresenceContext, "identity">): string {
  return isoTime(nowMs - identity.onlineWindowMs - OFFLINE_SLACK_MS);
}

function isOnline(row: LiveRow, presence: Presence): boolean {
  return presenceOf(row, presence).status === "online";
}

const INTERVAL_MS = 10_000;
/** A run reads the installations of organizations with such webhooks, and rests ten times as long as it took. */
const REST_RATIO = 10;
/** A robot is reported offline this long after its window, because another replica writes what it heard up to 20 seconds late. */
const OFFLINE_SLACK_MS = 30_000;
/** Time between two events of a robot, so that one with a bad network does not flood; the last state is always reported. */
const GAP_MS = 60_000;
const ROWS = 200;

type Row = LiveRow & {
  readonly robot_id: string;
  readonly name: string;
  /** What was reported last, and when. */
  readonly state: string | null;
  readonly reported_at: string | null;
};

/** Announces which robots came online and went offline. What is found first, after a webhook was created, is only noted. */
export function createReportPresence(
  context: PresenceContext & Pick<OperationContext, "store" | "machine" | "newId">,
): Task {
  const { store, machine } = context;

  async function reportRobot(row: Row, { organizationId }: Listening, nowMs: number): Promise<void> {
    const { robot_id: robotId, name, installation_id: installationId, state: before } = row;
    const state = stateOf(row, nowMs, context);
    if (state === before) return;
    const change = { subject_id: robotId, organization_id: organizationId, kind: "robot", state, before } as const;
    const data = () => ({ robot_id: robotId, name, installation_id: installationId });
    const event = before === null ? null : ({ type: `robot.${state}`, data } as const);
    await report(context, change, isoTime(nowMs), event);
  }

  return {
    name: "report-presence",
    intervalMs: INTERVAL_MS,
    ignoresNudges: true,
    restRatio: REST_RATIO,
    async run(signal) {
      const listening = await listListening(store.reader, ["robot.offline", "robot.online"]);
      for (const organization of listening) {
        for (let after = ""; !signal.aborted;) {
          const nowMs = machine.clock.wallMs();
          const rows = await listEnrolled(store.reader, organization.organizationId, after);
          const reportedBefore = isoTime(nowMs - GAP_MS);
          const unreported = rows.filter(
            ({ reported_at: reportedAt }) => reportedAt === null || reportedAt <= reportedBefore,
          );
          await Promise.all(unreported.map((row) => reportRobot(row, organization, nowMs)));
          const last = rows.at(-1);
          if (last === undefined || rows.length < ROWS) break;
          after = last.robot_id;
        }
      }
      await forgetReports(store, "robot", listening);
    },
  };
}

/** Offline once it has been so for a while; online at once. */
function stateOf(row: Row, nowMs: number, context: PresenceContext): "online" | "offline" {
  if (isOnline(row, presenceAt(nowMs, context))) return "online";
  const isRecent = row.state === "online" && isOnline(row, presenceAt(nowMs - OFFLINE_SLACK_MS, context));
  return isRecent ? "online" : "offline";
}

/**
 * Robots with a live installation, in the order of their ids. With a condition on what was reported, PostgreSQL expects few robots, and for each
 * page reads all that follow.
 */
export function listEnrolled(reader: Reader, organizationId: string, after: string): Promise<readonly Row[]> {
  return reader
    .selectFrom("robots")
    .innerJoin("installations", "installations.id", "robots.installation_id")
    .leftJoin("reported_states", "reported_states.subject_id", "robots.id")
    .select(["robots.id as robot_id", "robots.name", "reported_states.state", "reported_at"])
    .select("installations.id as installation_id")
    .select(LIVE_COLUMNS)
    .where("robots.organization_id", "=", organizationId)
    .where("robots.removed_at", "is", null)
    .where("robots.id", ">", after)
    .orderBy("robots.id")
    .limit(ROWS)
    .execute();
}

/** Heartbeats that this replica accepted. They are in memory first: a crash loses at most the last second of them. */
export interface Liveness {
  /** Notes a heartbeat that arrives now. */
  note(installationId: string, heartbeat: Heartbeat, address: string): void;
  /** The last heartbeat that this replica noted. Undefined if the store has a later one (ISO 8601), which another replica heard. */
  seen(installationId: string, storedAt: string | null): Seen | undefined;
  /** Changes when what `seen` says differs from the store in more than a time; part of the key of cached lists. */
  readonly revision: number;
  /** Writes what was noted, at most once a second for all robots. */
  readonly task: Task;
  /** Writes everything noted. @throws StoreUnavailableError. */
  flush(): Promise<void>;
}

/** The last heartbeat of an installation. */
export interface Seen {
  /** ISO 8601. */
  readonly at: string;
  readonly readiness: Heartbeat["readiness"];
  readonly reason: string | null;
  readonly address: string;
  /** A robot may say these only when they change, to one replica. Null once written: the store has the latest word of all replicas. */
  readonly runtimeVersion: string | null;
  readonly manifestDigest: string | null;
}

interface Noted extends Seen {
  /** When a heartbeat was last written to the store, by the monotonic clock. */
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
        address,
        runtimeVersion: version ?? before?.runtimeVersion ?? null,
        manifestDigest: digest ?? before?.manifestDigest ?? null,
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

/** The versions of `latest` without those that were written. Written again later, they would undo what another replica heard since. */
function unwritten(latest: Seen, written: Seen): Pick<Seen, "runtimeVersion" | "manifestDigest"> {
  return {
    runtimeVersion: latest.runtimeVersion === written.runtimeVersion ? null : latest.runtimeVersion,
    manifestDigest: latest.manifestDigest === written.manifestDigest ? null : latest.manifestDigest,
  };
}

function saysTheSame(one: Noted, other: Noted): boolean {
  return one.readiness === other.readiness && one.reason === other.reason && one.address === other.address;
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
