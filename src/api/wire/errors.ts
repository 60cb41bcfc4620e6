import * as z from "zod";

/** One finding of a 422 answer. `loc` is the path to the offending input, its first element names the part: `body` or `path`. */
export const validationErrorSchema = z.object({
  loc: z.array(z.union([z.string(), z.int()])),
  msg: z.string(),
  type: z.string(),
  input: z.unknown().optional(),
  ctx: z.record(z.string(), z.unknown()).optional(),
});

export type ValidationError = z.output<typeof validationErrorSchema>;

/** Body of every 422 answer (HTTPValidationError in the service document). */
export const validationErrorBodySchema = z.object({ detail: z.array(validationErrorSchema) });

export type ValidationErrorBody = z.output<typeof validationErrorBodySchema>;

/** What kind of refusal it is, for programs; the sentence beside it is for people. */
export const ERROR_CODES = [
  "Unauthorized",
  "Forbidden",
  "NotFound",
  "MethodNotAllowed",
  "Conflict",
  "PayloadTooLarge",
  "RateLimited",
  "Unavailable",
] as const;

export type ErrorCode = (typeof ERROR_CODES)[number];

/**
 * Body of every refusal other than 422. Our service sends `detail`, `message` (the same sentence) and `code`; other services
 * send `detail` alone, and codes of their own.
 */
export const errorBodySchema = z.object({
  detail: z.string(),
  message: z.string().optional(),
  code: z.string().optional(),
});

export type ErrorBody = z.output<typeof errorBodySchema>;
