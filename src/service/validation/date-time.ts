import type { Json } from "../json/parse-json.ts";
import type { Fault } from "./finding.ts";
import type { Read } from "./integer.ts";

/** A moment, and whether its text said in which time zone; without one it is read as UTC. */
export interface Moment {
  readonly epoch_ms: number;
  readonly has_offset: boolean;
}

const NOT_A_DATE_TIME: Fault = { type: "datetime_type", msg: "Input should be a valid datetime" };

const DATE_TIME =
  /^(\d{4})-(\d\d)-(\d\d)[Tt _](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d+))?)?(?:([Zz])|([+\-\u2212])(\d\d):?(\d\d))?$/;
const NUMBER = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)$/;

/** Unix timestamps beyond this many seconds are milliseconds: the watershed of pydantic's parser (20 October 2603). */
const MILLISECONDS_WATERSHED = 2e10;
const YEAR_0_SECONDS = -62_167_219_200;
/** Python's dates begin here. */
const YEAR_1_MS = Date.parse("0001-01-01T00:00:00Z");
const YEAR_9999_END_SECONDS = 253_402_300_799;

/** A date-time as pydantic reads it: RFC 3339 and its relatives, a date alone, or a Unix timestamp as number or text. */
export function readDateTime(input: Json): Read<Moment> {
  if (typeof input === "number" || typeof input === "bigint") {
    const moment = fromTimestamp(Number(input));
    return typeof moment === "string"
      ? { fault: unparsable("datetime_parsing", "datetime", moment) }
      : { value: moment };
  }
  if (typeof input !== "string") return { fault: NOT_A_DATE_TIME };
  const moment = fromText(input) ?? (NUMBER.test(input) ? fromTimestamp(Number(input)) : fromDate(input));
  if (typeof moment === "string") {
    return { fault: unparsable("datetime_from_date_parsing", "datetime or date", moment) };
  }
  if (moment.epoch_ms < YEAR_1_MS) {
    return { fault: unparsable("datetime_parsing", "datetime", "year 0 is out of range") };
  }
  return { value: moment };
}

function fromText(text: string): Moment | null {
  const match = DATE_TIME.exec(text);
  if (match === null) return null;
  const [
    ,
    year,
    month,
    day,
    hour,
    minute,
    second = "0",
    fraction = "",
    utc,
    sign,
    offsetHours = "0",
    offsetMinutes = "0",
  ] = match;
  const date = dateOf(Number(year), Number(month), Number(day));
  if (typeof date === "string") return null;
  const isClock = Number(hour) < 24 && Number(minute) < 60 && Number(second) < 60;
  const isOffset = Number(offsetHours) < 24 && Number(offsetMinutes) < 60;
  if (!isClock || !isOffset) return null;
  const time_ms =
    ((Number(hour) * 60 + Number(minute)) * 60 + Number(second)) * 1000 + Math.floor(Number(`0.${fraction}`) * 1000);
  const offset_ms = (Number(offsetHours) * 60 + Number(offsetMinutes)) * 60_000 * (sign === "+" ? 1 : -1);
  return { epoch_ms: date + time_ms - offset_ms, has_offset: utc !== undefined || sign !== undefined };
}

/** The first thing wrong with the text as a date, or the date. */
function fromDate(text: string): Moment | string {
  // The original parser counts bytes, so that short texts of long characters are not "too short".
  if (Buffer.byteLength(text) < 10) return "input is too short";
  if (!/^\d{4}/.test(text)) return "invalid character in year";
  if (text.charAt(4) !== "-") return "invalid date separator, expected `-`";
  if (!/^\d\d/.test(text.slice(5))) return "invalid character in month";
  if (text.charAt(7) !== "-") return "invalid date separator, expected `-`";
  if (!/^\d\d/.test(text.slice(8))) return "invalid character in day";
  const date = dateOf(Number(text.slice(0, 4)), Number(text.slice(5, 7)), Number(text.slice(8, 10)));
  if (typeof date === "string") return date;
  if (text.length > 10) return "unexpected extra characters at the end of the input";
  return { epoch_ms: date, has_offset: false };
}

/** Milliseconds of the day's begin in UTC, or what is out of range. */
function dateOf(year: number, month: number, day: number): number | string {
  if (month < 1 || month > 12) return "month value is outside expected range of 1-12";
  const begin = new Date(0);
  // setUTCFullYear, unlike Date.UTC, does not take years below 100 for the twentieth century.
  begin.setUTCFullYear(year, month - 1, day);
  if (day < 1 || begin.getUTCMonth() !== month - 1) return "day value is outside expected range";
  return begin.getTime();
}

function fromTimestamp(value: number): Moment | string {
  if (Number.isNaN(value)) return "NaN values not permitted";
  const seconds = Math.abs(value) > MILLISECONDS_WATERSHED ? value / 1000 : value;
  if (seconds > YEAR_9999_END_SECONDS) return "dates after 9999 are not supported as unix timestamps";
  if (seconds < YEAR_0_SECONDS) return "dates before 0000 are not supported as unix timestamps";
  return { epoch_ms: Math.floor(seconds * 1000), has_offset: true };
}

function unparsable(type: string, noun: string, error: string): Fault {
  return { type, msg: `Input should be a valid ${noun}, ${error}`, ctx: { error } };
}
