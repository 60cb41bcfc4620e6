import type { ProgramTable } from "../cli/command-table.ts";
import type { ProcessContext } from "../cli/process-context.ts";
import { completionRow } from "../cli/completion.ts";
import { runProgram } from "../cli/run-program.ts";
import { VERSION } from "../cli/version.ts";
import { systemMachine } from "../platform/machine.ts";
import { apiCommands } from "./api/api.ts";
import { auditCommands } from "./audit/audit.ts";
import { namesOfKind } from "./complete.ts";
import type { OperatorContext } from "./context.ts";
import { deploymentCommands } from "./deployments/deployments.ts";
import { enrolmentCommands } from "./enrolments/enrolments.ts";
import { COMMON, flagRows } from "./flags.ts";
import { fleetCommands } from "./fleets/fleets.ts";
import { keyCommands } from "./keys/keys.ts";
import { contextCommands } from "./logins/context-commands.ts";
import { loginCommands } from "./logins/logins.ts";
import { modelCommands } from "./models/models.ts";
import { robotCommands } from "./robots/robots.ts";
import { statusCommands } from "./robots/status.ts";
import { usageCommands } from "./usage/usage.ts";
import { webhookCommands } from "./webhooks/webhooks.ts";

export const operatorProgram: ProgramTable<object, OperatorContext> = {
  name: "robot-policy",
  summary: "Shows and manages the robots, fleets, models and API keys of a robot policy service.",
  common: flagRows(COMMON),
  headings: {
    "The robots": ["status", "robots", "fleets"],
    "What they run": ["models", "deploy", "deployments"],
    "The organization": ["keys", "webhooks", "usage", "audit", "api"],
    "You and the service": ["login", "logout", "whoami", "contexts", "completion"],
  },
  groups: {
    robots: "list, show, register, approve and remove robots",
    fleets: "list, show, create, update and delete fleets of robots",
    models: "list and show the models of the catalog",
    deployments: "list, show and retire deployments",
    keys: "create, list and revoke API keys",
    webhooks: "list, create, test, rotate and delete webhooks",
    contexts: "manage saved services; without a command, list them",
  },
  names: {
    ROBOT: "robots",
    FLEET: "fleets",
    MODEL: "models",
    DEPLOYMENT: "deployments",
    CODE: "codes",
    KEY: "keys",
    WEBHOOK: "webhooks",
  },
  namesOfKind,
  commands: [
    ...statusCommands,
    ...robotCommands,
    ...enrolmentCommands,
    ...fleetCommands,
    ...modelCommands,
    ...deploymentCommands,
    ...keyCommands,
    ...usageCommands,
    ...auditCommands,
    ...apiCommands,
    ...webhookCommands,
    ...loginCommands,
    ...contextCommands,
    completionRow("robot-policy"),
  ],
  examples: [
    "robot-policy login --url https://policy.example.com    sign in, once",
    "robot-policy status                                    see what needs attention",
    "robot-policy robots list --json | jq -r '.[].name'     use it in a script",
  ],
  unrepeated: ["login", "logout", "contexts", "completion"],
};

/** Runs robot-policy with these arguments. */
export async function runOperatorProgram(
  argv: readonly string[],
  own: ProcessContext,
  machine = systemMachine({}, own.processId),
): Promise<number> {
  own.stopWithTerminal();
  const context: OperatorContext = { ...own, machine, version: VERSION };
  return runProgram(operatorProgram, argv, { ...own, version: VERSION, context });
}
