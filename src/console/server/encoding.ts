import { acceptedCodings } from "../../service/console-door.ts";
import type { ConsoleFile } from "./built-console.ts";

const ENCODINGS = ["br", "gzip"] as const;
type Encoding = (typeof ENCODINGS)[number];

/** The smallest representation of a file that a client takes, by its `Accept-Encoding` (RFC 9110, 12.5.3); null for the plain one. */
export function chooseEncoding(acceptEncoding: string | undefined, file: Pick<ConsoleFile, Encoding>): Encoding | null {
  const accepted = acceptedCodings(acceptEncoding);
  return ENCODINGS.find((encoding) => accepted.has(encoding) && file[encoding] !== null) ?? null;
}
