import { serviceNow } from "../data/request.ts";

const DAY_MS = 86_400_000;

/** When a key expires: after so many days, or `at` a given time. */
export const EXPIRIES = [
  { value: "", word: "Never" },
  { value: "30", word: "In 30 days" },
  { value: "90", word: "In 90 days" },
  { value: "365", word: "In a year" },
  { value: "at", word: "At a time…" },
] as const;

/** A key that lets robots in without a person is not kept for years; the service allows 90 days. */
export const ENROLLMENT_EXPIRIES = [
  { value: "7", word: "In 7 days" },
  { value: "30", word: "In 30 days" },
  { value: "at", word: "At a time…" },
] as const;

/** @returns an ISO time; null for never. */
export function expiryOf(expiry: string, at: string): string | null {
  if (expiry === "") return null;
  const ms = expiry === "at" ? Date.parse(at) : serviceNow() + Number(expiry) * DAY_MS;
  return new Date(ms).toISOString();
}
