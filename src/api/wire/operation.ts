import type * as z from "zod";

import type { ApiKeyScope } from "./scopes.ts";

/** One operation of the service. */
export type Operation = Address & (WithBody | WithoutBody);

/** What every operation has. Path parameters are written `{like_this}`. */
interface Address {
  readonly summary: string;
  readonly tag: "robots" | "fleets" | "customer-auth" | "catalog";
  readonly method: "GET" | "POST" | "DELETE";
  readonly path: `/v1/${string}`;
  /** A key restricted to scopes needs one of these; `any` credential will do, or the operation is `public`. */
  readonly scopes: readonly [ApiKeyScope, ...ApiKeyScope[]] | "any" | "public";
  /** Query parameters; unknown ones are ignored. */
  readonly query?: z.ZodObject;
  readonly response: z.ZodType;
}

export interface WithBody<S extends z.ZodType = z.ZodType> {
  readonly request: S;
  /** A larger body is refused. */
  readonly bodyBytes: number;
}

export interface WithoutBody {
  readonly request: null;
}
