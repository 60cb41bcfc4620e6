import type { HttpRequest } from "../../../src/client/transport/transport.ts";
import type { Dice } from "../dice.ts";
import { MODELS } from "./service/prepared-database.ts";

/** Sends a request with the organization's key or the given one; null without an answer. */
export type Call = (
  dice: Dice,
  method: HttpRequest["method"],
  path: string,
  body?: unknown,
  key?: string,
) => Promise<{ readonly status: number; readonly body: unknown; readonly isDone: boolean } | null>;

/** Ids of the organization's resources. */
export interface Belongings {
  readonly fleets: string[];
  readonly deployments: string[];
  /** Keys by id, including those of robots. */
  readonly keys: Map<string, string>;
}

/** Codes that have just expired count as wrong attempts, of which ten are allowed per minute. */
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
