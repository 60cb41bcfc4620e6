/** The flags of a script: --help prints its usage, and a wrong flag says what is wrong before anything is done. */
import { parseArgs, type ParseArgsConfig } from "node:util";

type Options = NonNullable<ParseArgsConfig["options"]>;

/** @param usage lists all flags. */
export function readFlags<const T extends Options>(usage: string, options: T) {
  return read(usage, { options }).values;
}

/** As `readFlags`, for a script that is given names, too. */
export function readFlagsAndNames<const T extends Options>(usage: string, options: T) {
  return read(usage, { options, allowPositionals: true });
}

function read<const T extends ParseArgsConfig>(usage: string, config: T) {
  if (process.argv.slice(2).some((word) => word === "--help" || word === "-h")) {
    console.log(usage.trimEnd());
    process.exit(0);
  }
  try {
    return parseArgs(config);
  } catch (error) {
    return refuseFlags(usage, error instanceof Error ? error.message : String(error));
  }
}

/** The number that a flag gives, from 0 to `maximum`. */
export function wholeNumber(usage: string, flag: string, text: string, maximum = 9_999_999_999): number {
  const number = /^\d{1,10}$/.test(text) ? Number(text) : Infinity;
  return number <= maximum ? number : refuseFlags(usage, `--${flag} '${text}' is no number from 0 to ${maximum}`);
}

/** As `wholeNumber`; null without the flag. */
export function optionalNumber(usage: string, flag: string, text: string | undefined): number | null {
  return text === undefined ? null : wholeNumber(usage, flag, text);
}

/** Ends the script. */
export function refuseFlags(usage: string, what: string): never {
  console.error(`error: ${what}\n\n${usage.trimEnd()}`);
  process.exit(2);
}
