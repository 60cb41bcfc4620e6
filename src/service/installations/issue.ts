import { isoTime } from "../../platform/clock.ts";
import type { ServiceMachine } from "../kernel/machine.ts";
import { createToken, hashSecret, ROBOT_TOKEN_PREFIX } from "../kernel/auth/token.ts";
import type { Transaction } from "../kernel/store/store.ts";
import type { Tables } from "../kernel/store/tables.ts";
import type { IdentitySettings } from "./rules.ts";

/** A credential that is not in the store yet. Made before the transaction, because its job may run twice. */
export interface Draft extends Pick<
  Tables["robot_credentials"],
  "token_sha256" | "issued_at" | "expires_at" | "renew_at"
> {
  /** Only the answer contains it. */
  readonly token: string;
}

/** Robots renew within this part of the lifetime: spread, so that robots which enrolled together do not renew together. */
const RENEWAL = { earliest: 0.5, latest: 0.7 } as const;

export function draftCredential(
  { clock, random }: Pick<ServiceMachine, "clock" | "random">,
  { credentialTtlMs }: IdentitySettings,
): Draft {
  const nowMs = clock.wallMs();
  const token = createToken(ROBOT_TOKEN_PREFIX, random);
  const renewMs = credentialTtlMs * (RENEWAL.earliest + random.unit() * (RENEWAL.latest - RENEWAL.earliest));
  return {
    token,
    token_sha256: hashSecret(token),
    issued_at: isoTime(nowMs),
    expires_at: isoTime(nowMs + credentialTtlMs),
    renew_at: isoTime(nowMs + Math.round(renewMs)),
  };
}

/** A computer that an operator, or a key for enrolments, allows to speak for a robot. */
export interface NewInstallation {
  /** `rinst_…` */
  readonly id: string;
  readonly organizationId: string;
  readonly robotId: string;
  /** Base64url of the raw key, without padding. */
  readonly publicKey: string;
  /** `key_…` or `ses_…`. */
  readonly approvedBy: string;
}

/**
 * Adds an installation with its first credential, and revokes the robot's live one, if any.
 *
 * @returns id of the revoked installation, or null.
 */
export async function install(
  transaction: Transaction,
  { id, organizationId, robotId, publicKey, approvedBy }: NewInstallation,
  draft: Draft,
  settings: IdentitySettings,
): Promise<string | null> {
  const replaced = await revokeInstallationOf(transaction, organizationId, robotId, draft.issued_at);
  await transaction
    .insertInto("installations")
    .values({
      id,
      organization_id: organizationId,
      robot_id: robotId,
      public_key: publicKey,
      state: "active",
      generation: 1,
      enrolled_at: draft.issued_at,
      approved_by: approvedBy,
      revoked_at: null,
      credential_expires_at: draft.expires_at,
      recoveries_remaining: settings.recoveries,
      recovery_until: recoveryEnd(draft.expires_at, settings),
      readiness: null,
      reason: null,
      runtime_version: null,
      manifest_digest: null,
      last_seen_at: null,
      last_address: null,
    })
    .execute();
  await insertCredential(transaction, { organizationId, installationId: id, generation: 1 }, draft);
  await pointRobotTo(transaction, organizationId, robotId, id);
  return replaced;
}

/**
 * A fresh first credential in place of the one whose answer was lost.
 *
 * @returns false once any credential of the installation was used, or the installation is no longer active.
 */
export async function reissue(
  transaction: Transaction,
  organizationId: string,
  installationId: string,
  draft: Draft,
  settings: IdentitySettings,
): Promise<boolean> {
  const installation = await transaction
    .selectFrom("installations")
    .select(["state", "generation"])
    .where("organization_id", "=", organizationId)
    .where("id", "=", installationId)
    .forUpdate()
    .executeTakeFirst();
  if (installation?.state !== "active" || installation.generation !== 1) return false;
  // Locked, so that a first use under way is seen: its value must not be deleted.
  const credentials = await transaction
    .selectFrom("robot_credentials")
    .select("used_at")
    .where("installation_id", "=", installationId)
    .forUpdate()
    .execute();
  if (credentials.some(({ used_at: usedAt }) => usedAt !== null)) return false;
  await transaction.deleteFrom("robot_credentials").where("installation_id", "=", installationId).execute();
  await insertCredential(transaction, { organizationId, installationId, generation: 1 }, draft);
  await transaction
    .updateTable("installations")
    .set({
      credential_expires_at: draft.expires_at,
      recovery_until: recoveryEnd(draft.expires_at, settings),
    })
    .where("id", "=", installationId)
    .execute();
  return true;
}

/** Until when a credential that expires at `expiresAt` (ISO 8601) can be renewed. */
export function recoveryEnd(expiresAt: string, { recoveryWindowMs }: IdentitySettings): string {
  return isoTime(Date.parse(expiresAt) + recoveryWindowMs);
}

/** Revokes the live installation of a robot at `at` (ISO 8601). @returns its id, or null if the robot has none. */
export async function revokeInstallationOf(
  transaction: Transaction,
  organizationId: string,
  robotId: string,
  at: string,
): Promise<string | null> {
  const revoked = await transaction
    .updateTable("installations")
    .set({ state: "revoked", revoked_at: at })
    .where("organization_id", "=", organizationId)
    .where("robot_id", "=", robotId)
    .where("state", "<>", "revoked")
    .returning("id")
    .executeTakeFirst();
  if (revoked !== undefined) await pointRobotTo(transaction, organizationId, robotId, null);
  return revoked?.id ?? null;
}

/** The robot's row has the id of its live installation, so that a registration sees it without a query more. */
async function pointRobotTo(
  transaction: Transaction,
  organizationId: string,
  robotId: string,
  installationId: string | null,
): Promise<void> {
  await transaction
    .updateTable("robots")
    .set({ installation_id: installationId })
    .where("organization_id", "=", organizationId)
    .where("id", "=", robotId)
    .execute();
}

export async function insertCredential(
  transaction: Transaction,
  of: { readonly organizationId: string; readonly installationId: string; readonly generation: number },
  { token: _token, ...draft }: Draft,
): Promise<void> {
  await transaction
    .insertInto("robot_credentials")
    .values({
      ...draft,
      organization_id: of.organizationId,
      installation_id: of.installationId,
      generation: of.generation,
      standing: "newest",
      grace_until: null,
      used_at: null,
      displaced_by: null,
    })
    .execute();
}

/**
 * What an answer at `nowMs` says of a credential. `renew_after_s` counts down to the moment that was fixed when the credential was issued:
 * clients restart their timer with each answer.
 */
export function termsOf(
  { expires_at, renew_at }: Pick<Tables["robot_credentials"], "expires_at" | "renew_at">,
  holder: { readonly robotId: string; readonly installationId: string; readonly generation: number },
  nowMs: number,
) {
  return {
    installation_id: holder.installationId,
    credential_expires_at: expires_at,
    renew_after_s: Math.max(0, Math.floor((Date.parse(renew_at) - nowMs) / 1000)),
    principal: `robot:${holder.robotId}`,
    generation: holder.generation,
  };
}
