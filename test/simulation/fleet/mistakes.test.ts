/** @module-tag needs/night */
import { describe, expect, it } from "vitest";

import { isLong } from "../../support/run/tier.ts";
import { type MistakeName, MISTAKES, simulateFleet } from "./fleet.ts";
import { shrink } from "./shrink.ts";

/** The first seed that finds each planted mistake, and its message. None may need more than 200 seeds. */
const FINDS: readonly (readonly [mistake: MistakeName, seed: number, failure: RegExp])[] = [
  ["the organization is left out of a query", 2, /is shown/],
  ["a revoked key is still valid", 76, /to a revoked key/],
  ["the scopes of a key are ignored", 48, /a key that may only set up robots may/],
  ["a registration does not replace the digest", 1, /not settled: .* the service holds/],
  ["a robot gets a new id when it registers again", 1, /FOREIGN KEY constraint failed/],
  ["a recorded period does not start a new one", 13, /periods of .* overlap/],
  ["a period does not end with its deployment", 19, /usage and the state of a deployment disagree/],
  ["a replaced deployment is not retired", 19, /usage and the state of a deployment disagree|two current deployments/],
  ["an update of a fleet is never promoted", 26, /a fleet update does not complete/],
  ["the outcome of a probe is forgotten", 5, /a deployment does not settle/],
  ["the lease of a dead replica never expires", 56, /not settled/],
  ["usage follows changes of the wall clock", 55, /answered 429|but the ledger has/],
  ["writes of other replicas are not noticed", 68, /lacks .* which was acknowledged earlier/],
  ["reads need a writable disk", 24, /although the disk can be read/],
  ["a write is acknowledged before it is committed", 1, /acknowledged before it is in the database/],
  ["a write is rolled back and acknowledged", 1, /acknowledged before it is in the database/],
  ["commits are not synced", 9, /is lost/],
  ["a full disk is reported as success", 24, /acknowledged before it is in the database/],
  ["registrations are read from memory", 33, /is reported as registered with/],
  ["list caches are shared between organizations", 32, /is shown a robot of/],
  ["two answers are swapped", 1, /is shown a robot of/],
  ["an error repeats the key", 1, /repeats the key in its answer/],
  ["a robot is counted twice", 68, /do not add up/],
  ["a sleeping task is never woken", 3, /not settled/],
  ["random bytes are not random", 1, /Found no code for an enrolment/],
  ["the clock stands still", 5, /but the ledger has/],
  ["a lost answer makes a robot a copy of itself", 2, /is reported as a copy of itself|in use on two computers/],
  ["the previous installation of a robot is not revoked", 53, /UNIQUE constraint failed: installations/],
  ["a key is in the log", 1, /a key is in the log/],
  ["the agent does not stat again after reading", 3, /which no state of the files ever had/],
  ["the agent does not sync its state", 1, /a power cut would take from it/],
  ["the agent takes seconds as minutes", 4, /tried again .* after the last/],
  ["the agent's delays have no jitter", 33, /tried \d+ times in/],
  ["the agent never rereads its key", 3, /not settled: .* the agent is unauthorized/],
  ["the agent reads files only in part", 1, /which no state of the files ever had/],
  ["all agents have one name", 1, /a second robot would have been made/],
];

/** These test the simulation, not the product. The gate tests a few of them. */
const FINDS_IN_GATE = FINDS.filter((_, index) => index % 6 === 0);

describe("simulateFleet", () => {
  it("simulateFleet: same seed → same trace, another seed → another trace", async () => {
    const first = await simulateFleet({ seed: 1010 });
    const again = await simulateFleet({ seed: 1010 });
    const other = await simulateFleet({ seed: 1009 });
    expect(again).toEqual(first);
    expect(first.steps).toBeGreaterThan(1000);
    expect(other.traceHash).not.toBe(first.traceHash);
  });

  it.each(isLong ? FINDS : FINDS_IN_GATE)(
    "simulateFleet: planted mistake (%s) → found by seed %i",
    async (mistake, seed, failure) => {
      expect(seed).toBeLessThanOrEqual(200);
      expect((await simulateFleet({ seed, mistake })).failure).toMatch(failure);
    },
  );

  it("MISTAKES: every planted mistake → has a seed that finds it", () => {
    expect(FINDS.map(([mistake]) => mistake)).toEqual(MISTAKES);
  });

  it("shrink: failing world → only the acts that the failure needs", async () => {
    const mistake = "a revoked key is still valid";
    const options = { seed: 76, mistake, acts: [3, 5, 8, 23, 27] } as const;
    const small = await shrink(options, await simulateFleet(options));
    expect(small.acts).toMatchObject({ "an operator rotates a robot's key": 1, "an operator revokes a key": 1 });
    expect(small.planned).toEqual([3, 23, 27]);
  });
});
