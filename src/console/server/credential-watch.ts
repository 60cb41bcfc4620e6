import type { Principal, ServiceMachine, Store } from "../../service/console-door.ts";
import { StoreUnavailableError, workingCredentials } from "../../service/console-door.ts";

/** A stream that must end with its credential. */
export interface Watched {
  readonly principal: Principal;
}

/** Finds streams whose credential was revoked or has expired. */
export interface CredentialWatch {
  /** Calls `onEnded` for each stream whose credential no longer works. Does nothing while another check runs. */
  check(): Promise<void>;
}

/** @param watched the open streams; read at each check. */
export function createCredentialWatch<T extends Watched>(
  { reader, version }: Pick<Store, "reader" | "version">,
  { clock, log }: Pick<ServiceMachine, "clock" | "log">,
  watched: ReadonlySet<T>,
  onEnded: (stream: T) => void,
): CredentialWatch {
  let seen: string | null = null;
  let known: ReadonlySet<T> = new Set();
  let isChecking = false;

  async function compare(): Promise<void> {
    const now = await version();
    const at = new Date(clock.wallMs()).toISOString();
    const isSame = now === seen && [...watched].every((stream) => known.has(stream) && !hasExpired(stream, at));
    if (isSame) return;
    const current = new Set(watched);
    const ids = new Set([...current].map(({ principal }) => principal.credential_id));
    const working = await workingCredentials(reader, [...ids], at);
    for (const stream of current) if (!working.has(stream.principal.credential_id)) onEnded(stream);
    [seen, known] = [now, current];
  }

  return {
    async check() {
      if (isChecking || watched.size === 0) return;
      isChecking = true;
      try {
        await compare();
      } catch (error) {
        // The next check tries again. Requests already report an unavailable store.
        if (error instanceof StoreUnavailableError) return;
        log.error("credential_watch_failed", { error: error instanceof Error ? (error.stack ?? "") : String(error) });
      } finally {
        isChecking = false;
      }
    },
  };
}

function hasExpired({ principal: { expires_at: expiresAt } }: Watched, at: string): boolean {
  return expiresAt !== null && expiresAt <= at;
}
