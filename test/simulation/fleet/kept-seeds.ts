import type { FleetOptions, FleetReport } from "./fleet.ts";

/** A world that once failed, reduced. */
export interface KeptSeed extends Pick<FleetOptions, "seed" | "robots" | "minutes" | "acts"> {
  readonly found: string;
}

/**
 * Every world that found a fault. A new kind of event changes the world of each seed, so a fault of the product also needs its own test;
 * the seed remains as an additional one.
 */
export const KEPT_SEEDS: readonly KeptSeed[] = [
  {
    seed: 106,
    minutes: 0.02,
    found: "that a replica killed while it opened the database kept all others from writing",
  },
  {
    seed: 7000159,
    acts: [14, 15, 16, 18, 20, 21],
    found: "that a file that came to rest half-written was not waited for when it was written again",
  },
  {
    seed: 20262605,
    acts: [3, 7, 22],
    found: "that truth.ts missed a removed robot which one backup had brought back, and another one had not",
  },
];

/** The line for `KEPT_SEEDS` with the failure. */
export function keptLine({ seed, failure, planned }: FleetReport, { robots, minutes }: Partial<FleetOptions>): string {
  const members = [
    `seed: ${seed}`,
    ...(robots === undefined ? [] : [`robots: ${robots}`]),
    ...(minutes === undefined ? [] : [`minutes: ${minutes}`]),
    `acts: [${planned.join(", ")}]`,
    `found: ${JSON.stringify(failure)}`,
  ];
  return `  { ${members.join(", ")} },`;
}
