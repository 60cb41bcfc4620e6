import type { Transaction } from "kysely";

import type { Reader } from "../kernel/store/store.ts";
import type { EndpointHealth, Tables } from "../kernel/store/tables.ts";

/** What tells endpoints apart. */
export interface EndpointKey {
  readonly checkpoint_id: string;
  readonly region: string;
}

/** An endpoint that is to be probed, and what is known of it so far. */
export interface ClaimedEndpoint extends EndpointKey {
  readonly health_url: string;
  readonly health: EndpointHealth;
  readonly contrary_probes: number;
}

/** When endpoints are due, and who holds a claim on them. All times are ISO 8601. */
export interface Claim {
  readonly now: string;
  /** Endpoints probed after this are left alone, whatever else says that they are due. */
  readonly probedBefore: string;
  /** A next probe later than this was set by a clock that ran ahead, and counts as due. */
  readonly horizon: string;
  /** Fencing: only the holder of this id may write the outcome. */
  readonly probeId: string;
  /** A holder that died is given up then. */
  readonly expiresAt: string;
}

/** The regions that the catalog has endpoints in, in their order. */
export async function listRegions(reader: Reader): Promise<readonly string[]> {
  const query = reader.selectFrom("endpoints").select("region").distinct().where("withdrawn_at", "is", null);
  return (await query.orderBy("region").execute()).map(({ region }) => region);
}

/** Whether any endpoint is due. Cheap: it is asked all the time. */
export async function isAnyEndpointDue(reader: Reader, claim: Claim): Promise<boolean> {
  return (await dueEndpoints(reader, claim).execute()).length > 0;
}

/** Takes the endpoint that is due longest, unless others hold all that are. */
export async function claimEndpoint(
  transaction: Transaction<Tables>,
  claim: Claim,
): Promise<ClaimedEndpoint | undefined> {
  const endpoint = await dueEndpoints(transaction, claim).forUpdate().skipLocked().executeTakeFirst();
  if (endpoint === undefined) return undefined;
  await transaction
    .updateTable("endpoints")
    .set({ probe_id: claim.probeId, probe_expires_at: claim.expiresAt })
    .where("checkpoint_id", "=", endpoint.checkpoint_id)
    .where("region", "=", endpoint.region)
    .execute();
  return endpoint;
}

/**
 * A withdrawn endpoint is probed as long as a deployment or fleet uses its checkpoint. Times in the future, from a wrong clock, are
 * ignored; otherwise the endpoint would not be probed until then.
 */
function dueEndpoints(reader: Reader, { now, probedBefore, horizon, expiresAt }: Claim) {
  return reader
    .selectFrom("endpoints")
    .select(["checkpoint_id", "region", "health_url", "health", "contrary_probes"])
    .where((where) => where.or([where("next_probe_at", "<=", now), where("next_probe_at", ">", horizon)]))
    .where(({ or, eb }) =>
      or([
        eb("probe_expires_at", "is", null),
        eb("probe_expires_at", "<=", now),
        eb("probe_expires_at", ">", latest(expiresAt)),
      ]),
    )
    .where(({ or, eb }) =>
      or([
        eb("last_probed_at", "is", null),
        eb("last_probed_at", "<=", probedBefore),
        eb("last_probed_at", ">", latest(now)),
      ]),
    )
    .where(({ or, eb, exists, selectFrom }) =>
      or([
        eb("withdrawn_at", "is", null),
        exists(
          selectFrom("deployments")
            .select("deployments.id")
            .whereRef("deployments.checkpoint_id", "=", "endpoints.checkpoint_id")
            .where("retired_at", "is", null),
        ),
        exists(
          selectFrom("generations")
            .select("generations.id")
            .whereRef("generations.checkpoint_id", "=", "endpoints.checkpoint_id")
            .where("superseded_at", "is", null),
        ),
      ]),
    )
    .orderBy("next_probe_at")
    .limit(1);
}

/** Tolerated difference between the clocks of replicas. */
const CLOCK_DIFFERENCE_MS = 60_000;

function latest(time: string): string {
  return new Date(Date.parse(time) + CLOCK_DIFFERENCE_MS).toISOString();
}

/** What a probe found out. */
export interface ProbeOutcome {
  readonly health: EndpointHealth;
  readonly contrary_probes: number;
  readonly isChanged: boolean;
  readonly last_error: string | null;
  readonly probedAt: string;
  readonly next_probe_at: string;
}

/**
 * Writes the outcome of a probe, and gives the claim back.
 *
 * @returns false where the claim was lost: it expired and another took it, or the catalog changed the endpoint. Nothing is
 * written then.
 */
export async function recordProbe(
  transaction: Transaction<Tables>,
  { checkpoint_id: checkpointId, region, health_url: healthUrl }: ClaimedEndpoint,
  probeId: string,
  { isChanged, probedAt, ...outcome }: ProbeOutcome,
): Promise<boolean> {
  const { numUpdatedRows } = await transaction
    .updateTable("endpoints")
    .set({
      ...outcome,
      last_probed_at: probedAt,
      ...(isChanged ? { health_since: probedAt } : {}),
      probe_id: null,
      probe_expires_at: null,
    })
    .where("checkpoint_id", "=", checkpointId)
    .where("region", "=", region)
    .where("probe_id", "=", probeId)
    .where("health_url", "=", healthUrl)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

/** Gives a claim back without an outcome. */
export async function releaseEndpoint(
  transaction: Transaction<Tables>,
  { checkpoint_id: checkpointId, region }: EndpointKey,
  probeId: string,
): Promise<void> {
  await transaction
    .updateTable("endpoints")
    .set({ probe_id: null, probe_expires_at: null })
    .where("checkpoint_id", "=", checkpointId)
    .where("region", "=", region)
    .where("probe_id", "=", probeId)
    .execute();
}

/**
 * Makes every endpoint of a checkpoint due: something needs it that did not before. To be called in the transaction that
 * makes it so, and `nudge` after it.
 *
 * @param laterThan endpoints that are due by then anyway are left as they are.
 */
export async function bringProbesForward(
  transaction: Transaction<Tables>,
  checkpointId: string,
  now: string,
  laterThan = now,
): Promise<void> {
  await transaction
    .updateTable("endpoints")
    .set({ next_probe_at: now })
    .where("checkpoint_id", "=", checkpointId)
    .where("next_probe_at", ">", laterThan)
    .execute();
}

/** Checkpoints of which some endpoint is not due before `laterThan`. */
export async function checkpointsDueLaterThan(reader: Reader, laterThan: string): Promise<readonly string[]> {
  const query = reader.selectFrom("endpoints").select("checkpoint_id").distinct();
  const rows = await query.where("next_probe_at", ">", laterThan).execute();
  return rows.map(({ checkpoint_id: checkpointId }) => checkpointId);
}
