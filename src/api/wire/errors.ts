import * as z from "zod";

/** One finding of a 422 answer. `loc` is the path to the invalid input; its first element is `body`, `query` or `path`. */
export const validationErrorSchema = z
  .object({
    loc: z
      .array(z.union([z.string(), z.int()]))
      .describe("Path to the invalid input: body, query or path, then names and indexes."),
    msg: z.string().describe("Message for a person."),
    type: z
      .string()
      .describe(
        "Error type for programs, with the names of pydantic: missing, string_too_short, value_error and others.",
      ),
    input: z.unknown().optional().describe("The value that was sent."),
    ctx: z.record(z.string(), z.unknown()).optional(),
  })
  .meta({ id: "ValidationError" });
export type ValidationError = z.output<typeof validationErrorSchema>;

/** Body of every 422 answer (HTTPValidationError in the service document). */
export const validationErrorBodySchema = z
  .object({ detail: z.array(validationErrorSchema) })
  .meta({ id: "HTTPValidationError", description: "The invalid inputs of a request." });
export type ValidationErrorBody = z.output<typeof validationErrorBodySchema>;

/** Error codes for programs; the sentence beside them is for people. */
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

/** Why robot identities are refused, for programs; other refusals have none. */
export const REFUSAL_REASONS = [
  "credential_unknown",
  "credential_expired",
  "credential_superseded",
  "installation_revoked",
  "proof_invalid",
  "nonce_used",
  "installation_frozen",
  "recovery_window_over",
  "recovery_budget_spent",
  "robot_online",
  "already_approved",
  "key_in_use",
  "uses_spent",
  "scope",
] as const;
export type RefusalReason = (typeof REFUSAL_REASONS)[number];

/**
 * Body of every error other than 422. Our service sends `detail`, `message` (the same sentence) and `code`; other services may send only
 * `detail`, or codes of their own.
 */
export const errorBodySchema = z
  .object({
    detail: z.string(),
    message: z.string().optional(),
    code: z
      .string()
      .optional()
      .describe(
        "Unauthorized, Forbidden, NotFound, MethodNotAllowed, Conflict, PayloadTooLarge, RateLimited or Unavailable.",
      ),
    reason: z
      .string()
      .optional()
      .describe(`More precise than code, where programs can act on it: ${REFUSAL_REASONS.join(", ")}.`),
  })
  .meta({
    id: "Error",
    description:
      "The body of every refusal except 422. detail and message are the same sentence; code is for programs.",
  });
export type ErrorBody = z.output<typeof errorBodySchema>;
