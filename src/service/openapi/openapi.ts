/**
 * The interface description at /openapi.json: OpenAPI 3.1, generated from the tables and schemas of src/api that also validate
 * requests, so that both always agree.
 *
 * schemas.ts has the bodies, paths.ts the operations with their error answers and examples, overview.ts what applies to all of them. The
 * other texts are in src/api, at the operations and at the schemas of bodies.
 */
import { hash } from "node:crypto";

import { OVERVIEW } from "./overview.ts";
import { paths, refusalComponents } from "./paths.ts";
import { componentSchemas } from "./schemas.ts";

/** Version of the interface in its specification, not of this program. */
const INTERFACE_VERSION = "0.1.0";

export interface OpenApiDocument {
  /** JSON. */
  readonly bytes: Uint8Array;
  /** A strong ETag. */
  readonly etag: string;
}

let cached: OpenApiDocument | null = null;

/** The document, generated on first use and cached. */
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
      { name: "catalog", description: "Models of the catalog." },
      { name: "webhooks", description: "Where events of robots and fleets are sent." },
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
    "Identifies the request in the log: the id of the request's own header if it is well-formed, otherwise a new one.",
    { type: "string", pattern: "^[A-Za-z0-9._-]{1,64}$" },
  ),
  "RateLimit-Policy": header(
    "The quota of requests and its time window in seconds (draft-ietf-httpapi-ratelimit-headers).",
  ),
  RateLimit: header("The remaining requests, and the seconds until the quota is full again."),
  "Retry-After": header("Seconds to wait before the next attempt.", { type: "integer", minimum: 1 }),
  "WWW-Authenticate": header("How to authenticate (RFC 6750)."),
  Link: header('The URL of the next page, rel="next" (RFC 8288); absent on the last page.'),
};

function header(description: string, schema: Readonly<Record<string, unknown>> = { type: "string" }) {
  return { description, schema };
}
