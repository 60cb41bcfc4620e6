import { agentProgram } from "../../src/agent/commands/table.ts";
import type { ProgramTable } from "../../src/cli/command-table.ts";
import { operatorProgram } from "../../src/operator/program.ts";
import { serviceProgram } from "../../src/service/program.ts";
import { agentManPages } from "../manual/agent.ts";
import { operatorManPage } from "../manual/operator.ts";
import type { ManPage, PageEdition } from "../manual/roff.ts";
import { serviceManPage } from "../manual/service.ts";
import { CONSOLE_PART } from "./bundled.ts";

export type PackageName = "robot-policy-agent" | "robot-policy";

/** What a Debian package holds, beside the Node that runs its programs. */
export interface PackageContents {
  readonly name: PackageName;
  readonly programs: readonly ProgramTable<never, never>[];
  /** Built files that the programs read or start without requiring them. */
  readonly parts: readonly string[];
  /** Before the names of its control file and scripts in systemd/debian: as debhelper has it, nothing for the first package. */
  readonly prefix: string;
  /** Files of this repository, by the path at which they are installed. */
  readonly files: Readonly<Record<string, string>>;
  readonly manPages: (edition: PageEdition) => Promise<readonly ManPage[]>;
}

const AGENT = "robot-policy-agent";
const SERVICE = "robot-policy-service";

/** On a robot; and for who runs the service, or asks it from a terminal. */
export const PACKAGES: readonly PackageContents[] = [
  {
    name: AGENT,
    programs: [agentProgram],
    parts: [],
    prefix: "",
    files: {
      [`usr/lib/systemd/system/${AGENT}.service`]: `systemd/${AGENT}.service`,
      [`usr/lib/systemd/system/${AGENT}-setup.service`]: `systemd/${AGENT}-setup.service`,
      [`usr/lib/systemd/system/${AGENT}-look.service`]: `systemd/${AGENT}-look.service`,
      [`usr/lib/systemd/system/${AGENT}.timer`]: `systemd/${AGENT}.timer`,
      [`usr/lib/systemd/system-preset/80-${AGENT}.preset`]: `systemd/${AGENT}.preset`,
      [`usr/lib/sysusers.d/${AGENT}.conf`]: `systemd/${AGENT}.sysusers`,
      [`usr/share/${AGENT}/growing-delay.conf`]: "systemd/growing-delay.conf",
      [`usr/share/doc/${AGENT}/examples/credential-store.conf`]: "systemd/credential-store.conf",
      [`usr/share/doc/${AGENT}/examples/sealed-key.conf`]: "systemd/sealed-key.conf",
      [`etc/${AGENT}/config.example.yaml`]: "config/config.example.yaml",
      [`etc/${AGENT}/robot-manifest.example.yaml`]: "config/robot-manifest.example.yaml",
    },
    manPages: agentManPages,
  },
  {
    name: "robot-policy",
    programs: [operatorProgram, serviceProgram],
    parts: ["sqlite-worker.cjs", CONSOLE_PART],
    prefix: "robot-policy.",
    files: {
      [`usr/lib/systemd/system/${SERVICE}.service`]: `systemd/${SERVICE}.service`,
      [`usr/lib/systemd/system/${SERVICE}-backup.service`]: `systemd/${SERVICE}-backup.service`,
      [`usr/lib/systemd/system/${SERVICE}-backup.timer`]: `systemd/${SERVICE}-backup.timer`,
      [`usr/lib/sysusers.d/${SERVICE}.conf`]: `systemd/${SERVICE}.sysusers`,
      [`etc/${SERVICE}/config.example.yaml`]: "config/service.example.yaml",
      [`etc/${SERVICE}/models.example.yaml`]: "config/models.example.yaml",
    },
    manPages: async (edition) => [operatorManPage(edition), serviceManPage(edition)],
  },
];

export function isPackageName(name: string): name is PackageName {
  return PACKAGES.some((each) => each.name === name);
}
