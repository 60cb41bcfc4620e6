import {
  ALLOWED_KEY_DAYS,
  ALLOWED_KEYS_MAXIMUM,
  type AllowedKeysCreate,
  type AllowedKeyView,
} from "../../api/allowed-keys.ts";
import { isoNow, isoTime } from "../../platform/clock.ts";
import type { Principal } from "../kernel/auth/authenticate.ts";
import { keyFingerprint } from "../../platform/ed25519.ts";
import { readPublicKey } from "../kernel/auth/ed25519.ts";
import { answerValue, refuse, refuseInvalid } from "../kernel/http/answers.ts";
import { listHandler } from "../kernel/lists/answer-list.ts";
import { authorship, type Handler, logChange, type OperationContext } from "../kernel/operation.ts";
import { audit } from "../kernel/store/audit.ts";
import { ruleBroken } from "../kernel/validation/finding.ts";
import { addAllowed, type AllowedKeyRow, listAllowed, type ListedKeyRow, removeAllowed } from "./allowed-keys.ts";
import { NOT_OF_KEY } from "./refusals.ts";

const DAY_MS = 24 * 60 * 60 * 1000;
/** `SHA256:` and 32 bytes in base64 without padding, as people see them. */
const FINGERPRINT = /^SHA256:[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]$/;
const UNKNOWN = refuse("NotFound", "Allowed key not found");
const TOO_MANY = refuse(
  "Conflict",
  `The organization has ${ALLOWED_KEYS_MAXIMUM} allowed keys at most; remove those that are used or not needed`,
);

/** `POST /v1/robot-allowed-keys`: a key that is there already is allowed once more. */
export function allowRobotKeys({ newId, machine }: OperationContext): Handler<AllowedKeysCreate> {
  return async (call) => {
    const { organizationId, credentialId, keyId } = call.principal;
    if (isBound(call.principal)) return NOT_OF_KEY;
    const { keys, expires_at: expiresAt } = call.body;
    const fingerprints = keys.map(fingerprintOf);
    const wrong = fingerprints.flatMap((fingerprint, index) => (fingerprint === null ? [index] : []));
    const fault = ruleBroken(
      "neither an Ed25519 public key in base64url (43 characters) nor its fingerprint (SHA256:…)",
    );
    if (wrong.length > 0)
      return refuseInvalid(
        wrong.map((index) => Object.assign({ loc: ["body", "keys", index], input: keys[index] ?? null }, fault)),
      );
    const nowMs = machine.clock.wallMs();
    const at = isoTime(nowMs);
    const until = new Date(expiresAt).toISOString();
    if (until <= at || until > isoTime(nowMs + ALLOWED_KEY_DAYS.maximum * DAY_MS)) {
      const rule = ruleBroken(`keys are allowed until a time in the next ${ALLOWED_KEY_DAYS.maximum} days`);
      return refuseInvalid([{ ...rule, loc: ["body", "expires_at"], input: expiresAt }]);
    }
    const distinct = [...new Set(fingerprints)].filter((fingerprint) => fingerprint !== null);
    const rows = distinct.map((fingerprint): AllowedKeyRow => ({
      id: newId("akey"),
      organization_id: organizationId,
      key_fingerprint: fingerprint,
      created_at: at,
      expires_at: until,
      created_by: credentialId,
      made_by: keyId,
      used_at: null,
      robot_id: null,
    }));
    const author = authorship(call, newId, at);
    const count = rows.length;
    const isAdded = await call.write(async (transaction) => {
      if (!(await addAllowed(transaction, organizationId, rows, ALLOWED_KEYS_MAXIMUM))) return false;
      const details = { count, expires_at: until };
      await audit(transaction, author, { action: "allowed_keys.add", subjectId: organizationId, details });
      return true;
    });
    if (!isAdded) return TOO_MANY;
    logChange(machine, "robot_keys_allowed", author, { count, expires_at: until });
    return answerValue({ added: count, expires_at: until });
  };
}

/** `GET /v1/robot-allowed-keys`: oldest first, used ones too. */
export const listAllowedRobotKeys = listHandler("akey", listAllowed, allowedKeyView);

/** `DELETE /v1/robot-allowed-keys/{allowed_key_id}`: a computer that has its credential keeps it. */
export function removeAllowedRobotKey({ newId, machine }: OperationContext): Handler<null> {
  return async (call) => {
    const { organizationId } = call.principal;
    if (isBound(call.principal)) return NOT_OF_KEY;
    const id = call.path["allowed_key_id"] ?? "";
    const at = isoNow(machine.clock);
    const author = authorship(call, newId, at);
    const removed = await call.write(async (transaction) => {
      const row = await removeAllowed(transaction, organizationId, id);
      if (row === undefined) return false;
      const details = { key_fingerprint: row.key_fingerprint };
      await audit(transaction, author, { action: "allowed_keys.remove", subjectId: id, details });
      return true;
    });
    if (!removed) return UNKNOWN;
    logChange(machine, "robot_key_allowed_no_more", author, { allowed_key_id: id });
    return answerValue({ id, removed_at: at });
  };
}

/** Whether the key may add only some robots, or so many: by the list it would add others, or keep others out. */
function isBound({ robots }: Principal): boolean {
  return robots.names !== null || robots.maximum !== null;
}

function fingerprintOf(written: string): string | null {
  if (FINGERPRINT.test(written)) return written;
  const key = readPublicKey(written);
  return key === null ? null : keyFingerprint(key);
}

function allowedKeyView({ key_expires_at: keyExpiresAt, ...row }: ListedKeyRow): AllowedKeyView {
  return {
    id: row.id,
    key_fingerprint: row.key_fingerprint,
    created_at: row.created_at,
    expires_at: keyExpiresAt !== null && keyExpiresAt < row.expires_at ? keyExpiresAt : row.expires_at,
    allowed_by: { id: row.created_by, label: row.label },
    used_at: row.used_at,
    robot_id: row.robot_id,
    robot: row.robot,
  };
}
