import { FLEET_STATUSES } from "../../api/fleets.ts";
import type { EventType } from "../../api/wire/event-types.ts";
import { isoTime } from "../../platform/clock.ts";
import type { KindCount } from "../kernel/metrics.ts";
import type { OperationContext } from "../kernel/operation.ts";
import { type Reader, readSnapshot } from "../kernel/store/store.ts";
import type { Task } from "../kernel/tasks/task-loop.ts";
import { forgetReports, type Listening, listListening, report } from "../webhooks/index.ts";
import { FLEETS_AT_A_TIME, listFleetFacts } from "./queries.ts";
import { assessFleet } from "./readiness/assessment.ts";
import { deriveFleet } from "./readiness/derive-fleet.ts";
import type { FleetFacts } from "./readiness/fleet-facts.ts";

const INTERVAL_MS = 5_000;
/** A run derives the fleets of organizations with such webhooks, and rests ten times as long as it took. */
const REST_RATIO = 10;

/** The states that are told; that a fleet prepares is only noted. */
const EVENTS: ReadonlyMap<string, EventType> = new Map([
  ["ready", "fleet.ready"],
  ["degraded", "fleet.degraded"],
  ["blocked", "fleet.blocked"],
]);

/** Announces fleets whose status changed. Of fleets from before the webhook listened, the status found first is only noted. */
export function createReportFleets(context: ReportContext): Task {
  const { store, machine } = context;
  return {
    name: "report-fleets",
    intervalMs: INTERVAL_MS,
    restRatio: REST_RATIO,
    async run(signal) {
      const listening = await listListening(store.reader, [...EVENTS.values()]);
      for (const organization of listening) {
        for await (const fleets of fleetsOf(store.reader, organization.organizationId)) {
          const told = await findReported(store.reader, fleets);
          for (const facts of fleets) {
            if (signal.aborted) return;
            await reportFleet(context, facts, organization, told.get(facts.id) ?? null, machine.clock.wallMs());
          }
        }
      }
      await forgetReports(store, "fleet", listening);
    },
  };
}

/** All fleets of an organization, a few at a time: each has up to a thousand members. */
async function* fleetsOf(reader: Reader, organizationId: string): AsyncIterable<readonly FleetFacts[]> {
  for (let after: string | null | undefined = null; after !== undefined;) {
    const range = { after, rows: FLEETS_AT_A_TIME };
    const fleets: readonly FleetFacts[] = await readSnapshot(reader, (snapshot) =>
      listFleetFacts(snapshot, organizationId, range),
    );
    yield fleets;
    after = fleets.length < FLEETS_AT_A_TIME ? undefined : fleets.at(-1)?.id;
  }
}

/** The fleets of all organizations, by their status. */
export async function countFleets(reader: Reader, nowMs: number): Promise<readonly KindCount[]> {
  const counts = new Map<string, number>(FLEET_STATUSES.map((status) => [status, 0]));
  const owners = reader.selectFrom("fleets").select("organization_id").distinct().where("removed_at", "is", null);
  for (const { organization_id: organizationId } of await owners.execute()) {
    for await (const fleets of fleetsOf(reader, organizationId)) {
      for (const facts of fleets) {
        const { status } = deriveFleet(assessFleet(facts, nowMs));
        counts.set(status, (counts.get(status) ?? 0) + 1);
      }
    }
  }
  return [...counts].map(([kind, count]) => ({ kind, count }));
}

type ReportContext = Pick<OperationContext, "store" | "machine" | "newId">;

/** The states that webhooks were last told of these fleets. */
async function findReported(reader: Reader, fleets: readonly FleetFacts[]): Promise<ReadonlyMap<string, string>> {
  if (fleets.length === 0) return new Map();
  const ids = fleets.map(({ id }) => id);
  const reported = reader.selectFrom("reported_states").select(["subject_id", "state"]).where("subject_id", "in", ids);
  return new Map((await reported.execute()).map(({ subject_id: id, state }) => [id, state]));
}

async function reportFleet(
  context: ReportContext,
  facts: FleetFacts,
  { organizationId, since }: Listening,
  before: string | null,
  nowMs: number,
): Promise<void> {
  const { id, name, subject, status, blocker } = deriveFleet(assessFleet(facts, nowMs));
  if (status === before) return;
  const type = before === null && facts.created_at < since ? undefined : EVENTS.get(status);
  const change = { subject_id: id, organization_id: organizationId, kind: "fleet", state: status, before } as const;
  const data = () => ({ fleet_id: id, name, subject, status, status_before: before, blocker });
  await report(context, change, isoTime(nowMs), type === undefined ? null : { type, data });
}
