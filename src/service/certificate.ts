import { errorCode } from "../platform/files.ts";
import type { Listener } from "./http/listener.ts";
import { readCertificatePair } from "./http/tls.ts";
import type { CertificatePair, TlsFiles } from "./http/tls.ts";
import type { ServiceMachine } from "./machine.ts";
import type { Metrics } from "./metrics.ts";
import type { Task } from "./task.ts";

/** Who renews certificates does it weeks ahead; later than this something is amiss. */
const WARN_BEFORE_MS = 14 * 24 * 3_600_000;

/** The certificate in force, and how it is replaced. */
export interface Certificate {
  /** Takes what the files hold now; where it cannot be used the old one stays, and the log says why. */
  reload(): Promise<void>;
  /** Reloads when the files have changed; the first run always does, since they may have while the service started. */
  readonly task: Task;
}

export function createCertificate(
  tls: TlsFiles,
  initial: CertificatePair,
  { listener, metrics, machine, check_ms }: CertificateSurroundings,
): Certificate {
  const { clock, files, log } = machine;
  let in_force = initial.fingerprint256;
  /** What `look` saw before the files were read last. */
  let seen: string | null = null;

  /** Changes with the files, also where a link on the way to them is turned. */
  async function look(): Promise<string> {
    const versions = [tls.cert_file, tls.key_file].map(async (path) => {
      try {
        const { device, inode, size_bytes, mtime_ns, ctime_ns } = await files.stat(path);
        return `${device}:${inode} ${size_bytes} ${mtime_ns} ${ctime_ns}`;
      } catch (error) {
        return errorCode(error) ?? "UNKNOWN";
      }
    });
    return (await Promise.all(versions)).join("\n");
  }

  async function reload(): Promise<void> {
    seen = await look();
    const now_ms = clock.wall_ms();
    const reading = await readCertificatePair(files, tls, now_ms);
    switch (reading.state) {
      case "refused": {
        const { code, what, where, fix } = reading.problem;
        log.error("tls_reload_refused", { code, reason: what, path: where, fix, in_force });
        return;
      }
      case "read":
        listener.setCertificate(reading.pair);
        if (reading.pair.fingerprint256 !== in_force)
          log.info("tls_reloaded", { fingerprint: reading.pair.fingerprint256 });
        in_force = reading.pair.fingerprint256;
        tell(reading.pair, now_ms);
    }
  }

  function tell({ valid_from_ms, valid_to_ms }: CertificatePair, now_ms: number): void {
    metrics.certificateEnds(valid_to_ms / 1000);
    const path = tls.cert_file;
    if (valid_from_ms > now_ms) {
      const fix = "If it should be, set the clock of this machine.";
      log.warn("tls_certificate_not_valid_yet", { path, valid_from: isoOf(valid_from_ms), fix });
    } else if (valid_to_ms - now_ms < WARN_BEFORE_MS) {
      log.warn("tls_certificate_expires_soon", { path, expires_at: isoOf(valid_to_ms), fix: "Have it renewed." });
    }
  }

  return {
    reload,
    task: {
      name: "reload-certificate",
      interval_ms: check_ms,
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
  /** How often the files are looked at. */
  readonly check_ms: number;
}

function isoOf(time_ms: number): string {
  return new Date(time_ms).toISOString();
}
