import type { OperatorContext, OperatorFlags } from "../operator/operator.ts";
import { systemMachine } from "../platform/machine.ts";
import type { ProgramTable } from "./command-table.ts";
import type { ProcessContext } from "./process-context.ts";
import { runProgram } from "./run-program.ts";
import { VERSION } from "./version.ts";

const table: ProgramTable<OperatorFlags, OperatorContext> = {
  name: "robot-policy",
  summary: "Asks a robot policy service about its robots.",
  common: [
    { flag: "--url <url>", summary: "address of the service (default: ROBOT_POLICY_URL)" },
    { flag: "--key-file <file>", summary: "file with the API key (default: the key in ROBOT_POLICY_API_KEY)" },
    { flag: "--ca-file <file>", summary: "PEM file of a private certificate authority" },
    { flag: "--allow-insecure", summary: "plain http to another machine" },
    { flag: "--json", summary: "print one JSON document" },
  ],
  groups: { robots: "see the registered robots" },
  commands: [
    {
      name: "robots list",
      summary: "list the registered robots, oldest first",
      flags: [],
      examples: ["robot-policy robots list --url http://127.0.0.1:8080 --key-file ./api-key"],
      load: async () => (await import("../operator/commands/list-robots.ts")).listRobots,
    },
  ],
  examples: ["robot-policy robots list", "robot-policy robots list --json | jq -r '.[].name'"],
};

/** Runs robot-policy with these arguments. */
export function runOperatorProgram(argv: readonly string[], own: ProcessContext): Promise<number> {
  const machine = systemMachine({}, own.process_id);
  return runProgram(table, argv, { ...own, version: VERSION, context: { ...own, machine, version: VERSION } });
}
