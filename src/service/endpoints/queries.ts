import { isoTime } from "../../platform/clock.ts";
import type { Reader, Transaction } from "../kernel/store/store.ts";
import type { EndpointHealth, Tables } from "../kernel/store/tables.ts";

/** The results of an endpoint's probes. */
export type EndpointFacts = Pick<Tables["endpoints"], "health" | "health_since" | "last_probed_at" | "last_error">;

export interface EndpointKey {
  readonly checkpoint_id: string;
  readonly region: string;
}

/** An endpoint to probe, and its health so far. */
export interface ClaimedEndpoint extends EndpointKey, ServedModel {
  readonly health_url: string;
  readonly health: EndpointHealth;
  readonly contrary_probes: number;
  readonly last_probed_at: string | null;
}

/** Where the health document of an endpoint names its model, and the name of the right one; null where it need not. */
export type ServedModel = Pick<Tables["endpoints"], "model_member" | "model_value">;

/** The claim of one probe on an endpoint, and when endpoints are due. All times are ISO 8601. */
export interface Claim {
  readonly now: string;
  /** Endpoints that were probed later than this are not due. */
  readonly probedBefore: string;
  /** A next probe later than this was scheduled with a wrong clock, and is due. */
  readonly horizon: string;
  /** Who holds the claim. */
  readonly probeId: string;
  /** When the claim expires, in case its holder died. */
  readonly expiresAt: string;
}

/** Whether any endpoint is due. Without a lock, because it is checked every second. */
export async function isAnyEndpointDue(reader: Reader, claim: Claim): Promise<boolean> {
  return (await dueEndpoints(reader, claim).execute()).length > 0;
}

/** Claims the endpoint that has been due longest, skipping those that others are claiming. */
export async function claimEndpoint(transaction: Transaction, claim: Claim): Promise<ClaimedEndpoint | undefined> {
  const endpoint = await dueEndpoints(transaction, claim).forUpdate().skipLocked().executeTakeFirst();
  if (endpoint === undefined) return undefined;
  const claimed = { probe_id: claim.probeId, probe_expires_at: claim.expiresAt };
  await changeOf(transaction, endpoint).set(claimed).execute();
  return endpoint;
}

/**
 * An endpoint that is withdrawn, or whose checkpoint is, is probed as long as a deployment or fleet uses the checkpoint. Times in the future,
 * from a wrong clock, are ignored; otherwise the endpoint would not be probed until then.
 */
function dueEndpoints(reader: Reader, { now, probedBefore, horizon, expiresAt }: Claim) {
  return reader
    .selectFrom("endpoints")
    .select(["checkpoint_id", "region", "health_url", "model_member", "model_value"])
    .select(["health", "contrary_probes", "last_probed_at"])
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
    .where(({ and, or, eb, exists, selectFrom }) =>
      or([
        and([
          eb("endpoints.withdrawn_at", "is", null),
          exists(
            selectFrom("checkpoints")
              .select("checkpoints.id")
              .whereRef("checkpoints.id", "=", "endpoints.checkpoint_id")
              .where("checkpoints.withdrawn_at", "is", null),
          ),
        ]),
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
  return isoTime(Date.parse(time) + CLOCK_DIFFERENCE_MS);
}

/** The result of a probe. */
export interface ProbeOutcome {
  readonly health: EndpointHealth;
  readonly contrary_probes: number;
  readonly isChanged: boolean;
  readonly last_error: string | null;
  readonly probedAt: string;
  readonly next_probe_at: string;
}

/**
 * Writes the result of a probe, and releases the claim. Of probes at the same time, as when a claim expired before its holder came to write,
 * the first one counts: if none did, replicas that are slower than their claims would learn nothing.
 *
 * @returns false if another result was written since the claim, or the catalog changed the endpoint. Then nothing is written.
 */
export async function recordProbe(
  transaction: Transaction,
  endpoint: ClaimedEndpoint,
  { isChanged, probedAt, ...outcome }: ProbeOutcome,
): Promise<boolean> {
  const { numUpdatedRows } = await changeOf(transaction, endpoint)
    .set({
      ...outcome,
      last_probed_at: probedAt,
      ...(isChanged ? { health_since: probedAt } : {}),
      probe_id: null,
      probe_expires_at: null,
    })
    .where("last_probed_at", "is not distinct from", endpoint.last_probed_at)
    .where("health_url", "=", endpoint.health_url)
    .where("model_member", "is not distinct from", endpoint.model_member)
    .where("model_value", "is not distinct from", endpoint.model_value)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

/** Releases a claim without a result. */
export async function releaseEndpoint(transaction: Transaction, endpoint: EndpointKey, probeId: string): Promise<void> {
  const claimed = changeOf(transaction, endpoint).where("probe_id", "=", probeId);
  await claimed.set({ probe_id: null, probe_expires_at: null }).execute();
}

function changeOf(transaction: Transaction, { checkpoint_id: checkpointId, region }: EndpointKey) {
  const endpoints = transaction.updateTable("endpoints").where("checkpoint_id", "=", checkpointId);
  return endpoints.where("region", "=", region);
}

/**
 * Makes every endpoint of a checkpoint due, because it is newly needed. Call it in the transaction that makes it needed, and `nudge` after
 * that.
 *
 * @param laterThan endpoints that are due until then are not changed.
 */
export async function bringProbesForward(
  transaction: Transaction,
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

/** Checkpoints with an endpoint whose next probe is later than `laterThan`. */
export async function checkpointsDueLaterThan(reader: Reader, laterThan: string): Promise<readonly string[]> {
  const query = reader.selectFrom("endpoints").select("checkpoint_id").distinct();
  const rows = await query.where("next_probe_at", ">", laterThan).execute();
  return rows.map(({ checkpoint_id: checkpointId }) => checkpointId);
}
