/** One thing that is wrong, or suspicious, in a file that a person wrote. */
export interface Finding {
  /** Stable; for scripts and for looking it up. */
  readonly id: string;
  /** An error keeps the file from being used. */
  readonly severity: "error" | "warning";
  /** JSON Pointer (RFC 6901) into the file as written; of a missing key, where it would be. */
  readonly loc: string;
  /** For a person, one sentence. Never holds a secret; bounded. */
  readonly message: string;
  /** From 1. */
  readonly line: number;
  /** From 1, in code points; a byte order mark has no width. */
  readonly column: number;
}
