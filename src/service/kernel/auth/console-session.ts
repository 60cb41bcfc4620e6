import type { Random } from "../../../platform/random.ts";
import type { SessionRow } from "./session-queries.ts";
import { createToken, isToken } from "./token.ts";

/** Prefix of the console's tokens, which are not valid for the command line, nor the other way round. */
const CONSOLE_TOKEN_PREFIX = "rps_console_";

/** How long a console session lasts without requests; an open event stream counts as use. */
export const CONSOLE_IDLE_MS = 12 * 60 * 60 * 1000;

export function createConsoleToken(random: Random): string {
  return createToken(CONSOLE_TOKEN_PREFIX, random);
}

/** Whether shape and checksum of the text are those of a console's token. */
export function isConsoleToken(text: string): boolean {
  return isToken(CONSOLE_TOKEN_PREFIX, text);
}

/** When a console session expires unless it is used again, as ISO 8601. */
export function consoleIdleUntil({
  created_at: createdAt,
  last_used_at: lastUsedAt,
}: Pick<SessionRow, "created_at" | "last_used_at">): string {
  return new Date(Date.parse(lastUsedAt ?? createdAt) + CONSOLE_IDLE_MS).toISOString();
}
