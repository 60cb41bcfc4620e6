/** An error or a warning about a file that a person wrote. */
export interface Finding {
  /** Stable, for scripts and for searching. */
  readonly id: string;
  /** An error keeps the file from being used. */
  readonly severity: "error" | "warning";
  /** JSON Pointer (RFC 6901) into the file; for a missing key, its expected place. */
  readonly loc: string;
  /** One sentence of bounded length, never with a secret. */
  readonly message: string;
  /** From 1. */
  readonly line: number;
  /** From 1, in code points; a byte order mark has no width. */
  readonly column: number;
}

export function isError({ severity }: Pick<Finding, "severity">): boolean {
  return severity === "error";
}
