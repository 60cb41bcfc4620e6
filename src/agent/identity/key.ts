import type { EnrolmentPoll } from "../../api/enrolments.ts";
import type { Renewal } from "../../api/installations.ts";
import { enrolmentText, renewalText } from "../../api/wire/signed-texts.ts";
import { isoTime } from "../../platform/clock.ts";
import { SEED_BYTES, signingKey } from "../../platform/ed25519.ts";
import type { Random } from "../../platform/random.ts";
import type { EnrolmentRecord, KeyRecord, RobotBefore } from "./identity-files.ts";

const NONCE_BYTES = 24;

/** A new key pair of this computer. */
export function createKey(
  random: Random,
  serviceUrl: string,
  machine: string | null,
  wallMs: number,
  before: RobotBefore | null = null,
): KeyRecord {
  const seed = random.bytes(SEED_BYTES);
  return {
    service_url: serviceUrl,
    machine,
    public_key: signingKey(seed).publicKey,
    seed: Buffer.from(seed).toString("base64url"),
    made_at: isoTime(wallMs),
    before,
  };
}

export function signPoll(key: KeyRecord, enrolment: EnrolmentRecord): EnrolmentPoll {
  const { approval_id: approvalId, poll_token: pollToken } = enrolment;
  return { approval_id: approvalId, poll_token: pollToken, signature: sign(key, enrolmentText(approvalId, pollToken)) };
}

/** Each renewal needs a nonce that was never used. */
export function signRenewal(key: KeyRecord, installationId: string, random: Random): Renewal {
  const nonce = Buffer.from(random.bytes(NONCE_BYTES)).toString("base64url");
  return { public_key: key.public_key, nonce, signature: sign(key, renewalText(installationId, nonce)) };
}

function sign({ seed }: KeyRecord, text: string): string {
  return signingKey(Buffer.from(seed, "base64url")).sign(text);
}
