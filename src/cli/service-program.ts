import type { CommandContext, ServeOptions } from "../service/commands/serve.ts";
import { LOG_LEVELS } from "../service/log-level.ts";
import type { ProgramTable } from "./command-table.ts";
import type { ProcessContext } from "./process-context.ts";
import { runProgram } from "./run-program.ts";
import { VERSION } from "./version.ts";

const table: ProgramTable<ServeOptions, CommandContext> = {
  name: "robot-policy-service",
  summary: "The /v1 robot policy API, self-hosted: robots register here.",
  common: [],
  commands: [
    {
      name: "serve",
      summary: "run the service; prints one line of JSON with its URL once it accepts requests, and logs to stderr",
      flags: [
        { flag: "--data <dir>", summary: "where everything is kept; made when it is not there", required: true },
        {
          flag: "--listen <host:port>",
          summary: "address to listen on; port 0 takes any free one",
          default: "127.0.0.1:8080",
        },
        {
          flag: "--bootstrap-key-file <file>",
          summary: "make sure the API key in this file works; written when it is not there",
        },
        { flag: "--log-level <level>", summary: "what to log", choices: LOG_LEVELS, default: "info" },
      ],
      examples: ["robot-policy-service serve --data /srv/robot-policy --bootstrap-key-file /srv/robot-policy/api-key"],
      // Loaded here: `--help` needs no database and no web framework.
      load: async () => (await import("../service/commands/serve.ts")).serve,
    },
  ],
  examples: ["robot-policy-service serve --data ./data --listen 127.0.0.1:0 --bootstrap-key-file ./api-key"],
};

/** Runs robot-policy-service with these arguments. */
export function runServiceProgram(argv: readonly string[], own: ProcessContext): Promise<number> {
  return runProgram(table, argv, { ...own, version: VERSION, context: own });
}
