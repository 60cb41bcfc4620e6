/**
 * Tests of the whole API against the service document, and against the decisions of this service where the document is silent.
 *
 * They know only the address of the service: one process and several replicas, on each database, must give the same answers. The
 * api-*.test.ts files of test/conformance run them on each.
 */
import { afterAll, beforeAll, describe } from "vitest";

import { apiKeysConformance } from "./api-keys.ts";
import { credentialsConformance } from "./credentials.ts";
import { deploymentsConformance } from "./deployments.ts";
import { detailsConformance } from "./details.ts";
import { fleetDetailsConformance } from "./fleet-details.ts";
import { fleetStatesConformance } from "./fleet-states.ts";
import { bulkEnrolmentsConformance } from "./enrolments/bulk.ts";
import { enrolmentsConformance } from "./enrolments/enrolments.ts";
import { enrolmentStartsConformance } from "./enrolments/starts.ts";
import { fleetsConformance } from "./fleets.ts";
import { isolationConformance } from "./isolation.ts";
import { lifeCycleConformance } from "./life-cycle.ts";
import { loginsConformance } from "./logins.ts";
import { modelsConformance } from "./models.ts";
import { pagingConformance } from "./paging.ts";
import { readinessConformance } from "./readiness.ts";
import { reconcileConformance } from "./reconcile.ts";
import { removalConformance } from "./removal.ts";
import { robotsConformance } from "./robots.ts";
import type { Target } from "./target.ts";
import { testsOf } from "./tests.ts";
import { usageConformance } from "./usage.ts";
import { webhooksConformance } from "./webhooks.ts";

const PARTS = [
  credentialsConformance,
  robotsConformance,
  modelsConformance,
  apiKeysConformance,
  fleetsConformance,
  fleetStatesConformance,
  readinessConformance,
  fleetDetailsConformance,
  detailsConformance,
  deploymentsConformance,
  usageConformance,
  loginsConformance,
  enrolmentsConformance,
  bulkEnrolmentsConformance,
  enrolmentStartsConformance,
  webhooksConformance,
  pagingConformance,
  isolationConformance,
  lifeCycleConformance,
  removalConformance,
  reconcileConformance,
];

/**
 * All tests, on a service that `start` starts.
 *
 * @param isFirst whether to run `itOnce` tests: their results do not depend on the store, such as refusals before any query, and limits.
 */
export function apiConformance(what: string, start: () => Promise<Target>, isFirst = true): void {
  // Each test has an organization and switchable models of its own. Run concurrently, they wait for the tasks together.
  describe.concurrent(`API on ${what}`, () => {
    let running: Target | undefined;
    beforeAll(async () => {
      running = await start();
    });
    afterAll(() => running?.[Symbol.asyncDispose]());
    const target = () => {
      if (running === undefined) throw new Error("The service did not start");
      return running;
    };
    const it = testsOf(target);
    for (const part of PARTS) part({ target, it, itOnce: it.skipIf(!isFirst) });
  });
}
