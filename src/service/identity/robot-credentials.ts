/** The credentials of robots at the gate: whose one is, whether it is good, and what its use shows. */
import { sql } from "kysely";

import { ROBOT_SCOPE } from "../../api/wire/scopes.ts";
import { isoNow } from "../../platform/clock.ts";
import type { CredentialRefusal } from "../kernel/auth/authenticate.ts";
import { hashSecret, isToken, ROBOT_TOKEN_PREFIX } from "../kernel/auth/token.ts";
import type { RobotCredentials } from "../kernel/http/gate.ts";
import type { OperationContext } from "../kernel/operation.ts";
import { audit, type Authorship } from "../kernel/store/audit.ts";
import { prepare } from "../kernel/store/prepared.ts";
import type { Transaction } from "../kernel/store/store.ts";
import type { Tables } from "../kernel/store/tables.ts";
import { announce } from "../webhooks/index.ts";
import { markUsed } from "./credentials.ts";
import { consumeEnrolment } from "./enrolments.ts";
import type { Liveness } from "./liveness.ts";
import { type IdentitySettings, type InstallationRow, lockInstallation, updateInstallation } from "./installations.ts";

export interface InstallationContext extends Pick<OperationContext, "store" | "newId" | "machine"> {
  readonly liveness: Pick<Liveness, "note" | "seen" | "revision">;
  readonly identity: IdentitySettings;
}

export function createRobotCredentials(context: InstallationContext): RobotCredentials {
  const { store, newId, machine, identity } = context;
  return {
    async authenticate(token) {
      const [found] = isToken(ROBOT_TOKEN_PREFIX, token)
        ? await selectByHash(store.lookup, { hash: hashSecret(token) })
        : [];
      if (found === undefined) {
        return { state: "unauthorized", detail: UNKNOWN.detail, owner: null, robot: UNKNOWN };
      }
      const { organization_id: organizationId, installation_id: credentialId, robot_name: name } = found;
      const owner = { organizationId, credentialId };
      const refusal = credentialRefusal(found, isoNow(machine.clock));
      if (refusal !== null) return { state: "unauthorized", detail: refusal.detail, owner, robot: refusal };
      const principal = {
        ...owner,
        credential: "robot",
        keyId: credentialId,
        scopes: [ROBOT_SCOPE],
        robots: { names: [name], maximum: null },
        expiresAt: found.expires_at,
        robot: { id: found.robot_id, name, credential: found },
      } as const;
      return { state: "authenticated", principal };
    },
    async firstUsed({ token_sha256: tokenSha256, installation_id: id }) {
      const at = isoNow(machine.clock);
      await store.write(async (transaction) => {
        if (await markUsed(transaction, tokenSha256, id, at)) await consumeEnrolment(transaction, id);
      });
    },
    async copyReported({ organizationId, credentialId: id }, address) {
      const at = isoNow(machine.clock);
      const author = { auditId: newId("aud"), at, organizationId, actor: id, requestId: null };
      const copied = await store.write(async (transaction) => {
        const installation = await lockInstallation(transaction, organizationId, id);
        if (installation?.state !== "active") return { state: installation?.state, found: null };
        if (identity.copiedKey === "warn") return { state: "active", found: installation };
        await freeze(context, transaction, installation, address, author);
        return { state: "frozen", found: installation };
      });
      if (copied.found !== null) logCopied(context, copied.found, address);
      return copied.state === "frozen" ? FROZEN : SUPERSEDED;
    },
  };
}

const selectByHash = prepare<{ readonly hash: string }, RobotCredentialRow>((database, parameter) =>
  database
    .selectFrom("robot_credentials as credential")
    .innerJoin("installations as installation", "installation.id", "credential.installation_id")
    .innerJoin("robots as robot", "robot.id", "installation.robot_id")
    .select([
      "credential.token_sha256",
      "credential.organization_id",
      "credential.installation_id",
      "credential.generation",
      "credential.standing",
      "credential.expires_at",
      "credential.renew_at",
      "credential.grace_until",
      "credential.used_at",
      "installation.robot_id",
      "installation.state",
      "robot.name as robot_name",
      sql<number | boolean>`credential.displaced_by is not null and exists (
        select 1 from robot_credentials as newer
        where newer.installation_id = credential.installation_id
        and newer.generation >= credential.displaced_by and newer.used_at is not null)`.as("is_copied"),
    ])
    .where("credential.token_sha256", "=", parameter("hash")),
);

/** A robot's credential with what its use depends on. */
type RobotCredentialRow = Omit<Tables["robot_credentials"], "issued_at" | "displaced_by"> & {
  readonly robot_id: string;
  readonly robot_name: string;
  readonly state: InstallationRow["state"];
  /** Whether a value that displaced this one was used: two computers hold the key. PostgreSQL answers with a boolean, SQLite with a number. */
  readonly is_copied: number | boolean;
};

/** Why a credential cannot be used at `now` (ISO 8601); null if it can. */
function credentialRefusal(credential: RobotCredentialRow, now: string): CredentialRefusal | null {
  const { state, standing, expires_at: expiresAt, grace_until: graceUntil, is_copied: isCopied } = credential;
  if (state === "revoked") return REVOKED;
  if (state === "frozen") return FROZEN;
  if (standing === "displaced" && Boolean(isCopied)) return { ...SUPERSEDED, isCopied: true };
  if (expiresAt <= now) return EXPIRED;
  const isGood = standing === "newest" || (standing === "previous" && graceUntil !== null && graceUntil > now);
  return isGood ? null : SUPERSEDED;
}

const UNKNOWN: CredentialRefusal = {
  code: "Unauthorized",
  reason: "credential_unknown",
  detail: "The service does not know this credential; renew it, or enroll the robot again",
};

/** Also the answer to a renewal. Names the causes of a false alarm. */
export const FROZEN: CredentialRefusal = {
  code: "Forbidden",
  reason: "installation_frozen",
  detail:
    "The key of this robot is in use on two computers, so the service stopped both: enroll the right one again with a new key. If there is only one computer (two agents started on it, or its disk was set back and then forward), an operator can thaw the robot",
};

const REVOKED: CredentialRefusal = {
  code: "Unauthorized",
  reason: "installation_revoked",
  detail: "The robot was removed, or another computer took its place; enroll this computer again",
};

const EXPIRED: CredentialRefusal = {
  code: "Unauthorized",
  reason: "credential_expired",
  detail: "The credential of this robot has expired; renew it",
};

const SUPERSEDED: CredentialRefusal = {
  code: "Unauthorized",
  reason: "credential_superseded",
  detail: "A newer credential was issued to this robot; use that one, or renew",
};

/** Stops an installation whose key two computers hold. Call `logCopied` once that is committed. */
export async function freeze(
  { liveness, newId }: Pick<InstallationContext, "liveness" | "newId">,
  transaction: Transaction,
  installation: InstallationRow,
  address: string,
  author: Authorship,
): Promise<void> {
  const { id, organization_id: organizationId, robot_id: robotId } = installation;
  await updateInstallation(transaction, id, { state: "frozen" });
  const addresses = { installation_id: id, address, other_address: lastAddress(liveness, installation) };
  await audit(transaction, author, { action: "installation.freeze", subjectId: robotId, details: addresses });
  const data = async () => {
    const robot = transaction.selectFrom("robots").select("name").where("id", "=", robotId);
    const { name } = await robot.executeTakeFirstOrThrow();
    return { robot_id: robotId, name, ...addresses };
  };
  await announce(transaction, { newId }, { organizationId, type: "robot.frozen", at: author.at, data });
}

/** Logs that two computers hold the key of an installation, with both their addresses. */
export function logCopied(
  { machine, identity, liveness }: Pick<InstallationContext, "machine" | "identity" | "liveness">,
  installation: InstallationRow,
  address: string,
): void {
  machine.log.warn(identity.copiedKey === "freeze" ? "installation_frozen" : "installation_copied", {
    robot_id: installation.robot_id,
    installation_id: installation.id,
    address,
    other_address: lastAddress(liveness, installation),
  });
}

function lastAddress(liveness: InstallationContext["liveness"], installation: InstallationRow): string | null {
  return liveness.seen(installation.id, installation.last_seen_at)?.address ?? installation.last_address;
}
