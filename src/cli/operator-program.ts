import type { OperatorContext } from "../operator/context.ts";
import { systemMachine } from "../platform/machine.ts";
import type { ProgramTable } from "./command-table.ts";
import { COMPLETE } from "./completion/description.ts";
import type { CommandFlags, OperatorRow } from "./operator-flags.ts";
import { deployRows, fleetRows, robotRows } from "./operator-robot-rows.ts";
import { accountRows, deploymentRows, modelRows, organizationRows } from "./operator-rows.ts";
import type { ProcessContext } from "./process-context.ts";
import { runProgram } from "./run-program.ts";
import { VERSION } from "./version.ts";

const completionRow: OperatorRow = {
  name: "completion",
  summary: "print the completion script of a shell",
  flags: [],
  argument: "SHELL",
  choices: ["bash", "zsh", "fish"],
  examples: [
    "source <(robot-policy completion bash)",
    'robot-policy completion zsh > "${fpath[1]}/_robot-policy"',
    "robot-policy completion fish > ~/.config/fish/completions/robot-policy.fish",
  ],
  load: async () => {
    const { printCompletion } = await import("./completion/completion.ts");
    return (_flags, { terminal }, shell) => printCompletion(operatorProgram, shell, terminal);
  },
};

export const operatorProgram: ProgramTable<CommandFlags, OperatorContext> = {
  name: "robot-policy",
  summary: "Asks a robot policy service about its robots, and tells it what they are to do.",
  common: [
    {
      flag: "--context <name>",
      summary: "the service by the name it has here (default: ROBOT_POLICY_CONTEXT, else the current one)",
      names: "contexts",
    },
    { flag: "--url <url>", summary: "address of the service (default: ROBOT_POLICY_URL, else the context's)" },
    {
      flag: "--key-file <file>",
      summary: "file with the API key (default: the key in ROBOT_POLICY_API_KEY, else the context's login or key)",
    },
    { flag: "--ca-file <file>", summary: "PEM file of a private certificate authority" },
    { flag: "--allow-insecure", summary: "plain http to another machine" },
    { flag: "--json", summary: "print one JSON document" },
  ],
  headings: {
    "The robots": ["robots", "fleets"],
    "What they run": ["models", "deploy", "deployments"],
    "The organization": ["keys", "usage", "audit", "api"],
    "You and the service": ["login", "logout", "whoami", "contexts", "completion"],
  },
  groups: {
    robots: "see the registered robots, and register others",
    fleets: "see, create and update fleets of robots",
    models: "see the models of the catalog",
    deployments: "see and retire what runs where",
    keys: "create, list and revoke API keys",
    contexts: "the services that are known here; alone it lists them",
  },
  alone: { contexts: "list" },
  commands: [
    ...robotRows,
    ...fleetRows,
    ...modelRows,
    ...deployRows,
    ...deploymentRows,
    ...organizationRows,
    ...accountRows,
    completionRow,
  ],
  examples: [
    "robot-policy login --url https://policy.example.com    sign in, once",
    "robot-policy robots list                               see what is registered",
    "robot-policy robots list --json | jq -r '.[].name'     use it in a script",
  ],
};

/** Runs robot-policy with these arguments. */
export async function runOperatorProgram(
  argv: readonly string[],
  own: ProcessContext,
  machine = systemMachine({}, own.process_id),
): Promise<number> {
  const context: OperatorContext = { ...own, machine, version: VERSION };
  if (argv[0] === COMPLETE) {
    const { completeNames } = await import("../operator/complete.ts");
    return completeNames(argv.slice(1), context);
  }
  return runProgram(operatorProgram, argv, { ...own, version: VERSION, context });
}
