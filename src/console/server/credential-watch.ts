import type { Principal, ServiceMachine, Store } from "../../service/console-door.ts";
import { StoreUnavailableError, workingCredentials } from "../../service/console-door.ts";

/** Who listens by a credential, and is to hear nothing more once that has ended. */
export interface Watched {
  readonly principal: Principal;
}

/** Finds out whose credential has ended. */
export interface CredentialWatch {
  /** Tells of those whose credential works no more, whoever revoked it; does nothing while another look is under way. */
  look(): Promise<void>;
}

/** @param watched as they are at each look. */
export function createCredentialWatch<T extends Watched>(
  { reader, version }: Pick<Store, "reader" | "version">,
  { clock, log }: Pick<ServiceMachine, "clock" | "log">,
  watched: ReadonlySet<T>,
  onEnded: (one: T) => void,
): CredentialWatch {
  let seen: string | null = null;
  let known: ReadonlySet<T> = new Set();
  let isLooking = false;

  async function compare(): Promise<void> {
    const now = await version();
    const at = new Date(clock.wallMs()).toISOString();
    const isSame = now === seen && [...watched].every((one) => known.has(one) && !isPast(one, at));
    if (isSame) return;
    const those = new Set(watched);
    const ids = new Set([...those].map(({ principal }) => principal.credential_id));
    const working = await workingCredentials(reader, [...ids], at);
    for (const one of those) if (!working.has(one.principal.credential_id)) onEnded(one);
    [seen, known] = [now, those];
  }

  return {
    async look() {
      if (isLooking || watched.size === 0) return;
      isLooking = true;
      try {
        await compare();
      } catch (error) {
        // The next look may do better. Of a store that does not answer the requests tell.
        if (error instanceof StoreUnavailableError) return;
        log.error("credential_watch_failed", { error: error instanceof Error ? (error.stack ?? "") : String(error) });
      } finally {
        isLooking = false;
      }
    },
  };
}

function isPast({ principal: { expires_at: expiresAt } }: Watched, at: string): boolean {
  return expiresAt !== null && expiresAt <= at;
}
