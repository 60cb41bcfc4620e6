const KIBIBYTE = 1024;

/** Bytes of the largest body that an operation takes: what its schema lets in, and room for escapes and spaces. */
export const BODY_BYTES = {
  /** A body that is ignored. */
  none: 4 * KIBIBYTE,
  login: 4 * KIBIBYTE,
  /** A few names. */
  names: 16 * KIBIBYTE,
  /** A thousand names, and windows for a year. */
  fleet: 256 * KIBIBYTE,
  /** All labels, and a contract of as many axes as there may be. */
  registration: 256 * KIBIBYTE,
} as const;
