import type { Clock } from "../../platform/clock.ts";
import type { Random } from "../../platform/random.ts";
import type { Principal } from "../kernel/auth/authenticate.ts";
import { type Answer, refuse } from "../kernel/http/answers.ts";
import type { OperationContext } from "../kernel/operation.ts";
import { TokenBuckets } from "../kernel/traffic/token-buckets.ts";

/** Capital letters and digits without those that look alike. */
const ALPHABET = "ABCDEFGHJKMNPQRSTUVWXYZ23456789";
const LENGTH = 8;
/** Bytes above the largest multiple of the alphabet would make some letters more likely. */
const BYTES_USED = 256 - (256 % ALPHABET.length);

/** A code for a person to type, as the store has it: 31⁸ are possible, and only a few thousand wait at a time. */
export function createUserCode(random: Random): string {
  let code = "";
  while (code.length < LENGTH) {
    for (const byte of random.bytes(LENGTH)) {
      if (byte < BYTES_USED && code.length < LENGTH) code += ALPHABET.charAt(byte % ALPHABET.length);
    }
  }
  return code;
}

/** `XXXX-XXXX` */
export function showUserCode(code: string): string {
  return `${code.slice(0, LENGTH / 2)}-${code.slice(LENGTH / 2)}`;
}

/** A code as a person typed it: without spaces and hyphens of any kind, in upper case. */
export function readUserCode(typed: string): string {
  return typed.replaceAll(/[\s\p{Dash}]/gu, "").toUpperCase();
}

/** Wrong codes a minute. */
export const GUESSES_PER_MINUTE = { credential: 10, organization: 100 } as const;

/** Credentials and organizations that are counted; one that is dropped starts anew. */
const BUCKETS_MAXIMUM = 10_000;
const MINUTE_S = 60;

type Guesser = Pick<Principal, "credentialId" | "organizationId">;

/** Keeps credentials from guessing codes. Each replica counts for itself. */
export interface GuessLimit {
  /**
   * Looks a code up, and counts it if it is wrong: if `find` resolves with null. Lookups of one credential run one after the other, so that
   * many at once are no more guesses than many in a row.
   *
   * @returns what was found, null for a wrong code, or a refusal after too many of them.
   */
  look<T extends object>(guesser: Guesser, find: () => Promise<T | null>): Promise<T | Answer | null>;
}

export function createGuessLimit({
  machine: { clock },
  limitMet,
}: Pick<OperationContext, "limitMet"> & {
  readonly machine: { readonly clock: Pick<Clock, "monotonicMs"> };
}): GuessLimit {
  const bucketsOf = (perMinute: number) =>
    new TokenBuckets({ burst: perMinute, per_second: perMinute / MINUTE_S }, BUCKETS_MAXIMUM);
  const credentials = bucketsOf(GUESSES_PER_MINUTE.credential);
  const organizations = bucketsOf(GUESSES_PER_MINUTE.organization);
  /** The last lookup of each credential that has some under way. */
  const lookups = new Map<string, Promise<unknown>>();

  async function lookNow<T extends object>(
    { credentialId, organizationId }: Guesser,
    find: () => Promise<T | null>,
  ): Promise<T | Answer | null> {
    const nowMs = clock.monotonicMs();
    const left = [credentials.look(credentialId, nowMs), organizations.look(organizationId, nowMs)];
    const waitMs = Math.max(...left.filter(({ isAllowed }) => !isAllowed).map((taken) => taken.waitMs));
    if (waitMs > 0) {
      limitMet("enrolments.wrong_codes");
      return tooManyGuesses(waitMs);
    }
    const found = await find();
    if (found !== null) return found;
    credentials.take(credentialId, clock.monotonicMs());
    organizations.take(organizationId, clock.monotonicMs());
    return null;
  }

  return {
    async look(guesser, find) {
      const before = lookups.get(guesser.credentialId) ?? Promise.resolve();
      const lookup = before.then(() => lookNow(guesser, find));
      const settled = lookup.catch(() => {});
      lookups.set(guesser.credentialId, settled);
      try {
        return await lookup;
      } finally {
        if (lookups.get(guesser.credentialId) === settled) lookups.delete(guesser.credentialId);
      }
    },
  };
}

function tooManyGuesses(waitMs: number): Answer {
  const retryAfterS = String(Math.max(1, Math.ceil(waitMs / 1000)));
  const detail = `Too many wrong codes; check the code on the robot, and try again in ${retryAfterS} s`;
  return refuse("RateLimited", detail, { "retry-after": retryAfterS });
}
