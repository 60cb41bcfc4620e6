/**
 * A service with a console and demo data: robots, fleets in every state, keys, deployments.
 *
 *     node scripts/demo-data.ts [--port 8080] [--robots 1000] [--fleets 50]
 *
 * Builds the console from the sources. Ctrl-C ends it and removes everything.
 */
import { join } from "node:path";
import { parseArgs } from "node:util";

const USAGE = `Usage: node scripts/demo-data.ts [--port 8080] [--robots 1000] [--fleets 50]

Runs a service with a console, robots, fleets in every state, keys and deployments, until Ctrl-C.
--port 0 takes any free port. The commands of the README work against it: line 4 of plant-1 is there.
`;

/** The largest value of each; more robots or fleets take minutes to register. */
const LIMITS = { port: 65_535, robots: 10_000, fleets: 1000 } as const;

const chosen = readArguments();
if (typeof chosen === "string") {
  process.stderr.write(`error: ${chosen}\n\n${USAGE}`);
  process.exitCode = 2;
} else if (chosen === null) {
  process.stdout.write(USAGE);
} else {
  // Loaded here, so that help and usage errors are shown without delay.
  const { startDemo } = await import("../test/support/service/demo-service.ts");
  const { buildConsole } = await import("./build-console.ts");
  const { scratchFolder } = await import("./support/end-of-script.ts");
  // The service's data is removed with the script.
  const scratch = scratchFolder("robot-policy-demo-");
  process.env["TMPDIR"] = scratch;
  const consoleFolder = join(scratch, "console");
  await buildConsole(consoleFolder);
  const demo = await startDemo({ ...chosen, examples: true, consoleFolder });
  console.log(`${demo.service.url}\nsign in with the key in ${demo.service.key_file}`);
}

/** Null for help; a sentence for arguments that cannot be parsed. */
function readArguments() {
  try {
    const { values } = parseArgs({
      options: {
        help: { type: "boolean", short: "h" },
        port: { type: "string", default: "8080" },
        robots: { type: "string", default: "1000" },
        fleets: { type: "string", default: "50" },
      },
    });
    if (values.help === true) return null;
    for (const name of ["port", "robots", "fleets"] as const) {
      const isNumber = /^\d{1,5}$/.test(values[name]) && Number(values[name]) <= LIMITS[name];
      if (!isNumber) return `--${name} '${values[name]}' is no number from 0 to ${LIMITS[name]}`;
    }
    return { port: Number(values.port), robots: Number(values.robots), fleets: Number(values.fleets) };
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
