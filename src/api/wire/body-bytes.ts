const KIBIBYTE = 1024;

/** Largest request bodies in bytes: the largest valid body, with room for escapes and whitespace. */
export const BODY_BYTES = {
  /** For operations that ignore the body. */
  none: 4 * KIBIBYTE,
  login: 4 * KIBIBYTE,
  /** A few names. */
  names: 16 * KIBIBYTE,
  /** Labels of a robot and its contract, before anyone has approved it. */
  enrolment: 32 * KIBIBYTE,
  /** A thousand names, and operating windows for a year. */
  fleet: 256 * KIBIBYTE,
  /** All labels, and a contract with the maximum of axes. */
  registration: 256 * KIBIBYTE,
  /** The parts of a digest: 64 entries, and what patterns stand for. */
  parts: 512 * KIBIBYTE,
  /** A configuration file, with escapes. */
  content: 768 * KIBIBYTE,
} as const;
