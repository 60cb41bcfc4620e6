import type * as z from "zod";

import type { Scope } from "./scopes.ts";

export type Operation = Address & (WithBody | WithoutBody);

/** Path parameters are written `{like_this}`. */
interface Address {
  readonly summary: string;
  /** What it does, in sentences. */
  readonly does: string;
  /** What its answers mean, by status, where the status alone does not say it. An operation documents a 409 only if it is here. */
  readonly answers: Readonly<Partial<Record<401 | 403 | 404 | 409 | 422, string>>> & { readonly 200: string };
  readonly tag: "robots" | "fleets" | "customer-auth" | "catalog" | "webhooks";
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly path: `/v1/${string}`;
  /**
   * A key with scopes needs one of these. `any`: every credential of a person or a program, but not those made for one purpose (a
   * robot's own, a key for enrolments). `public`: no credential is needed. `signed`: none either, because robot computers sign the body
   * with their key, or because the answer tells nothing; it has rate limits of its own, for a site full of robots behind one address.
   */
  readonly scopes: readonly [Scope, ...Scope[]] | "any" | "public" | "signed";
  /** Also without a credential; a credential that is sent must be valid and have one of the scopes. */
  readonly isOpen?: true;
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

type Details = Omit<Address, "tag" | "method" | "path">;
type Method = Address["method"];
type Path = Address["path"];

/** Returns a function that describes operations with this tag. One without `request` takes no body. */
export function operationsOf(tag: Address["tag"]) {
  function operation<const Row extends Details & WithBody>(method: Method, path: Path, row: Row): Address & Row;
  function operation<const Row extends Details & { readonly request?: never }>(
    method: Method,
    path: Path,
    row: Row,
  ): Address & Row & WithoutBody;
  function operation(method: Method, path: Path, row: Details & Partial<WithBody>) {
    return { tag, method, path, request: null, ...row };
  }
  return operation;
}
