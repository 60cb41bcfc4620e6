/** The manual pages of the package robot-policy, from the tables of its programs: robot-policy(1) and robot-policy-service(8). */
import { readFile } from "node:fs/promises";
import { join } from "node:path";

import type { ProgramTable } from "../../src/cli/command-table.ts";
import { operatorProgram } from "../../src/operator/program.ts";
import { serviceProgram } from "../../src/service/program.ts";
import type { ManPage } from "./pages.ts";
import { describeCommands, describeUse } from "./program.ts";
import { bold, example, italic, literal, page, type PageEdition, prose, term } from "./roff.ts";

const CONFIG = join(import.meta.dirname, "../../config");
const SERVICE = serviceProgram.name;

type Lines = readonly (readonly [tag: string, what: string])[];

const OPERATOR_FILES: Lines = [
  ["~/.config/robot-policy", "Saved services, with logins and keys; below XDG_CONFIG_HOME where that is set."],
];

const OPERATOR_ENVIRONMENT: Lines = [
  ["ROBOT_POLICY_URL", "The address of the service, unless a flag names one."],
  ["ROBOT_POLICY_API_KEY", "The API key, unless a flag names a file with one."],
  ["ROBOT_POLICY_CONTEXT", "The saved service to use, unless a flag names one."],
  ["NO_COLOR", "No colours."],
];

const OPERATOR_EXITS: Lines = [
  ["0", "Done."],
  ["1", "It failed on this machine, or --wait reached its --timeout."],
  ["2", "The command line is wrong."],
  ["3", "A file is wrong."],
  ["4", "The service gives no answer."],
  ["5", "The credential is missing or not accepted, or may not do this."],
  ["6", "The service refuses it or does not know it, or it needs a person to become ready."],
  ["7", "The name is taken, or somebody else's change came first."],
  ["130", "Stopped by a signal."],
];

const SERVICE_FILES: Lines = [
  [`/etc/${SERVICE}/config.yaml`, "The configuration. Without it systemd does not start the service."],
  [`/etc/${SERVICE}/config.example.yaml`, "Every key of it, with comments."],
  [`/etc/${SERVICE}/models.example.yaml`, "A catalog of models, with comments."],
  [`/var/lib/${SERVICE}`, "The store, unless it is a PostgreSQL database."],
];

const SERVICE_EXITS: Lines = [
  ["0", "Done."],
  ["1", "Not possible on this machine or with this store."],
  ["2", "The command line is wrong."],
  ["3", "A file is wrong: configuration, certificate or catalog."],
  ["7", "The organization exists already."],
  ["130", "Stopped by a signal."],
];

export async function operatorManPages(edition: PageEdition): Promise<readonly ManPage[]> {
  const configuration = await readFile(join(CONFIG, "service.example.yaml"), "utf8");
  const operator = programPage(operatorProgram, 1, "manage the robots of a robot policy service", edition, [
    ...list("EXIT STATUS", OPERATOR_EXITS, bold),
    ...list("FILES", OPERATOR_FILES, italic),
    ...list("ENVIRONMENT", OPERATOR_ENVIRONMENT, bold),
    ".SH EXAMPLES",
    ...example(operatorProgram.examples),
    ".SH SEE ALSO",
    `.BR ${literal(SERVICE)} (8)`,
  ]);
  const service = programPage(serviceProgram, 8, "the robot policy service", edition, [
    ...list("EXIT STATUS", SERVICE_EXITS, bold),
    ...list("FILES", SERVICE_FILES, italic),
    ".SH CONFIGURATION",
    ...example(configuration.trimEnd().split("\n")),
    ".SH EXAMPLES",
    "A service under systemd, as root:",
    ...example([
      `cp /etc/${SERVICE}/config.example.yaml /etc/${SERVICE}/config.yaml    # edit it`,
      `${SERVICE} serve --check --config /etc/${SERVICE}/config.yaml`,
      `systemctl enable --now ${SERVICE}`,
    ]),
    ".SH SEE ALSO",
    ".BR robot\\-policy (1),",
    ".BR systemctl (1)",
  ]);
  return [operator, service];
}

function programPage(
  table: ProgramTable<never, never>,
  section: number,
  summary: string,
  edition: PageEdition,
  rest: readonly string[],
): ManPage {
  const { name } = table;
  const head = [...describeUse(table), ".SH DESCRIPTION", prose(table.summary), ...describeCommands(table)];
  return { file: `${name}.${section}`, text: page({ name, section, summary }, edition, [...head, ...rest]) };
}

function list(heading: string, lines: Lines, tag: (text: string) => string): readonly string[] {
  return [`.SH ${heading}`, ...lines.flatMap(([name, what]) => term(tag(name), prose(what)))];
}
