/** The codes by which people find enrolments. */
import { isoNow } from "../../platform/clock.ts";
import type { Random } from "../../platform/random.ts";
import type { Principal } from "../kernel/auth/authenticate.ts";
import { type Answer, refuse } from "../kernel/http/answers.ts";
import { TokenBuckets } from "../kernel/traffic/token-buckets.ts";
import { type EnrolmentRow, type EnrolmentsContext, findByCode, isFoundBy } from "./enrolments.ts";

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

/** Unknown, ended and another organization's are not told apart. */
export const UNKNOWN_CODE = refuse(
  "NotFound",
  "No enrolment waits with this code; check it on the robot, or start the enrolment there again",
);

/** The enrolment of a code, if people of the principal's organization may find it; else a refusal. */
export type LookUpCode = (principal: Principal, typedCode: string) => Promise<EnrolmentRow | Answer>;

/**
 * Looks codes up, and keeps credentials from guessing them: wrong ones count, by each replica for itself. Lookups of one credential run one
 * after the other, so that many at once are no more guesses than many in a row.
 */
export function createCodeLookUp({ store, machine: { clock }, limitMet }: EnrolmentsContext): LookUpCode {
  const bucketsOf = (perMinute: number) =>
    new TokenBuckets({ burst: perMinute, per_second: perMinute / MINUTE_S }, BUCKETS_MAXIMUM);
  const credentials = bucketsOf(GUESSES_PER_MINUTE.credential);
  const organizations = bucketsOf(GUESSES_PER_MINUTE.organization);
  /** The last lookup of each credential that has some under way. */
  const lookUps = new Map<string, Promise<unknown>>();

  async function lookUpNow({ credentialId, organizationId }: Principal, code: string): Promise<EnrolmentRow | Answer> {
    const nowMs = clock.monotonicMs();
    const left = [credentials.look(credentialId, nowMs), organizations.look(organizationId, nowMs)];
    const waitMs = Math.max(...left.filter(({ isAllowed }) => !isAllowed).map((taken) => taken.waitMs));
    if (waitMs > 0) {
      limitMet("enrolments.wrong_codes");
      return tooManyGuesses(waitMs);
    }
    const found = await findByCode(store.lookup, code, isoNow(clock));
    if (found !== undefined && isFoundBy(found, organizationId)) return found;
    credentials.take(credentialId, clock.monotonicMs());
    organizations.take(organizationId, clock.monotonicMs());
    return UNKNOWN_CODE;
  }

  return async (principal, typedCode) => {
    const { credentialId: id } = principal;
    const before = lookUps.get(id) ?? Promise.resolve();
    const lookUp = before.then(() => lookUpNow(principal, readUserCode(typedCode)));
    const settled = lookUp.catch(() => {});
    lookUps.set(id, settled);
    try {
      return await lookUp;
    } finally {
      if (lookUps.get(id) === settled) lookUps.delete(id);
    }
  };
}

function tooManyGuesses(waitMs: number): Answer {
  const retryAfterS = String(Math.max(1, Math.ceil(waitMs / 1000)));
  const detail = `Too many wrong codes; check the code on the robot, and try again in ${retryAfterS} s`;
  return refuse("RateLimited", detail, { "retry-after": retryAfterS });
}
