import { describe, expect, it } from "vitest";

import { isLong } from "../../support/run/tier.ts";
import { type MistakeName, MISTAKES, simulateFleet } from "./fleet.ts";
import { shrink } from "./shrink.ts";

/** The first seed that finds each planted mistake, and what it says. None may take more than 200. */
const FINDS: readonly (readonly [mistake: MistakeName, seed: number, failure: RegExp])[] = [
  ["the organization is left out of a query", 2, /is told of/],
  ["a revoked key is still valid", 76, /to a key that was revoked/],
  ["the scopes of a key are ignored", 39, /a key that may only set up robots may/],
  ["a registration does not replace the digest", 1, /not settled: .* the service holds/],
  ["a robot gets a new id when it registers again", 1, /FOREIGN KEY constraint failed/],
  ["a period that was entered does not begin anew", 13, /periods of .* overlap/],
  ["a period does not end with its deployment", 7, /usage runs where it should not/],
  ["a deployment that is replaced is not retired", 7, /usage runs where it should not|two current deployments/],
  ["an update of a fleet is never promoted", 7, /a fleet does not get its model/],
  ["the outcome of a probe is forgotten", 1, /a deployment does not come to rest/],
  ["the claim of a replica that died is never given up", 56, /not settled/],
  ["usage follows a clock that is set", 14, /answered 429|and the ledger says/],
  ["what others wrote is not noticed", 68, /lacks .* which was acknowledged before/],
  ["who only asks needs a disk to write to", 24, /although the disk can be read/],
  ["a write is acknowledged before it is committed", 1, /acknowledged before it is in the database/],
  ["a write is rolled back and acknowledged", 1, /acknowledged before it is in the database/],
  ["commits are not synced", 9, /is gone/],
  ["a full disk is taken for success", 2, /acknowledged before it is in the database/],
  ["a registration is told of from memory", 33, /is said to be registered as/],
  ["lists are kept for all organizations together", 24, /is told of a robot of/],
  ["two answers are mixed up", 1, /is told of a robot of/],
  ["an error repeats the key", 1, /is answered with its own key/],
  ["a robot is counted twice", 68, /do not sum up/],
  ["a task that sleeps is never woken", 2, /not settled/],
  ["random bytes are not random", 1, /Found no code for an enrolment/],
  ["the clock stands still", 1, /and the ledger says/],
  ["an answer that is lost makes a robot a copy of itself", 1, /is taken for a copy of itself/],
  ["the computer that a robot had before is not revoked", 2, /UNIQUE constraint failed: installations/],
  ["a fleet that follows keeps who does not match", 67, /a fleet that follows has not what matches/],
  ["a key is in the log", 1, /a key is in the log/],
  ["the agent does not look again after it read", 3, /which no state of the files ever had/],
  ["the agent does not sync its state", 1, /a power cut would take from it/],
  ["the agent takes seconds for minutes", 1, /sent a state that had lasted|asked .* too early/],
  ["the agent leaves nothing to chance", 2, /asks for its identity too often/],
  ["the agent never reads its key again", 3, /not settled: .* the agent is unauthorized/],
  ["the agent reads a file only in part", 1, /which no state of the files ever had/],
  ["all agents have one name", 1, /a second robot would have been made/],
];

/** They test the simulation, not the product: a few show in the gate that it finds anything. */
const FINDS_IN_GATE = FINDS.filter((_, index) => index % 6 === 0);

describe("simulateFleet", () => {
  it("simulateFleet: the same seed gives the same trace, another one another", async () => {
    const first = await simulateFleet({ seed: 1010 });
    const again = await simulateFleet({ seed: 1010 });
    const other = await simulateFleet({ seed: 1009 });
    expect(again).toEqual(first);
    expect(first.steps).toBeGreaterThan(1000);
    expect(other.traceHash).not.toBe(first.traceHash);
  });

  it.each(isLong ? FINDS : FINDS_IN_GATE)(
    "simulateFleet: finds the planted mistake that %s, with seed %i",
    async (mistake, seed, failure) => {
      expect(seed).toBeLessThanOrEqual(200);
      expect((await simulateFleet({ seed, mistake })).failure).toMatch(failure);
    },
  );

  it("simulateFleet: every mistake that is planted is found", () => {
    expect(FINDS.map(([mistake]) => mistake)).toEqual(MISTAKES);
  });

  it("shrink: leaves of what happened only what a failure needs", async () => {
    const mistake = "a revoked key is still valid";
    const options = { seed: 76, mistake, acts: [3, 5, 8, 23, 27] } as const;
    const small = await shrink(options, await simulateFleet(options));
    expect(small.acts).toMatchObject({ "an operator rotates a robot's key": 1, "an operator revokes a key": 1 });
    expect(small.planned).toEqual([3, 23, 27]);
  });
});
