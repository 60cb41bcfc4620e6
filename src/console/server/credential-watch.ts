import { isoNow } from "../../platform/clock.ts";
import { type Principal, type ServiceMachine, type Store, workingCredentials } from "../../service/console-door.ts";
import { logFailure } from "./log-failure.ts";

/** A stream that must end with its credential. */
interface Watched {
  readonly principal: Principal;
}

/**
 * Finds streams whose credential was revoked or has expired.
 *
 * @param watched the open streams; read at each check.
 * @returns a check that calls `onEnded` for each of them. It does nothing while another one runs.
 */
export function createCredentialWatch<T extends Watched>(
  { reader, version }: Pick<Store, "reader" | "version">,
  { clock, log }: Pick<ServiceMachine, "clock" | "log">,
  watched: ReadonlySet<T>,
  onEnded: (stream: T) => void,
): () => Promise<void> {
  let seen: string | null = null;
  let known: ReadonlySet<T> = new Set();
  let isChecking = false;

  async function compare(): Promise<void> {
    const now = await version();
    const at = isoNow(clock);
    const isSame = now === seen && [...watched].every((stream) => known.has(stream) && !hasExpired(stream, at));
    if (isSame) return;
    const current = new Set(watched);
    const ids = new Set([...current].map(({ principal }) => principal.credentialId));
    const working = await workingCredentials(reader, [...ids], at);
    for (const stream of current) if (!working.has(stream.principal.credentialId)) onEnded(stream);
    [seen, known] = [now, current];
  }

  return async () => {
    if (isChecking || watched.size === 0) return;
    isChecking = true;
    try {
      await compare();
    } catch (error) {
      logFailure(log, "credential_watch_failed", error);
    } finally {
      isChecking = false;
    }
  };
}

function hasExpired({ principal: { expiresAt } }: Watched, at: string): boolean {
  return expiresAt !== null && expiresAt <= at;
}
