import { isoTime } from "../../../platform/clock.ts";
import { errorCode } from "../../../platform/files/files.ts";
import type { ServiceMachine } from "../machine.ts";
import type { Metrics } from "../metrics.ts";
import type { Task } from "../tasks/task.ts";
import type { Listener } from "./listener.ts";
import { type CertificatePair, readCertificatePair, type TlsFiles } from "./tls.ts";

/** Certificates are usually renewed weeks ahead; with less time left, renewal has probably failed. */
const WARN_BEFORE_MS = 14 * 24 * 3_600_000;

/** The certificate in use, and how it is replaced. */
export interface Certificate {
  /** Loads the files. If they cannot be used, the old certificate stays in use, and the log says why. */
  reload(): Promise<void>;
  /** Reloads when the files have changed. The first run always reloads, because they may have changed while the service started. */
  readonly task: Task;
}

export function createCertificate(
  tls: TlsFiles,
  initial: CertificatePair,
  { listener, metrics, machine, checkMs }: CertificateSurroundings,
): Certificate {
  const { clock, files, log } = machine;
  let inForce = initial.fingerprint256;
  /** Result of `look` before the last read of the files. */
  let seen: string | null = null;

  /** Changes with the files, and with symbolic links on their path. */
  async function look(): Promise<string> {
    const versions = [tls.certFile, tls.keyFile].map(async (path) => {
      try {
        const { device, inode, sizeBytes, mtimeNs, ctimeNs } = await files.stat(path);
        return `${device}:${inode} ${sizeBytes} ${mtimeNs} ${ctimeNs}`;
      } catch (error) {
        return errorCode(error) ?? "UNKNOWN";
      }
    });
    return (await Promise.all(versions)).join("\n");
  }

  async function reload(): Promise<void> {
    seen = await look();
    const nowMs = clock.wallMs();
    const reading = await readCertificatePair(files, tls, nowMs);
    switch (reading.state) {
      case "refused": {
        const { code, what, where, fix } = reading.problem;
        log.error("tls_reload_refused", { code, reason: what, path: where, fix, in_force: inForce });
        return;
      }
      case "read":
        listener.setCertificate(reading.pair);
        if (reading.pair.fingerprint256 !== inForce)
          log.info("tls_reloaded", { fingerprint: reading.pair.fingerprint256 });
        inForce = reading.pair.fingerprint256;
        tell(reading.pair, nowMs);
    }
  }

  function tell({ validFromMs, validToMs }: CertificatePair, nowMs: number): void {
    metrics.certificateEnds(validToMs / 1000);
    const path = tls.certFile;
    if (validFromMs > nowMs) {
      const fix = "if it should be, set the clock of this machine";
      log.warn("tls_certificate_not_valid_yet", { path, valid_from: isoTime(validFromMs), fix });
    } else if (validToMs - nowMs < WARN_BEFORE_MS) {
      log.warn("tls_certificate_expires_soon", { path, expires_at: isoTime(validToMs), fix: "have it renewed" });
    }
  }

  return {
    reload,
    task: {
      name: "reload-certificate",
      intervalMs: checkMs,
      async run() {
        if ((await look()) !== seen) await reload();
      },
    },
  };
}

export interface CertificateSurroundings {
  readonly listener: Listener;
  readonly metrics: Metrics;
  readonly machine: Pick<ServiceMachine, "clock" | "files" | "log">;
  /** How often the files are checked for changes. */
  readonly checkMs: number;
}
