import { acceptedCodings } from "../../service/console-door.ts";
import type { ConsoleFile } from "./built-console.ts";

const ENCODINGS = ["br", "gzip"] as const;
type Encoding = (typeof ENCODINGS)[number];

/** The smallest encoding that the client accepts by its `Accept-Encoding` (RFC 9110, 12.5.3); null for no encoding. */
export function chooseEncoding(acceptEncoding: string | undefined, file: Pick<ConsoleFile, Encoding>): Encoding | null {
  const accepted = acceptedCodings(acceptEncoding);
  return ENCODINGS.find((encoding) => accepted.has(encoding) && file[encoding] !== null) ?? null;
}
