/** The reference of robot-policy, and robot-policy(1) with the same sections. */
import { API_KEY_SCOPES, SCOPE_MEANINGS } from "../../src/api/wire/scopes.ts";
import { operatorProgram } from "../../src/operator/program.ts";
import { AUDIT } from "../../src/views/audit.ts";
import { DEPLOYMENTS } from "../../src/views/deployments.ts";
import { ENROLMENTS } from "../../src/views/enrolments.ts";
import { FLEETS } from "../../src/views/fleets.ts";
import { KEYS } from "../../src/views/keys.ts";
import { MODELS } from "../../src/views/models.ts";
import { ROBOTS } from "../../src/views/robots.ts";
import { WEBHOOKS } from "../../src/views/webhooks.ts";
import { commandSection, exitSection } from "./program.ts";
import { example, literal, type ManPage, page, type PageEdition, prose, synopsis } from "./roff.ts";
import { meanings, roffOf, type Section, table, text } from "./section.ts";

const NAME = operatorProgram.name;

interface ShownColumn {
  readonly name: string;
  readonly from?: string;
}

const LISTS: Readonly<Record<string, { readonly columns: readonly ShownColumn[] }>> = {
  "robots list": ROBOTS,
  "robots pending": ENROLMENTS,
  "fleets list": FLEETS,
  "models list": MODELS,
  "deployments list": DEPLOYMENTS,
  "keys list": KEYS,
  "webhooks list": WEBHOOKS,
  audit: AUDIT,
};

const COLUMNS: Section = {
  title: "Columns",
  blocks: [
    text("A narrow terminal leaves out columns, and says which. `--columns` shows those that it names."),
    table(
      ["list", "columns", "only with `--columns`"],
      Object.entries(LISTS).map(([list, { columns }]) => [
        `\`${list}\``,
        named(columns.filter(({ from }) => from !== "asked")),
        named(columns.filter(({ from }) => from === "asked")),
      ]),
    ),
  ],
};

function named(columns: readonly ShownColumn[]): string {
  return columns.map(({ name }) => name).join(", ");
}

const SCOPES: Section = {
  title: "Scopes",
  blocks: [
    text("A key without scopes may do everything except what `robots:enroll` is for, and also approve logins."),
    table(
      ["scope", "a key that has it may"],
      API_KEY_SCOPES.map((scope) => [`\`${scope}\``, SCOPE_MEANINGS[scope]]),
    ),
  ],
};

const EXITS = exitSection({
  ok: "done",
  failed: "it failed on this machine, or `--wait` reached its `--timeout`",
  usage: "the command line is wrong",
  invalid: "a file is wrong",
  unreachable: "the service gives no answer",
  unauthorized: "the credential is missing or not accepted, or may not do this",
  rejected: "the service refuses it or does not know it, or it needs a person to become ready",
  conflict: "the name is taken, or somebody else's change came first",
  interrupted: "stopped by a signal",
});

const FILES: Section = {
  title: "Files",
  blocks: [
    meanings("path", {
      "~/.config/robot-policy": "saved services, with logins and keys; below XDG_CONFIG_HOME where that is set",
    }),
  ],
};

const ENVIRONMENT: Section = {
  title: "Environment",
  blocks: [
    meanings("variable", {
      ROBOT_POLICY_URL: "the address of the service, unless a flag names one",
      ROBOT_POLICY_API_KEY: "the API key, unless a flag names a file with one",
      ROBOT_POLICY_CONTEXT: "the saved service to use, unless a flag names one",
      "HTTPS_PROXY, HTTP_PROXY, NO_PROXY": "the proxy",
      NO_COLOR: "no colours",
    }),
  ],
};

/** The sections of src/operator/REFERENCE.md, and of robot-policy(1). */
export const operatorReference = [commandSection(operatorProgram), COLUMNS, SCOPES, EXITS, FILES, ENVIRONMENT];

export function operatorManPage(edition: PageEdition): ManPage {
  const summary = "manage the robots of a robot policy service";
  const body = [
    ...synopsis(NAME),
    ".SH DESCRIPTION",
    prose(operatorProgram.summary),
    ...operatorReference.flatMap(roffOf),
    ".SH EXAMPLES",
    ...example(operatorProgram.examples),
    ".SH SEE ALSO",
    `.BR ${literal("robot-policy-service")} (8)`,
  ];
  return { file: `${NAME}.1`, text: page({ name: NAME, section: 1, summary }, edition, body) };
}
