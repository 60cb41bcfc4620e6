/** Tags of the texts that a robot computer signs: opaque constants of the wire, as hex. */
const ENROLMENT_TAG = "736572766f2d726f626f742d656e726f6c6c6d656e742d7631";
const RENEWAL_TAG = "736572766f2d726f626f742d63726564656e7469616c2d72656e65772d7631";

/** What a computer signs to poll for its enrolment. All fields are ASCII without `|`. */
export function enrolmentText(approvalId: string, pollToken: string): string {
  return [decodeTag(ENROLMENT_TAG), approvalId, pollToken].join("|");
}

/** What a computer signs to renew its credential. */
export function renewalText(installationId: string, nonce: string): string {
  return [decodeTag(RENEWAL_TAG), installationId, nonce].join("|");
}

function decodeTag(hex: string): string {
  return Buffer.from(hex, "hex").toString("ascii");
}
