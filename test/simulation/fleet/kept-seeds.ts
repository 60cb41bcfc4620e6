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
  {
    seed: 31001425,
    acts: [2],
    found:
      "that a robot with an API key stayed held back when its disk failed once while the agent looked for an identity",
  },
  {
    seed: 31003456,
    acts: [26, 30, 32],
    found: "that one answer 404 of another server ended the heartbeats for a day",
  },
  {
    seed: 31004080,
    acts: [0, 1, 2, 3, 4, 5, 7, 8, 9, 12, 16, 19, 20, 24, 26],
    found:
      "that a registration was repeated less than half a second after a failure, because a heartbeat had been accepted",
  },
  {
    seed: 31004604,
    acts: [59, 60, 65, 68, 81, 84],
    found: "that a person had to wait until a renewal was due that the service had put off",
  },
  {
    seed: 31002308,
    acts: [3, 6, 8, 10, 13, 16, 17, 19, 26, 27, 30, 32, 37, 38, 43, 47],
    found: "that replica.ts let a replica that was killed while it stopped end in order",
  },
  {
    seed: 31002462,
    acts: [9, 13, 20, 21],
    found: "that network.ts gave a robot another name when it was approved, which no agent can notice",
  },
  {
    seed: 31004748,
    acts: [0, 1, 2, 4, 6, 9, 10, 13, 14, 16, 18, 19, 21],
    found:
      "that truth.ts compared the usage of a removed robot with that of another one of its name, after a clock was set back",
  },
  {
    seed: 31009769,
    acts: [
      0, 1, 4, 6, 7, 8, 9, 10, 11, 13, 16, 17, 18, 19, 21, 22, 24, 25, 26, 27, 28, 29, 30, 31, 33, 34, 35, 36, 37, 38,
      40, 42, 43, 45,
    ],
    found: "that truth.ts expected one audit entry of a registration that changed a fleet, too",
  },
  {
    seed: 31010298,
    acts: [7],
    found: "that honest-digests.ts took a pause with a half-written file for a rest",
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
