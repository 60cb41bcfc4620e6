/**
 * The interface description at /openapi.json: OpenAPI 3.1, made from the tables and schemas of src/api that requests are checked
 * with, so that it says what the service does.
 *
 * schemas.ts has the bodies, paths.ts the operations, refusals.ts the answers they share, examples.ts requests that work. The
 * words are in overview.ts and operation-descriptions.ts, those of bodies at their schemas in src/api.
 */
import { hash } from "node:crypto";

import { OVERVIEW } from "./overview.ts";
import { paths } from "./paths.ts";
import { refusalComponents } from "./refusals.ts";
import { componentSchemas } from "./schemas.ts";

/** Of the interface, as the service document gives it; not of this program. */
const INTERFACE_VERSION = "0.1.0";

export interface OpenApiDocument {
  /** JSON, in the bytes that every answer shares. */
  readonly bytes: Uint8Array;
  /** Strong: it changes with every byte. */
  readonly etag: string;
}

let cached: OpenApiDocument | null = null;

/** The document, made when it is first asked for. */
export function openApiDocument(): OpenApiDocument {
  if (cached === null) {
    const json = JSON.stringify(describeInterface());
    cached = { bytes: Buffer.from(json), etag: `"${hash("sha256", json, "base64url").slice(0, 22)}"` };
  }
  return cached;
}

function describeInterface() {
  return {
    openapi: "3.1.1",
    info: {
      title: "Robot policy service",
      version: INTERFACE_VERSION,
      description: OVERVIEW,
    },
    servers: [{ url: "/" }],
    security: [{ bearer: [] }],
    tags: [
      { name: "robots", description: "Robots and their registration." },
      { name: "fleets", description: "Robots that share one model." },
      { name: "customer-auth", description: "Deployments, API keys, logins, sessions and usage of the organization." },
      { name: "catalog", description: "Models on offer." },
      { name: "service", description: "The service itself." },
    ],
    paths: paths(),
    components: {
      schemas: { ...componentSchemas(), Health: HEALTH },
      responses: refusalComponents(),
      headers: HEADERS,
      securitySchemes: {
        bearer: {
          type: "http",
          scheme: "bearer",
          description: "An organization API key, sk_<marker>_<key>, or the token of a CLI session.",
        },
      },
    },
  };
}

const HEALTH = {
  type: "object",
  properties: { status: { enum: ["ok", "ready"] } },
  required: ["status"],
};

const HEADERS = {
  "X-Request-Id": header(
    "Finds the request in the log: the one that was sent along, where it is well-formed, else a new one.",
    {
      type: "string",
      pattern: "^[A-Za-z0-9._-]{1,64}$",
    },
  ),
  "RateLimit-Policy": header(
    "How many requests are allowed in how many seconds (draft-ietf-httpapi-ratelimit-headers).",
    {
      type: "string",
    },
  ),
  RateLimit: header("How many of them are left, and in how many seconds all are there again.", { type: "string" }),
  "Retry-After": header("Seconds to wait before the next attempt.", { type: "integer", minimum: 1 }),
  "WWW-Authenticate": header("How to authenticate (RFC 6750).", { type: "string" }),
  Link: header('The next page, rel="next" (RFC 8288); missing on the last one.', { type: "string" }),
};

function header(description: string, schema: Readonly<Record<string, unknown>>) {
  return { description, schema };
}
