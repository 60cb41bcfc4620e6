import type { OperatorContext } from "../operator/context.ts";
import type { OperatorFlags } from "../operator/flags.ts";
import { systemMachine } from "../platform/machine.ts";
import { JSON_FLAG, type ProgramTable } from "./command-table.ts";
import { completionRow } from "./completion-row.ts";
import { COMPLETE } from "./completion/description.ts";
import { accountRows } from "./operator-account-rows.ts";
import { enrolmentRows } from "./operator-enrolment-rows.ts";
import { deployRows, fleetRows, robotRows } from "./operator-robot-rows.ts";
import { webhookRows } from "./operator-webhook-rows.ts";
import { deploymentRows, modelRows, organizationRows } from "./operator-rows.ts";
import type { ProcessContext } from "./process-context.ts";
import { runProgram } from "./run-program.ts";
import { VERSION } from "./version.ts";

export const operatorProgram: ProgramTable<OperatorFlags, OperatorContext> = {
  name: "robot-policy",
  summary: "Shows and manages the robots, fleets, models and API keys of a robot policy service.",
  common: [
    {
      flag: "--context <name>",
      summary: "saved service to use (default: ROBOT_POLICY_CONTEXT, else the current context)",
      names: "contexts",
    },
    {
      flag: "--url <url>",
      summary: "address of the service (default: that of --context, else ROBOT_POLICY_URL, else the current context's)",
    },
    {
      flag: "--key-file <file>",
      summary: "file with the API key (default: the key in ROBOT_POLICY_API_KEY, else the context's login or key)",
    },
    { flag: "--ca-file <file>", summary: "PEM file of a private certificate authority" },
    { flag: "--allow-insecure", summary: "allow plain http to another machine" },
    JSON_FLAG,
  ],
  headings: {
    "The robots": ["robots", "fleets"],
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
    webhooks: "list, create, change, test and delete webhooks; see and resend what they were sent",
    contexts: "manage saved services; without a command, list them",
  },
  alone: { contexts: "list" },
  names: {
    ROBOT: "robots",
    FLEET: "fleets",
    MODEL: "models",
    DEPLOYMENT: "deployments",
    CODE: "codes",
    WEBHOOK: "webhooks",
  },
  commands: [
    ...robotRows,
    ...enrolmentRows,
    ...fleetRows,
    ...modelRows,
    ...deployRows,
    ...deploymentRows,
    ...organizationRows,
    ...webhookRows,
    ...accountRows,
    completionRow("robot-policy", () => operatorProgram),
  ],
  examples: [
    "robot-policy login --url https://policy.example.com    sign in, once",
    "robot-policy robots list                               see what is registered",
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
  if (argv[0] === COMPLETE) {
    const { completeNames } = await import("../operator/complete.ts");
    return completeNames(argv.slice(1), context);
  }
  return runProgram(operatorProgram, argv, { ...own, version: VERSION, context });
}
