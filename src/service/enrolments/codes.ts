import type { Random } from "../../platform/random.ts";

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
