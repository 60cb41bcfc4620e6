import { describe, expect, it } from "vitest";

import { enrolmentText, renewalText } from "../../../src/api/wire/signed-texts.ts";
import { isSignedBy, keyFingerprint, readPublicKey } from "../../../src/platform/ed25519.ts";
import { hashSecret } from "../../../src/service/kernel/auth/token.ts";

/** Test vectors of the enrolment protocol; the key is that of test 1 of RFC 8032, 7.1. */
const KEY = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo";
const VECTORS = [
  {
    name: "poll",
    text: enrolmentText("renr_0123456789ab", "Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4"),
    bytes: 76,
    sha256: "78cc271b8487a78ac2ffdfb5e0509275b3ff3b313649dc1a1a1977c2c1b843d2",
    signature: "8kTZC6UbRvrEcNNSEunkcf757fXCpo58Ih3icM-KCtJ9M62qQlEOhbK8k8VBHHRR34_nSwywye2H65l7qEeFCw",
  },
  {
    name: "renewal",
    text: renewalText("rinst_0123456789ab", "bm9uY2Utbm9uY2Utbm9uY2Utbm9uY2Ut"),
    bytes: 83,
    sha256: "3375d27153d1ebd80eb618986d958a34a07b5161fc723ceef0d4cef81aa7fcd8",
    signature: "FbuZ9RZ1n1rzWCWAje9n-M10iSb99SL38lXAueUCFPYmaPKeVAFzGrzBm813Uva8y2Hi4MtFxC8MQagTgGWSCg",
  },
];

describe.each(VECTORS)("the signed text of a $name", ({ text, bytes, sha256, signature }) => {
  it("same bytes as the protocol", () => {
    expect({ bytes: Buffer.byteLength(text), sha256: hashSecret(text) }).toEqual({ bytes, sha256 });
  });

  it("signature with or without padding → valid", () => {
    expect(isSignedBy(KEY, text, signature)).toBe(true);
    expect(isSignedBy(KEY, text, `${signature}==`)).toBe(true);
  });

  it.each([
    ["another text", `${text}.`, signature],
    ["a changed signature", text, `A${signature.slice(1)}`],
    ["a short signature", text, signature.slice(0, -4)],
    ["a base64 character that base64url lacks", text, `/${signature.slice(1)}`],
    ["incomplete padding", text, `${signature}=`],
    ["nothing", text, ""],
  ])("%s → refused", (_title, other, signed) => {
    expect(isSignedBy(KEY, other, signed)).toBe(false);
  });
});

describe("readPublicKey", () => {
  it("32 bytes in base64url, with or without padding → accepted", () => {
    expect([readPublicKey(KEY), readPublicKey(`${KEY}=`)]).toEqual([KEY, KEY]);
  });

  it.each([`${KEY}==`, KEY.slice(1), `${KEY}A`, KEY.replace("_", "/"), `${KEY.slice(0, -1)}p`, ` ${KEY.slice(1)}`])(
    "refuses %j",
    (text) => {
      expect(readPublicKey(text)).toBe(null);
    },
  );

  it("fingerprint → same as OpenSSH's", () => {
    expect(keyFingerprint(KEY)).toBe("SHA256:If4x36FUomFia/hUBG/SJxt77UtqvkWqWId+9H+XIbk");
  });
});
