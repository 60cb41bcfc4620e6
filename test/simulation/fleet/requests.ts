import type { HttpRequest } from "../../../src/client/transport/transport.ts";
import type { Dice } from "../dice.ts";
import { MODELS } from "./service/prepared-database.ts";

/** A request with the key of the organization, unless another is given; null where no answer came. */
export type Call = (
  dice: Dice,
  method: HttpRequest["method"],
  path: string,
  body?: unknown,
  key?: string,
) => Promise<{ readonly status: number; readonly body: unknown; readonly isDone: boolean } | null>;

/** Ids of what an organization has. */
export interface Belongings {
  readonly fleets: string[];
  readonly deployments: string[];
  /** Keys by id; those of robots, too. */
  readonly keys: Map<string, string>;
}

/** Who tries a code that has just ended may only do so ten times a minute. */
export const DECISIONS = ["/approve", "/deny"] as const;

export const LISTS = [
  "/v1/robots",
  "/v1/robots",
  "/v1/fleets",
  "/v1/me/deployments",
  "/v1/me/api-keys",
  "/v1/me/usage",
  "/v1/me/usage/summary",
  `/v1/models/${MODELS[0]}`,
  "/v1/me/audit",
  "/v1/me/fleet-needs",
] as const;
