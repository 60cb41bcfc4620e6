import { X509Certificate } from "node:crypto";

import { readBounded } from "../../platform/files/durable-file.ts";
import { errorCode, type Files } from "../../platform/files/files.ts";

/** The bundle of a whole distribution has about 250 KiB. */
const CA_FILE_LIMIT_BYTES = 1_048_576;

const PEM_CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

export type CaFile =
  | { readonly kind: "certificates"; readonly certificates: readonly string[] }
  /** `code` begins with CA_FILE_. */
  | { readonly kind: "ca-problem"; readonly code: string; readonly what: string };

/** Reads a PEM file of certificate authorities to trust in addition to the usual ones. Every problem names the path. */
export async function readCaFile(files: Files, path: string): Promise<CaFile> {
  const problem = (code: string, why: string): CaFile => {
    return { kind: "ca-problem", code: `CA_FILE_${code}`, what: `Cannot use CA file ${path}: ${why}` };
  };
  let bytes: Uint8Array | "too-large";
  try {
    bytes = await readBounded(files, path, CA_FILE_LIMIT_BYTES);
  } catch (error) {
    const code = errorCode(error);
    if (code === undefined) throw error;
    if (code === "ENOENT" || code === "ENOTDIR") return problem("MISSING", "it does not exist");
    return problem("UNREADABLE", `it cannot be read (${code})`);
  }
  if (bytes === "too-large") return problem("TOO_LARGE", `it is larger than ${CA_FILE_LIMIT_BYTES} bytes`);
  const text = new TextDecoder().decode(bytes);
  if (/-----BEGIN [A-Z ]*PRIVATE KEY-----/.test(text)) {
    return problem("PRIVATE_KEY", "it contains a private key; give only the certificate");
  }
  const certificates = text.match(PEM_CERTIFICATE) ?? [];
  const begun = text.split("-----BEGIN CERTIFICATE-----").length - 1;
  if (begun === 0) return problem("NOT_PEM", "it contains no PEM certificate");
  if (begun !== certificates.length || !certificates.every(isCertificate)) {
    return problem("BAD_CERTIFICATE", "a certificate in it is cut off or damaged");
  }
  return { kind: "certificates", certificates };
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).raw.byteLength > 0;
  } catch {
    return false;
  }
}
