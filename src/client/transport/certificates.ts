import { X509Certificate } from "node:crypto";
import { getCACertificates } from "node:tls";

import type { Clock } from "../../platform/clock.ts";
import { readBounded } from "../../platform/files/durable-file.ts";
import { errorCode, type Files, type FileStat, sameStat } from "../../platform/files/files.ts";
import { TransportError } from "./transport.ts";

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

/** Timestamps of files may be this coarse, so a file that changed later may change again without another stat (NFS, FAT). */
const SETTLED_AFTER_MS = 2000;

/**
 * Reads the certificates of the CA file for each connection, and only its stat while it stays as it is: a heartbeat each 30 s would
 * otherwise wake a thread four times to open, stat, read and close it.
 *
 * @returns a function that throws TransportError.
 */
export function createAuthorities(
  files: Files,
  caFile: string | null,
  clock: Pick<Clock, "monotonicMs">,
): () => Promise<readonly string[]> {
  if (caFile === null) return async () => [];
  let known: { readonly stat: FileStat; readonly sinceMs: number } | null = null;
  /** As read when the file had settled. */
  let settled: readonly string[] | null = null;

  return async () => {
    const nowMs = clock.monotonicMs();
    const stat = await statOf(files, caFile);
    if (stat === null || known === null || !sameStat(stat, known.stat)) {
      known = stat === null ? null : { stat, sinceMs: nowMs };
      settled = null;
    }
    if (settled !== null) return settled;
    const result = await readCaFile(files, caFile);
    if (result.kind === "ca-problem") throw new TransportError("tls", result.code, result.what);
    if (known !== null && nowMs - known.sinceMs >= SETTLED_AFTER_MS) settled = result.certificates;
    return result.certificates;
  };
}

/** Null where there is no such file: to read it tells why. */
async function statOf(files: Files, path: string): Promise<FileStat | null> {
  try {
    return await files.stat(path);
  } catch (error) {
    if (errorCode(error) === undefined) throw error;
    return null;
  }
}
