import { X509Certificate } from "node:crypto";
import { join } from "node:path";
import { getCACertificates } from "node:tls";

import { readBounded } from "../../platform/files/durable-file.ts";
import { errorCode, type Files } from "../../platform/files/files.ts";
import type { Environment } from "./proxy.ts";

/** The bundle of a whole distribution has about 250 KiB. */
const CA_FILE_LIMIT_BYTES = 1_048_576;

const PEM_CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

export type CaFile =
  | { readonly kind: "certificates"; readonly certificates: readonly string[] }
  | { readonly kind: "ca-problem"; readonly code: CaFileProblem; readonly path: string; readonly what: string };

export type CaFileProblem =
  | "CA_FILE_MISSING"
  | "CA_FILE_UNREADABLE"
  | "CA_FILE_TOO_LARGE"
  | "CA_FILE_NOT_PEM"
  | "CA_FILE_PRIVATE_KEY"
  | "CA_FILE_BAD_CERTIFICATE";

/** Reads a PEM file of certificate authorities to trust in addition to the usual ones. Every problem names the path. */
export async function readCaFile(files: Files, path: string): Promise<CaFile> {
  let bytes: Uint8Array | "too-large";
  try {
    bytes = await readBounded(files, path, CA_FILE_LIMIT_BYTES);
  } catch (error) {
    const code = errorCode(error);
    if (code === undefined) throw error;
    if (code === "ENOENT" || code === "ENOTDIR") return problem("CA_FILE_MISSING", path, "it does not exist");
    return problem("CA_FILE_UNREADABLE", path, `it cannot be read (${code})`);
  }
  if (bytes === "too-large")
    return problem("CA_FILE_TOO_LARGE", path, `it is larger than ${CA_FILE_LIMIT_BYTES} bytes`);
  return parse(new TextDecoder().decode(bytes), path);
}

function parse(text: string, path: string): CaFile {
  if (/-----BEGIN [A-Z ]*PRIVATE KEY-----/.test(text)) {
    return problem("CA_FILE_PRIVATE_KEY", path, "it contains a private key; give only the certificate");
  }
  const certificates = text.match(PEM_CERTIFICATE) ?? [];
  const begun = text.split("-----BEGIN CERTIFICATE-----").length - 1;
  if (begun === 0) return problem("CA_FILE_NOT_PEM", path, "it contains no PEM certificate");
  if (begun !== certificates.length) return problem("CA_FILE_BAD_CERTIFICATE", path, "a certificate in it is cut off");
  const bad = certificates.findIndex((pem) => !isCertificate(pem));
  if (bad !== -1) return problem("CA_FILE_BAD_CERTIFICATE", path, `certificate ${bad + 1} in it is damaged`);
  return { kind: "certificates", certificates };
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).raw.byteLength > 0;
  } catch {
    return false;
  }
}

function problem(code: CaFileProblem, path: string, why: string): CaFile {
  return { kind: "ca-problem", code, path, what: `Cannot use CA file ${path}: ${why}` };
}

/**
 * The trusted certificates: Node's own (with NODE_EXTRA_CA_CERTS) and these. Undefined means only Node's own, which Node keeps parsed.
 */
export function trustedCertificates(extra: readonly string[]): string[] | undefined {
  return extra.length === 0 ? undefined : [...new Set([...getCACertificates("default"), ...extra])];
}

/** A folder of a distribution has a few hundred files. */
const STORE_LIMIT = 4096;

/**
 * The certificates in the system's store, which has a folder and a file, as OpenSSL names them. What cannot be read is left out. Node's
 * getCACertificates("system") reads the store once in a process, so it does not know an authority that was put there later.
 */
export async function systemCertificates(files: Files, environment: Environment): Promise<readonly string[]> {
  const { SSL_CERT_DIR: folder = "/etc/ssl/certs", SSL_CERT_FILE: file = "/etc/ssl/cert.pem" } = environment;
  const names = await files.list(folder).catch(() => []);
  const found = new Set<string>();
  for (const path of [file, ...names.slice(0, STORE_LIMIT).map((name) => join(folder, name))]) {
    const bytes = await readBounded(files, path, CA_FILE_LIMIT_BYTES).catch(() => null);
    if (bytes === null || bytes === "too-large") continue;
    for (const pem of new TextDecoder().decode(bytes).match(PEM_CERTIFICATE) ?? []) found.add(pem);
  }
  return [...found].filter(isCertificate);
}
