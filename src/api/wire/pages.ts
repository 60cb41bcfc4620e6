import * as z from "zod";

import { text } from "./text.ts";

/** Items per page. */
export const PAGE_LIMIT = { minimum: 1, maximum: 1000 } as const;

/**
 * Query of lists. Without it a list has all items, oldest first; with `limit` it has one page, and the `Link` header (RFC 8288) has the
 * URL of the next page.
 */
export const pageQuerySchema = z.object({
  limit: z
    .int()
    .min(PAGE_LIMIT.minimum)
    .max(PAGE_LIMIT.maximum)
    .optional()
    .describe("Maximum number of items on a page. Without it, the answer has all items, or all after the cursor."),
  cursor: text({ maximum: 256 }).optional().describe("Start of the page, from the Link header of the previous page."),
});
export type PageQuery = z.output<typeof pageQuerySchema>;

/** What the 200 of a list means. */
export const WHOLE_LIST = "The whole list or one page, oldest first.";
