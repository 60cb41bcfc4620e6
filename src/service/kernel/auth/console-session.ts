import type { Random } from "../../../platform/random.ts";
import type { SessionRow } from "./session-queries.ts";
import { createToken, isToken } from "./token.ts";

/** Tells the console's tokens from those of command lines: neither is good in the other's place. */
const CONSOLE_TOKEN_PREFIX = "rps_console_";

/** How long it stays signed in while nothing of it is heard; a page that listens for changes is heard. */
export const CONSOLE_IDLE_MS = 12 * 60 * 60 * 1000;

export function createConsoleToken(random: Random): string {
  return createToken(CONSOLE_TOKEN_PREFIX, random);
}

/** Whether the text can be a console's token at all, by its shape and checksum. */
export function isConsoleToken(text: string): boolean {
  return isToken(CONSOLE_TOKEN_PREFIX, text);
}

/** Until when a console session works if it is not used meanwhile, as ISO 8601. */
export function consoleIdleUntil({
  created_at: createdAt,
  last_used_at: lastUsedAt,
}: Pick<SessionRow, "created_at" | "last_used_at">): string {
  return new Date(Date.parse(lastUsedAt ?? createdAt) + CONSOLE_IDLE_MS).toISOString();
}
