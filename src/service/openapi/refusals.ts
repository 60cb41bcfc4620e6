import { referenceTo } from "./schemas.ts";

interface Refusal {
  /** The status, or `default` for all others. */
  readonly status: string;
  readonly description: string;
  readonly body: "Error" | "HTTPValidationError";
  /** Headers in addition to those of every answer. */
  readonly headers: readonly string[];
}

export const RATE_LIMIT_HEADERS = ["RateLimit-Policy", "RateLimit"] as const;

/** Error answers that the operations share. */
export const REFUSALS = {
  BadRequest: refusal("400", "The body cannot be parsed: its encoding is invalid, or it is nested too deeply."),
  Unauthorized: refusal(
    "401",
    "The request has no credential, or one that is unknown, revoked or expired.",
    "WWW-Authenticate",
  ),
  Forbidden: refusal("403", "The credential is valid but lacks the scope that the operation needs."),
  NotFound: refusal("404", "The organization has nothing with this id or name."),
  Conflict: refusal("409", "The request conflicts with something that exists."),
  PayloadTooLarge: refusal("413", "The body is larger or has more JSON values than the operation accepts."),
  ValidationFailed: {
    ...refusal("422", "An input is invalid, or the body is not sent as application/json."),
    body: "HTTPValidationError",
  },
  RateLimited: refusal(
    "429",
    "This credential or address sent too many requests, or has too many request bytes in flight.",
    "Retry-After",
  ),
  Unavailable: refusal(
    "503",
    "The service cannot serve the request now, for example because the store cannot be reached. The same request may succeed later.",
    "Retry-After",
  ),
  Refused: refusal("default", "Any other refusal."),
} as const satisfies Record<string, Refusal>;

export type RefusalName = keyof typeof REFUSALS;

/** `components.responses` of the document. */
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

/** @param description overrides that of the component (OpenAPI 3.1.1, Reference Object). */
export function refusalReference(name: RefusalName, description?: string): Readonly<Record<string, unknown>> {
  return { $ref: `#/components/responses/${name}`, ...(description === undefined ? {} : { description }) };
}

export function headerReferences(...names: readonly string[]): Readonly<Record<string, unknown>> {
  return Object.fromEntries(["X-Request-Id", ...names].map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

function refusal(status: string, description: string, ...headers: readonly string[]): Refusal {
  return { status, description, body: "Error", headers };
}
