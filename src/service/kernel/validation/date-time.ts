import type { Json } from "../json/json.ts";
import type { Fault } from "./finding.ts";
import type { Read } from "./lax-values.ts";

/** A point in time, and whether its text had a time zone; without one it is read as UTC. */
export interface DateTime {
  readonly epochMs: number;
  readonly hasOffset: boolean;
}

const NOT_A_DATE_TIME: Fault = { type: "datetime_type", msg: "Input should be a valid datetime" };

const DATE_TIME =
  /^(\d{4}-\d\d-\d\d)[Tt _](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d+))?)?(?:([Zz])|([+\-\u2212])(\d\d):?(\d\d))?$/;
const INTEGER = /^[+-]?\d+$/;
const DECIMAL = /^([+-]?\d*)\.\d*(?:[eE][+-]?\d+)?$/;
/** Range of timestamps in texts: signed 64 bits. */
const INTEGER_BITS = 64;
const INTEGER_DIGITS_MAXIMUM = 19;

/** Unix timestamps beyond this many seconds are milliseconds: the threshold of pydantic's parser (20 October 2603). */
const MILLISECONDS_WATERSHED = 2e10;
const YEAR_0_SECONDS = -62_167_219_200;
const YEAR_9999_END_SECONDS = 253_402_300_799;
const TOO_EARLY = "dates before 0000 are not supported as unix timestamps";
const TOO_LATE = "dates after 9999 are not supported as unix timestamps";
/** The last millisecond with a year of four digits. */
const YEAR_9999_END_MS = YEAR_9999_END_SECONDS * 1000 + 999;

/** A date-time as pydantic reads it: RFC 3339 and variants, a date alone, or a Unix timestamp as number or text. */
export function readDateTime(input: Json): Read<DateTime> {
  const read = readWithYear(input);
  if ("fault" in read) return read;
  const { year, ...dateTime } = read.value;
  // The parser accepts the year 0, but Python's calendar begins with 1.
  if (year === 0) return { fault: unparsable("datetime_parsing", "datetime", "year 0 is out of range") };
  return { value: dateTime };
}

/** With the year as written, which may differ from the year in UTC. */
type Reading = DateTime & { readonly year: number };

function readWithYear(input: Json): Read<Reading> {
  if (typeof input === "number" || typeof input === "bigint") {
    const reading = fromTimestamp(Number(input));
    return typeof reading === "string"
      ? { fault: unparsable("datetime_parsing", "datetime", reading) }
      : { value: reading };
  }
  if (typeof input !== "string") return { fault: NOT_A_DATE_TIME };
  const reading = fromText(input) ?? fromDecimal(input);
  if (reading !== null) return { value: reading };
  // A text that is not a date-time may be a date; findings are then about the date.
  const date = fromInteger(input) ?? fromDate(input);
  return typeof date === "string"
    ? { fault: unparsable("datetime_from_date_parsing", "datetime or date", date) }
    : { value: date };
}

function fromText(text: string): Reading | null {
  const match = DATE_TIME.exec(text);
  if (match === null) return null;
  const [, day = "", hour, minute, second = "0", fraction = "", utc, sign, offsetHours = "0", offsetMinutes = "0"] =
    match;
  const date = fromDate(day);
  if (typeof date === "string") return null;
  const isClock = Number(hour) < 24 && Number(minute) < 60 && Number(second) < 60;
  const isOffset = Number(offsetHours) < 24 && Number(offsetMinutes) < 60;
  if (!isClock || !isOffset) return null;
  const timeMs =
    ((Number(hour) * 60 + Number(minute)) * 60 + Number(second)) * 1000 + Number(fraction.slice(0, 3).padEnd(3, "0"));
  const offsetMs = (Number(offsetHours) * 60 + Number(offsetMinutes)) * 60_000 * (sign === "+" ? 1 : -1);
  return {
    year: date.year,
    // West of Greenwich the last evening of 9999 is already in 10000 in UTC, which would not sort as text.
    epochMs: Math.min(date.epochMs + timeMs - offsetMs, YEAR_9999_END_MS),
    hasOffset: utc !== undefined || sign !== undefined,
  };
}

/** Parses a date; returns the first error otherwise. */
function fromDate(text: string): Reading | string {
  // pydantic's parser counts bytes, so that short texts of multi-byte characters are not "too short".
  if (Buffer.byteLength(text) < 10) return "input is too short";
  if (!/^\d{4}/.test(text)) return "invalid character in year";
  if (text.charAt(4) !== "-") return "invalid date separator, expected `-`";
  if (!/^\d\d/.test(text.slice(5))) return "invalid character in month";
  if (text.charAt(7) !== "-") return "invalid date separator, expected `-`";
  if (!/^\d\d/.test(text.slice(8))) return "invalid character in day";
  const [year, month, day] = [Number(text.slice(0, 4)), Number(text.slice(5, 7)), Number(text.slice(8, 10))];
  if (month < 1 || month > 12) return "month value is outside expected range of 1-12";
  const begin = new Date(0);
  // Unlike Date.UTC, setUTCFullYear does not map years below 100 to the twentieth century.
  begin.setUTCFullYear(year, month - 1, day);
  if (day < 1 || begin.getUTCMonth() !== month - 1) return "day value is outside expected range";
  if (text.length > 10) return "unexpected extra characters at the end of the input";
  return { year, epochMs: begin.getTime(), hasOffset: false };
}

/** Null unless the text is an integer of 64 bits. */
function fromInteger(text: string): Reading | string | null {
  return INTEGER.test(text) && isIn64Bits(text) ? fromTimestamp(Number(text)) : null;
}

/** Null unless the text is a decimal number within the calendar. */
function fromDecimal(text: string): Reading | null {
  const whole = DECIMAL.exec(text)?.[1];
  if (whole === undefined || !isIn64Bits(whole)) return null;
  const value = Number(text);
  const reading = Number.isNaN(value) ? null : fromTimestamp(value);
  return typeof reading === "string" ? null : reading;
}

function isIn64Bits(text: string): boolean {
  const digits = text.replace(/^[+-]?0*/, "");
  if (digits.length > INTEGER_DIGITS_MAXIMUM) return false;
  const value = text.startsWith("-") ? -BigInt(digits) : BigInt(digits);
  return BigInt.asIntN(INTEGER_BITS, value) === value;
}

function fromTimestamp(value: number): Reading | string {
  if (Number.isNaN(value)) return "NaN values not permitted";
  if (!Number.isFinite(value)) return value > 0 ? TOO_LATE : TOO_EARLY;
  const whole = Math.floor(value);
  const isMilliseconds = Math.abs(value) > MILLISECONDS_WATERSHED;
  const micros = isMilliseconds ? (value - whole) * 1000 : (value - whole) * 1_000_000;
  // Rounded to microseconds first, so that 0.3 is 300 ms and not 299.
  const fractionMs = Math.floor(Math.round(micros) / 1000);
  const epochMs = (isMilliseconds ? whole : whole * 1000) + fractionMs;
  const seconds = Math.floor(epochMs / 1000);
  if (seconds > YEAR_9999_END_SECONDS) return TOO_LATE;
  if (seconds < YEAR_0_SECONDS) return TOO_EARLY;
  return { year: new Date(epochMs).getUTCFullYear(), epochMs, hasOffset: true };
}

function unparsable(type: string, noun: string, error: string): Fault {
  return { type, msg: `Input should be a valid ${noun}, ${error}`, ctx: { error } };
}
