import * as z from "zod";

import { text } from "./text.ts";

/** Items of one page, when a client asks for pages at all. */
export const PAGE_LIMIT = { minimum: 1, maximum: 1000 } as const;

/** Opaque to clients; longer ones are not ours. */
export const CURSOR_LENGTH = { maximum: 256 } as const;

/**
 * Query of the lists. Without it a list is everything, oldest first; with `limit` it comes in pages, and the `Link` header
 * (RFC 8288) of an answer names the next one.
 */
export const pageQuerySchema = z.object({
  limit: z.int().min(PAGE_LIMIT.minimum).max(PAGE_LIMIT.maximum).optional(),
  cursor: text(CURSOR_LENGTH).optional(),
});

export type PageQuery = z.output<typeof pageQuerySchema>;
