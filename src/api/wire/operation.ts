import type * as z from "zod";

import type { ApiKeyScope } from "./scopes.ts";

export type Operation = Address & (WithBody | WithoutBody);

/** Path parameters are written `{like_this}`. */
interface Address {
  readonly summary: string;
  readonly tag: "robots" | "fleets" | "customer-auth" | "catalog";
  readonly method: "GET" | "POST" | "DELETE";
  readonly path: `/v1/${string}`;
  /** A key with scopes needs one of these. `any`: every credential is allowed. `public`: no credential is needed. */
  readonly scopes: readonly [ApiKeyScope, ...ApiKeyScope[]] | "any" | "public";
  /** Query parameters; unknown ones are ignored. */
  readonly query?: z.ZodObject;
  readonly response: z.ZodType;
}

export interface WithBody<S extends z.ZodType = z.ZodType> {
  readonly request: S;
  /** Largest body that is accepted. */
  readonly bodyBytes: number;
}

export interface WithoutBody {
  readonly request: null;
}
