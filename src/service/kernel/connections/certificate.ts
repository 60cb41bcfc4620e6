import { isoTime } from "../../../platform/clock.ts";
import type { ServiceMachine } from "../machine.ts";
import type { Metrics } from "../metrics.ts";
import type { Listener } from "./listener.ts";
import { type CertificatePair, readCertificatePair, type TlsFiles } from "./tls.ts";

/** Certificates are usually renewed weeks ahead; with less time left, renewal has probably failed. */
const WARN_BEFORE_MS = 14 * 24 * 3_600_000;

export interface CertificateSurroundings {
  readonly listener: Listener;
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
