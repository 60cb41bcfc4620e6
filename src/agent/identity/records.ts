/** What the files of the identity hold. Each names the key that it belongs to, so that files of different enrolments are never mixed. */
import * as z from "zod";

const name = z.string().min(1);
const amount = z.number().min(0);

export const keySchema = z.object({
  /** Where the key may be used. */
  service_url: name,
  /** The machine that made it; null where it has no id. */
  machine: name.nullable(),
  public_key: name,
  /** The private key (RFC 8032), 32 bytes in base64url. */
  seed: z.string().regex(/^[A-Za-z0-9_-]{43}$/),
  made_at: name,
  /** The robot that this computer was at this service with an earlier key; absent or null for none. */
  before: z.object({ robot_name: name, configured_name: name.nullish() }).nullish(),
});

/** The key pair that this computer made. */
export type KeyRecord = Readonly<z.output<typeof keySchema>>;

export const enrolmentSchema = z.object({
  public_key: name,
  approval_id: name,
  poll_token: name,
  user_code: name,
  expires_at: name,
  interval_s: amount,
  /** What the computer said of its robot; absent or null in a file of an earlier agent. */
  said: name.nullish(),
  /** Why a person has to decide although the computer has a key for enrolments; absent or null for no such reason. */
  waits_because: name.nullish(),
});

/** An enrolment that waits for an operator. */
export type EnrolmentRecord = Readonly<z.output<typeof enrolmentSchema>>;

export const credentialSchema = z.object({
  public_key: name,
  robot_id: name,
  /** As the operator approved it; registrations use this name. */
  robot_name: name,
  /** The operator's region, in place of the one that this computer said; absent or null where they are the same. */
  corrected_region: z.object({ from: name, to: name }).nullish(),
  /** What the approval gave beside what this computer said; for a configuration that has none. Absent or null for nothing. */
  site: name.nullish(),
  labels: z.record(z.string(), z.string()).nullish(),
  /** The name in the configuration at the approval. */
  configured_name: name.nullish(),
  installation_id: name,
  installation_token: name,
  credential_expires_at: name,
  renew_after_s: amount,
  /** By the clock of this machine, which may be wrong; the other times are the service's. */
  issued_at: name,
});

/** What the service issued. */
export type CredentialRecord = Readonly<z.output<typeof credentialSchema>>;
