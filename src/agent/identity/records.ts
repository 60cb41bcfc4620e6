/** What the files of the identity hold. Each names the key that it belongs to, so that files of different enrolments are never mixed. */
import { isObject } from "../../platform/is-object.ts";

/** The key pair that this computer made, and where it may be used. */
export interface KeyRecord {
  readonly service_url: string;
  /** The machine that made it; null where it has no id. */
  readonly machine: string | null;
  readonly public_key: string;
  /** The private key (RFC 8032), 32 bytes in base64url. */
  readonly seed: string;
  readonly made_at: string;
}

/** An enrolment that waits for an operator. */
export interface EnrolmentRecord {
  readonly public_key: string;
  readonly approval_id: string;
  readonly poll_token: string;
  readonly user_code: string;
  readonly expires_at: string;
  readonly interval_s: number;
}

/** What the service issued. Its times are the service's; `issued_at` is this machine's, which may be wrong. */
export interface CredentialRecord {
  readonly public_key: string;
  readonly robot_id: string;
  /** As the operator approved it; registrations use this name. */
  readonly robot_name: string;
  /** The operator's region, in place of the one that this computer said; absent or null where they are the same. */
  readonly corrected_region?: { readonly from: string; readonly to: string } | null;
  readonly installation_id: string;
  readonly installation_token: string;
  readonly credential_expires_at: string;
  readonly renew_after_s: number;
  readonly issued_at: string;
}

/** The robot as an operator approved it. */
export type ApprovedRobot = Pick<CredentialRecord, "robot_id" | "robot_name" | "corrected_region">;

type Check = (member: unknown) => boolean;

const text: Check = (member) => typeof member === "string" && member !== "";
const amount: Check = (member) => typeof member === "number" && member >= 0;
const textOrNull: Check = (member) => member === null || text(member);

const KEY: Readonly<Record<keyof KeyRecord, Check>> = {
  service_url: text,
  machine: textOrNull,
  public_key: text,
  seed: (member) => typeof member === "string" && /^[A-Za-z0-9_-]{43}$/.test(member),
  made_at: text,
};

const ENROLMENT: Readonly<Record<keyof EnrolmentRecord, Check>> = {
  public_key: text,
  approval_id: text,
  poll_token: text,
  user_code: text,
  expires_at: text,
  interval_s: amount,
};

const CREDENTIAL: Readonly<Record<keyof CredentialRecord, Check>> = {
  public_key: text,
  robot_id: text,
  robot_name: text,
  corrected_region: (member) =>
    member === undefined || member === null || (isObject(member) && text(member["from"]) && text(member["to"])),
  installation_id: text,
  installation_token: text,
  credential_expires_at: text,
  renew_after_s: amount,
  issued_at: text,
};

function holds(value: unknown, members: Readonly<Record<string, Check>>): boolean {
  return isObject(value) && Object.entries(members).every(([name, check]) => check(value[name]));
}

export function isKeyRecord(value: unknown): value is KeyRecord {
  return holds(value, KEY);
}

export function isEnrolmentRecord(value: unknown): value is EnrolmentRecord {
  return holds(value, ENROLMENT);
}

export function isCredentialRecord(value: unknown): value is CredentialRecord {
  return holds(value, CREDENTIAL);
}
