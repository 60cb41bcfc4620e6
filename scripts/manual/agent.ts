/**
 * The reference of the agent, and its manual pages: robot-policy-agent(8) with the same sections, robot-policy-agent-config(5) and
 * robot-manifest(5) from the schemas of both files. Words that are not in the code are written here.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";

import { agentProgram } from "../../src/agent/commands/table.ts";
import { configurationSchema } from "../../src/agent/configuration/configuration.ts";
import { METRICS } from "../../src/agent/control/metrics.ts";
import { manifestSchema } from "../../src/manifest/custom/keys.ts";
import { findingSection } from "./findings.ts";
import { keyTable } from "./keys.ts";
import { commandSection, exitSection } from "./program.ts";
import { example, italic, literal, type ManPage, page, type PageEdition, prose, synopsis } from "./roff.ts";
import { meanings, roffOf, type Section, table, text } from "./section.ts";
import { stateSection } from "./states.ts";

const CONFIG = join(import.meta.dirname, "../../config");
const NAME = agentProgram.name;

const EXITS = exitSection({
  ok: "all is well",
  failed: "it failed, and stderr says why; of `status`: no agent runs, or a disk does not answer",
  usage: "the command line is wrong",
  invalid: "the configuration, the manifest or a configuration file is wrong",
  unreachable: "the service gives no answer, or what answers is not the service",
  unauthorized: "the key or credential is missing or not accepted, or waits for an operator",
  rejected: "the service refuses what it was sent, or is no robot policy service",
  conflict: "the registration is another machine's or another name's, or the service reports a conflict",
  interrupted: "stopped by a signal",
});

const METRIC_SECTION: Section = {
  title: "Metrics",
  blocks: [
    text("The control socket has them at `/metrics`, in the format of Prometheus."),
    table(
      ["metric", "meaning", "type", "labels"],
      METRICS.map(({ name, type, help, label = "" }) => [`\`${name}\``, help, type, label && `\`${label}\``]),
    ),
  ],
};

const FILES: Section = {
  title: "Files",
  blocks: [
    meanings("path", {
      [`/etc/${NAME}/config.yaml`]: "the configuration; without it systemd does not start the agent",
      [`/etc/${NAME}/robot-manifest.yaml`]: "the robot manifest",
      [`/etc/${NAME}/api-key`]: "the API key, and nothing else: mode 0600, owned by the user robot-policy-agent",
      [`/var/lib/${NAME}/registration.json`]:
        "what the robot is registered as; without it the robot is registered anew",
      [`/var/lib/${NAME}/identity-*.json`]:
        "key, enrolment and credential of an enrolled robot; they are bound to this machine",
      [`/run/${NAME}/control.sock`]: "where the running agent answers; members of the group robot-policy-agent may ask",
      [`/var/cache/${NAME}`]: "compiled code of the agent; may be removed at any time",
    }),
  ],
};

const ENVIRONMENT: Section = {
  title: "Environment",
  blocks: [
    meanings("variable", {
      ROBOT_POLICY_API_KEY: "the API key, for provisioning; a credential of systemd and the key file come first",
      "HTTPS_PROXY, HTTP_PROXY, NO_PROXY": "the proxy, unless the configuration names one",
      "SSL_CERT_FILE, SSL_CERT_DIR": "the system's certificates, if they are not below /etc/ssl",
      "CONFIGURATION_DIRECTORY, STATE_DIRECTORY, RUNTIME_DIRECTORY, CREDENTIALS_DIRECTORY": "set by systemd",
      ROBOT_POLICY_EXIT_CODES:
        "`sysexits`, as the units set it: in place of 3 to 7, for which systemd shows misleading names, the program ends with 78, 69, 77, 65 and 79",
      NO_COLOR: "no colours",
    }),
  ],
};

/** Of the page and of robot-policy-agent(8), in this order. */
const SECTIONS = [
  commandSection(agentProgram),
  stateSection,
  findingSection,
  METRIC_SECTION,
  EXITS,
  FILES,
  ENVIRONMENT,
];

const CONFIGURATION_KEYS = keyTable(configurationSchema());
const MANIFEST_KEYS = keyTable(manifestSchema());

/** The sections of src/agent/REFERENCE.md. */
export const agentReference: readonly Section[] = [
  ...SECTIONS,
  { title: "Configuration keys", blocks: [CONFIGURATION_KEYS] },
  {
    title: "Manifest keys",
    blocks: [
      text(
        "A robot of a type that the service knows needs no more than `robot_type_id` and `configuration_files`. An entry of " +
          "`configuration_files` is a path, or a mapping with one of `path`, `device` and `interface`.",
      ),
      MANIFEST_KEYS,
    ],
  },
];

export async function agentManPages(edition: PageEdition): Promise<readonly ManPage[]> {
  const configExample = await readFile(join(CONFIG, "config.example.yaml"), "utf8");
  const manifestExample = await readFile(join(CONFIG, "robot-manifest.example.yaml"), "utf8");
  return [
    { file: `${NAME}.8`, text: programPage(edition) },
    { file: `${NAME}-config.5`, text: configurationPage(edition, configExample) },
    { file: "robot-manifest.5", text: manifestPage(edition, manifestExample) },
  ];
}

const EXTENDED_MANIFEST = `robot_type_id: acme.so101-cell.v1
extends: lerobot.so101-follower.v1
groups:
  - name: arm   # only what differs; the rest stays as the type has it
    limits:
      position: [[-90, 90], [-90, 60], [-90, 90], [-90, 90], [-160, 160]]
      velocity: 120
cameras:
  - { role: front, mount: exterior, width: 640, height: 480, fps: 30 }
  - { role: wrist, mount: wrist, width: 640, height: 480, fps: 30 }
configuration_files:
  - /home/robot/calibration/left_cell.json`;

function programPage(edition: PageEdition): string {
  const head = { name: NAME, section: 8, summary: "keep a robot registered with its robot policy service" };
  return page(head, edition, [
    ...synopsis(NAME),
    ".SH DESCRIPTION",
    prose(agentProgram.summary),
    ".PP",
    prose(
      "The agent reads two files, the configuration and the robot manifest, makes one digest of the configuration files that the " +
        "manifest lists, and registers the robot when the service does not have exactly that. Then it watches. The robot's own " +
        "files are only read. A change that moves no timestamp (a swapped read-only image, a store through a memory mapping) is found " +
        "after a start, by --setup, within an hour in small files, and within a day in all.",
    ),
    ".PP",
    prose(
      "On a robot, run the commands as root: the files belong to root, or to the user robot-policy-agent, as which the agent runs. " +
        "Members of the group robot-policy-agent may use status, reload and --setup while the agent runs.",
    ),
    ...SECTIONS.flatMap(roffOf),
    ".SH EXAMPLES",
    "A robot, from nothing to registered, as root:",
    ...example([
      `${NAME} init    # asks, and writes both files`,
      `${NAME} check   # ends with ok, and the digest`,
      `${NAME} enroll  # shows a code; once an operator approves it, starts the agent, which registers`,
      `${NAME} status  # says: Registered`,
      `# with an API key, in place of enroll: ${NAME} set-key, then systemctl start ${NAME}`,
    ]),
    ".PP",
    "The digest of two files, made by hand:",
    ...example(["sha256sum yam_left.yaml yam_right.yaml | cut -c1-64 | sha256sum"]),
    ".SH SEE ALSO",
    `.BR ${literal(NAME)}\\-config (5),`,
    ".BR robot\\-manifest (5),",
    ".BR systemctl (1),",
    ".BR systemd.exec (5)",
  ]);
}

function configurationPage(edition: PageEdition, file: string): string {
  const head = { name: `${NAME}-config`, section: 5, summary: "configuration of robot-policy-agent" };
  return page(head, edition, [
    ".SH SYNOPSIS",
    italic(`/etc/${NAME}/config.yaml`),
    ".SH DESCRIPTION",
    prose(
      "YAML 1.2. How to reach the service, and who this robot is; one text can serve a whole fleet. Unknown keys are mistakes, " +
        "except those that begin with x-, which are yours. After an edit, robot-policy-agent check finds every mistake, with its " +
        "line and column. The running agent takes the edit over by itself; systemctl reload robot-policy-agent does it at once, and " +
        "fails with the reason when the edit is bad. Then the agent goes on with what it had.",
    ),
    ...roffOf({ title: "Keys", blocks: [CONFIGURATION_KEYS] }),
    ".SH EXAMPLE",
    ...example(file.trimEnd().split("\n")),
    ".SH SEE ALSO",
    `.BR ${literal(NAME)} (8),`,
    ".BR robot\\-manifest (5)",
  ]);
}

function manifestPage(edition: PageEdition, file: string): string {
  const head = {
    name: "robot-manifest",
    section: 5,
    summary: "what a robot is, and which files decide how it behaves",
  };
  return page(head, edition, [
    ".SH SYNOPSIS",
    italic(`/etc/${NAME}/robot-manifest.yaml`),
    ".SH DESCRIPTION",
    prose(
      "YAML 1.2. What this robot is: its type, and the files that decide how a command becomes motion or a pixel becomes an " +
        "input. A robot of a type that the service knows needs no more than robot_type_id and configuration_files. The other keys " +
        "describe a type of your own: all of it, or, with extends, what differs from a type of the catalog.",
    ),
    ".PP",
    prose(
      "robot-policy-agent check finds every mistake, with its line and column, and the running agent notices every edit. " +
        "Keys that begin with x- are yours, and ignored.",
    ),
    ...roffOf({ title: "Keys", blocks: [MANIFEST_KEYS] }),
    ".SH EXAMPLES",
    ...example(file.trimEnd().split("\n")),
    ".PP",
    "A robot of your own, as what differs from a type of the catalog:",
    ...example(EXTENDED_MANIFEST.split("\n")),
    ".SH SEE ALSO",
    `.BR ${literal(NAME)} (8),`,
    `.BR ${literal(NAME)}\\-config (5)`,
  ]);
}
