import { sql } from "kysely";

import type { RefusalReason } from "../../../api/wire/errors.ts";
import { prepare } from "../store/prepared.ts";
import type { Reader } from "../store/store.ts";
import type { Tables } from "../store/tables.ts";

/** A robot's credential with what its use depends on. */
export interface RobotCredentialRow extends Pick<
  Tables["robot_credentials"],
  | "token_sha256"
  | "organization_id"
  | "installation_id"
  | "generation"
  | "standing"
  | "expires_at"
  | "renew_at"
  | "grace_until"
  | "used_at"
> {
  readonly robot_id: string;
  readonly robot_name: string;
  readonly state: Tables["installations"]["state"];
  /** Whether a value that displaced this one was used: two computers hold the key of the installation. */
  readonly is_copied: number | boolean;
}

/** Looks up a credential by its hash, which determines the organization. */
export async function findRobotCredential(
  reader: Reader,
  tokenSha256: string,
): Promise<RobotCredentialRow | undefined> {
  const [row] = await selectByHash(reader, { token_sha256: tokenSha256 });
  return row;
}

const selectByHash = prepare<Pick<RobotCredentialRow, "token_sha256">, RobotCredentialRow>((database, parameter) =>
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
    .where("credential.token_sha256", "=", parameter("token_sha256")),
);

/** Why a robot's credential is refused. `copied`: reporting with it shows that two computers hold the key. */
export interface CredentialRefusal {
  readonly code: "Unauthorized" | "Forbidden";
  readonly reason: RefusalReason;
  /** For the person at the robot. */
  readonly detail: string;
  readonly isCopied?: true;
}

export const CREDENTIAL_UNKNOWN: CredentialRefusal = {
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

/** Why a credential cannot be used at `now` (ISO 8601); null if it can. */
export function credentialRefusal(
  credential: Pick<RobotCredentialRow, "state" | "standing" | "expires_at" | "grace_until" | "is_copied">,
  now: string,
): CredentialRefusal | null {
  if (credential.state === "revoked") return REVOKED;
  if (credential.state === "frozen") return FROZEN;
  // PostgreSQL answers with a boolean, SQLite with a number.
  if (credential.standing === "displaced" && Boolean(credential.is_copied)) return { ...SUPERSEDED, isCopied: true };
  if (credential.expires_at <= now) return EXPIRED;
  switch (credential.standing) {
    case "newest":
      return null;
    case "previous":
      return credential.grace_until !== null && credential.grace_until > now ? null : SUPERSEDED;
    case "displaced":
    case "superseded":
      return SUPERSEDED;
  }
}
