import { referenceTo } from "./schemas.ts";

interface Refusal {
  /** The status, or `default` for all others. */
  readonly status: string;
  readonly description: string;
  readonly body: "Error" | "HTTPValidationError";
  /** Headers beside those of every answer. */
  readonly headers: readonly string[];
}

export const RATE_LIMIT_HEADERS = ["RateLimit-Policy", "RateLimit"] as const;

/** Answers that operations share: everything but success. */
export const REFUSALS = {
  BadRequest: refusal("400", "The body cannot be read: its encoding is broken, or it is nested too deep."),
  Unauthorized: refusal("401", "No credential, or one that is unknown, revoked or expired.", "WWW-Authenticate"),
  Forbidden: refusal("403", "The credential works, but it lacks the scope that the operation needs."),
  NotFound: refusal("404", "The organization has none of this id or name."),
  Conflict: refusal("409", "What is there already stands in the way."),
  PayloadTooLarge: refusal("413", "The body is larger, or has more JSON values, than the operation takes."),
  ValidationFailed: {
    ...refusal("422", "An input is wrong, or the body is not sent as application/json."),
    body: "HTTPValidationError",
  },
  RateLimited: refusal(
    "429",
    "Too many requests of this credential or address, or too many bytes of them on their way.",
    "Retry-After",
  ),
  Unavailable: refusal("503", "The store cannot be reached; the same request may succeed later.", "Retry-After"),
  Refused: refusal("default", "Any other refusal."),
} as const satisfies Record<string, Refusal>;

export type RefusalName = keyof typeof REFUSALS;

/** The part of the document that the references point to. */
export function refusalComponents(): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(REFUSALS).map(([name, { description, body, headers }]) => [
      name,
      {
        description,
        headers: headerReferences(...RATE_LIMIT_HEADERS, ...headers),
        content: { "application/json": { schema: { $ref: referenceTo(body) } } },
      },
    ]),
  );
}

/** @param description in the place of the answer's own (OpenAPI 3.1.1, Reference Object). */
export function refusalReference(name: RefusalName, description?: string): Readonly<Record<string, unknown>> {
  return { $ref: `#/components/responses/${name}`, ...(description === undefined ? {} : { description }) };
}

export function headerReferences(...names: readonly string[]): Readonly<Record<string, unknown>> {
  return Object.fromEntries(["X-Request-Id", ...names].map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

function refusal(status: string, description: string, ...headers: readonly string[]): Refusal {
  return { status, description, body: "Error", headers };
}
