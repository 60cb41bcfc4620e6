import type { Json } from "../json/parse-json.ts";
import { fault } from "./finding.ts";
import type { Read } from "./integer.ts";

const NOT_A_BOOLEAN = fault("bool_type", "Input should be a valid boolean");
const UNPARSABLE = fault("bool_parsing", "Input should be a valid boolean, unable to interpret input");

const TRUE = /^(?:1|on|true|t|yes|y)$/i;
const FALSE = /^(?:0|off|false|f|no|n)$/i;

/** Booleans as FastAPI reads them, lax: `true`, `1`, `1.0`, `"yes"`, `"On"`. */
export function readBoolean(input: Json): Read<boolean> {
  if (typeof input === "boolean") return { value: input };
  if (typeof input !== "string" && !isInteger64(input)) return { fault: NOT_A_BOOLEAN };
  const text = String(input);
  if (TRUE.test(text)) return { value: true };
  return FALSE.test(text) ? { value: false } : { fault: UNPARSABLE };
}

/** Larger integers pydantic does not even try to interpret. */
function isInteger64(input: Json): input is number | bigint {
  if (typeof input !== "bigint" && (typeof input !== "number" || !Number.isInteger(input))) return false;
  return BigInt.asIntN(64, BigInt(input)) === BigInt(input);
}
