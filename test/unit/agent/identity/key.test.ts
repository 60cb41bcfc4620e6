/** Test vectors of the protocol. */
import { expect, test } from "vitest";

import { signPoll } from "../../../../src/agent/identity/key.ts";
import { renewalText } from "../../../../src/api/wire/signed-texts.ts";
import { keyFingerprint, signingKey } from "../../../../src/platform/ed25519.ts";

const SEED = "nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A";
const PUBLIC_KEY = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo";
const RENEWAL_SIGNATURE = "FbuZ9RZ1n1rzWCWAje9n-M10iSb99SL38lXAueUCFPYmaPKeVAFzGrzBm813Uva8y2Hi4MtFxC8MQagTgGWSCg";

test("signingKey: test vectors → public key, fingerprint and signatures of the protocol", () => {
  const key = signingKey(Buffer.from(SEED, "base64url"));
  expect(key.publicKey).toBe(PUBLIC_KEY);
  expect(keyFingerprint(PUBLIC_KEY)).toBe("SHA256:If4x36FUomFia/hUBG/SJxt77UtqvkWqWId+9H+XIbk");
  const text = renewalText("rinst_0123456789ab", "bm9uY2Utbm9uY2Utbm9uY2Utbm9uY2Ut");
  expect(key.sign(text)).toBe(RENEWAL_SIGNATURE);
});

test("signPoll: signs approval id and poll token", () => {
  const key = { service_url: "https://x", machine: null, public_key: PUBLIC_KEY, seed: SEED, made_at: "" };
  const enrolment = {
    public_key: PUBLIC_KEY,
    approval_id: "renr_0123456789ab",
    poll_token: "Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4",
    user_code: "ABCD-EFGH",
    expires_at: "",
    interval_s: 5,
  };
  expect(signPoll(key, enrolment).signature).toBe(
    "8kTZC6UbRvrEcNNSEunkcf757fXCpo58Ih3icM-KCtJ9M62qQlEOhbK8k8VBHHRR34_nSwywye2H65l7qEeFCw",
  );
});
