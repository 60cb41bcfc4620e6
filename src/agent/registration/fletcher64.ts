/** One below 2^32, so that a carry comes around and no bit is lost. */
const MODULUS = 0xff_ff_ff_ff;

/**
 * Fletcher's checksum over 32-bit words (J. G. Fletcher 1982), 16 hex digits: finds what a torn write or a worn flash does to a file of a
 * few KB, as it does for the blocks of Apple's filesystem. It is no protection against people.
 *
 * Every start takes one, of the state file. Loading node:crypto for a hash would add 4 ms to a start of 35, node:zlib for a CRC 1 ms and
 * 1 MB; and a loop over bits or bytes runs long enough to wake the optimizing compiler, which costs 3 MB for the rest of the daemon's life.
 */
export function fletcher64(bytes: Uint8Array): string {
  const words = new Uint32Array(Math.ceil(bytes.byteLength / 4));
  new Uint8Array(words.buffer).set(bytes);
  let sum = 0;
  let sumOfSums = 0;
  for (let index = 0; index < words.length; index++) {
    sum = (sum + (words[index] ?? 0)) % MODULUS;
    sumOfSums = (sumOfSums + sum) % MODULUS;
  }
  return hex(sumOfSums) + hex(sum);
}

function hex(word: number): string {
  return word.toString(16).padStart(8, "0");
}
