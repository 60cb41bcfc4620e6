/**
 * The whole API, held to the service document and to what this service decided where the document is silent.
 *
 * It knows nothing of the service but its address: one process or several replicas, on one database or another, must give
 * the same answers. A file of test/conformance runs it on each.
 */
import { afterAll, beforeAll, describe, it } from "vitest";

import { apiKeysConformance } from "./api-keys.ts";
import { credentialsConformance } from "./credentials.ts";
import { deploymentsConformance } from "./deployments.ts";
import { detailsConformance } from "./details.ts";
import { fleetsConformance } from "./fleets.ts";
import { isolationConformance } from "./isolation.ts";
import { loginsConformance } from "./logins.ts";
import { modelsConformance } from "./models.ts";
import { pagingConformance } from "./paging.ts";
import { readinessConformance } from "./readiness.ts";
import { robotsConformance } from "./robots.ts";
import type { ItOnce, Target } from "./target.ts";
import { usageConformance } from "./usage.ts";

const PARTS = [
  credentialsConformance,
  robotsConformance,
  modelsConformance,
  apiKeysConformance,
  fleetsConformance,
  readinessConformance,
  detailsConformance,
  deploymentsConformance,
  usageConformance,
  loginsConformance,
  pagingConformance,
  isolationConformance,
];

/**
 * Every rule of the API, on a service started for it.
 *
 * @param itOnce defines the tests that show the same on every service: of what is refused before the store is asked, and of bounds.
 */
export function apiConformance(what: string, start: () => Promise<Target>, itOnce: ItOnce = it): void {
  // Each test has an organization, and models that are switched off and on, of its own. Side by side they wait for the tasks together.
  describe.concurrent(`the API on ${what}`, () => {
    let running: Target | undefined;
    beforeAll(async () => {
      running = await start();
    });
    afterAll(() => running?.[Symbol.asyncDispose]());
    const target = () => {
      if (running === undefined) throw new Error("The service did not start");
      return running;
    };
    for (const part of PARTS) part(target, itOnce);
  });
}
