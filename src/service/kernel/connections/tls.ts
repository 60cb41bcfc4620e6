import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import { createSecureContext } from "node:tls";

import { isoTime } from "../../../platform/clock.ts";
import { readBounded } from "../../../platform/files/durable-file.ts";
import { errorCode, type Files } from "../../../platform/files/files.ts";
import type { Problem } from "../../../platform/terminal.ts";
import type { ServiceMachine } from "../machine.ts";
import type { Metrics } from "../metrics.ts";

/** The certificate, with its chain, and its key: paths of PEM files. */
export interface TlsFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

/** A valid certificate and its key. */
export interface CertificatePair {
  /** PEM, as in the files. */
  readonly cert: string;
  readonly key: string;
  /** Milliseconds since the Unix epoch. */
  readonly validFromMs: number;
  readonly validToMs: number;
  /** SHA-256 fingerprint of the certificate for the log, as OpenSSL prints it: capital letters and colons. */
  readonly fingerprint256: string;
}

export type PairReading =
  | { readonly state: "read"; readonly pair: CertificatePair }
  | { readonly state: "refused"; readonly problem: Problem };

/** Lowest version accepted. */
export const TLS_MINIMUM = "TLSv1.2" as const;
/** AEAD suites with forward secrecy: for TLS 1.2 neither CBC nor RSA key exchange (RFC 9325, 4.2). */
export const TLS_CIPHERS = [
  "TLS_AES_256_GCM_SHA384",
  "TLS_CHACHA20_POLY1305_SHA256",
  "TLS_AES_128_GCM_SHA256",
  "ECDHE-ECDSA-AES256-GCM-SHA384",
  "ECDHE-RSA-AES256-GCM-SHA384",
  "ECDHE-ECDSA-CHACHA20-POLY1305",
  "ECDHE-RSA-CHACHA20-POLY1305",
  "ECDHE-ECDSA-AES128-GCM-SHA256",
  "ECDHE-RSA-AES128-GCM-SHA256",
].join(":");
/** A chain of a few certificates is about 10 KiB. */
const PEM_BYTES_MAXIMUM = 1_048_576;

/**
 * Reads certificate and key, and checks that the certificate matches the key and has not expired.
 *
 * A certificate that is not valid yet is accepted: after a power loss the clock is more likely wrong.
 */
export async function readCertificatePair(
  files: Files,
  { certFile, keyFile }: TlsFiles,
  nowMs: number,
): Promise<PairReading> {
  const cert = await readPem(files, certFile, "certificate");
  if (typeof cert !== "string") return cert;
  const key = await readPem(files, keyFile, "key");
  if (typeof key !== "string") return key;
  const certificate = parseCertificate(cert);
  if (certificate === null) {
    const fix = "name a PEM file that begins with the certificate of this service, its chain after it";
    return refused("tls-certificate-invalid", "the TLS certificate file holds no certificate", certFile, fix);
  }
  const privateKey = parseKey(key);
  if (privateKey === null) {
    const fix = "name a PEM file with the private key, without a passphrase";
    return refused("tls-key-invalid", "the TLS key file holds no private key that can be used", keyFile, fix);
  }
  if (!certificate.checkPrivateKey(privateKey)) {
    const fix = `name the key that ${certFile} was made for`;
    return refused("tls-pair-mismatch", "the TLS key is not that of the certificate", keyFile, fix);
  }
  const [validFromMs, validToMs] = [Date.parse(certificate.validFrom), Date.parse(certificate.validTo)];
  if (validToMs <= nowMs) {
    const what = `the TLS certificate expired on ${isoTime(validToMs)}`;
    const fix = "have it renewed; if it was not to expire yet, set the clock of this machine";
    return refused("tls-certificate-expired", what, certFile, fix);
  }
  const unusable = servingProblem(cert, key);
  if (unusable !== null) {
    const fix = "have a certificate made with a key of today's strength, such as ECDSA P-256 or RSA 2048";
    return refused("tls-pair-unusable", `TLS refuses the certificate: ${unusable}`, certFile, fix);
  }
  return {
    state: "read",
    pair: { cert, key, validFromMs, validToMs, fingerprint256: certificate.fingerprint256 },
  };
}

async function readPem(files: Files, path: string, what: "certificate" | "key"): Promise<string | PairReading> {
  const code = `tls-${what}-unreadable`;
  try {
    const bytes = await readBounded(files, path, PEM_BYTES_MAXIMUM);
    if (bytes !== "too-large") return Buffer.from(bytes).toString("utf8");
    return refused(code, `the TLS ${what} file is larger than 1 MiB`, path, "name a PEM file");
  } catch (error) {
    const reason = errorCode(error);
    if (reason === undefined) throw error;
    const fix =
      reason === "EACCES"
        ? "give this user permission to read it; the unit of systemd gets it by a group, SupplementaryGroups="
        : "name a PEM file that is there";
    return refused(code, `the TLS ${what} file cannot be read (${reason})`, path, fix);
  }
}

/** The first certificate of the file. */
function parseCertificate(pem: string): X509Certificate | null {
  try {
    return new X509Certificate(pem);
  } catch {
    return null;
  }
}

function parseKey(pem: string): KeyObject | null {
  try {
    return createPrivateKey(pem);
  } catch {
    return null;
  }
}

/** Why OpenSSL refuses them: a key that is too short, a damaged chain. */
function servingProblem(cert: string, key: string): string | null {
  try {
    createSecureContext({ cert, key, minVersion: TLS_MINIMUM });
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function refused(code: string, what: string, where: string, fix: string): PairReading {
  return { state: "refused", problem: { code, what, where, fix } };
}

/** Certificates are usually renewed weeks ahead; with less time left, renewal has probably failed. */
const WARN_BEFORE_MS = 14 * 24 * 3_600_000;

export interface CertificateSurroundings {
  readonly listener: { setCertificate(pair: CertificatePair): void };
  readonly metrics: Metrics;
  readonly machine: Pick<ServiceMachine, "clock" | "files" | "log">;
}

/**
 * Tells log and metrics until when the certificate in use is valid.
 *
 * @returns the function that loads the files again. If they cannot be used, the old certificate stays in use, and the log says why.
 */
export function keepCertificate(
  tls: TlsFiles,
  initial: CertificatePair,
  { listener, metrics, machine }: CertificateSurroundings,
): () => Promise<void> {
  const { clock, files, log } = machine;
  let inForce = initial.fingerprint256;

  function tellValidity({ validFromMs, validToMs }: CertificatePair): void {
    const nowMs = clock.wallMs();
    metrics.certificateEnds(validToMs / 1000);
    const path = tls.certFile;
    if (validFromMs > nowMs) {
      const fix = "if it should be, set the clock of this machine";
      log.warn("tls_certificate_not_valid_yet", { path, valid_from: isoTime(validFromMs), fix });
    } else if (validToMs - nowMs < WARN_BEFORE_MS) {
      log.warn("tls_certificate_expires_soon", { path, expires_at: isoTime(validToMs), fix: "have it renewed" });
    }
  }

  tellValidity(initial);
  return async () => {
    const reading = await readCertificatePair(files, tls, clock.wallMs());
    if (reading.state === "refused") {
      const { code, what, where, fix } = reading.problem;
      log.error("tls_reload_refused", { code, reason: what, path: where, fix, in_force: inForce });
      return;
    }
    const { pair } = reading;
    listener.setCertificate(pair);
    if (pair.fingerprint256 !== inForce) log.info("tls_reloaded", { fingerprint: pair.fingerprint256 });
    inForce = pair.fingerprint256;
    tellValidity(pair);
  };
}
