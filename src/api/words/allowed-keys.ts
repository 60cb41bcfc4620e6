import type { AllowedKeyView } from "../allowed-keys.ts";

export type AllowedKeyState = "unused" | "used" | "expired";

/** A key stays on the list after its computer enrolled with it. */
export function allowedKeyState(
  { used_at: usedAt, expires_at: expiresAt }: AllowedKeyView,
  nowMs: number,
): AllowedKeyState {
  if (usedAt !== null) return "used";
  return Date.parse(expiresAt) <= nowMs ? "expired" : "unused";
}

/** What a line of a list of keys says, without its comment, which `#` begins. */
export function keyOn(line: string): string {
  return line.replace(/#.*$/s, "").trim();
}
