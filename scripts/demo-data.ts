/**
 * A service with a console and demo data: robots, fleets in every state, keys, deployments.
 *
 * Builds the console from the sources. Ctrl-C ends it and removes everything.
 */
import { join } from "node:path";

import { scratchFolder } from "./support/end-of-script.ts";
import { readFlags, refuseFlags, wholeNumber } from "./support/flags.ts";

const USAGE = `Usage: node scripts/demo-data.ts [--port 8080] [--robots 1000] [--fleets 50]

Runs a service with a console, robots, fleets in every state, keys and deployments, until Ctrl-C.
--port 0 takes any free port. The commands of src/operator/README.md work against it: line 4 of plant-1 is there.
`;

/** The largest value of each; more robots or fleets take minutes to register. */
const LIMITS = { port: 65_535, robots: 10_000, fleets: 1000 } as const;
/** Fewer do not reach every state. */
const FEWEST = { robots: 30, fleets: 10 } as const;

const flags = readFlags(USAGE, {
  port: { type: "string", default: "8080" },
  robots: { type: "string", default: "1000" },
  fleets: { type: "string", default: "50" },
});
const port = wholeNumber(USAGE, "port", flags.port, LIMITS.port);
const robots = wholeNumber(USAGE, "robots", flags.robots, LIMITS.robots);
const fleets = wholeNumber(USAGE, "fleets", flags.fleets, LIMITS.fleets);
if (fleets > 0 && (fleets < FEWEST.fleets || robots < FEWEST.robots))
  refuseFlags(USAGE, `fleets need at least --fleets ${FEWEST.fleets} --robots ${FEWEST.robots}; for none: --fleets 0`);
// The service's data is removed with the script. Its modules read where to keep it when they are loaded.
const scratch = scratchFolder("robot-policy-demo-");
process.env["TMPDIR"] = scratch;
process.env["ROBOT_POLICY_TEST_MEMORY"] = scratch;
const { startDemo } = await import("../test/support/service/demo-service.ts");
const { buildConsole } = await import("./build-console.ts");
const consoleFolder = join(scratch, "console");
await buildConsole(consoleFolder);
const demo = await startDemo({ port, robots, fleets, examples: true, consoleFolder });
console.log(`${demo.service.url}\nsign in with the key in ${demo.service.key_file}`);
