import { join } from "node:path";

import { givenTexts } from "../api/robot-texts.ts";
import type { RobotSetup } from "../api/robots.ts";
import { expandPatterns } from "../look/patterns.ts";
import type { ConfigurationFile } from "../look/snapshot.ts";
import type { RobotManifest } from "../manifest/manifest.ts";
import type { Files } from "../platform/files/files.ts";
import { type AgentConfiguration, expandName } from "./configuration/configuration.ts";
import { NAME_LIMIT } from "./configuration/keys.ts";
import type { PlainFinding } from "./findings.ts";

/** The values for the name template. */
export interface NameParts {
  readonly hostname: string;
  /** 64 hex characters, or null where the machine has no id. */
  readonly machine: string | null;
}

/** Hex characters of the machine's identifier in `{machine_id}`. */
const MACHINE_ID_CHARACTERS = 12;

/** The body of `POST /v1/robots/setup`: who the robot is from its configuration, what it is from its manifest. */
export function buildRobotSetup(
  configuration: AgentConfiguration,
  manifest: RobotManifest,
  digest: string,
  name: string,
): RobotSetup {
  const { region, labels } = configuration.robot;
  return {
    name,
    robot_type_id: manifest.robot_type_id,
    region,
    configuration_digest: digest,
    ...givenTexts((text) => configuration.robot[text]),
    ...(Object.keys(labels).length === 0 ? {} : { labels: { ...labels } }),
    ...(manifest.contract === null ? {} : { contract: { ...manifest.contract } }),
  };
}

export function robotName(configuration: AgentConfiguration, parts: NameParts): string {
  return expandName(configuration.robot.name, {
    hostname: parts.hostname,
    machineId: parts.machine?.slice(0, MACHINE_ID_CHARACTERS) ?? "",
  });
}

/** Checks the name after the template is filled in, which depends on the machine. */
export function checkName(configuration: AgentConfiguration, parts: NameParts): PlainFinding | null {
  const loc = "/robot/name";
  if (parts.machine === null && configuration.robot.name.includes("{machine_id}")) {
    return {
      id: "machine_id_missing",
      loc,
      message: "this machine has no /etc/machine-id for {machine_id}; run systemd-machine-id-setup",
    };
  }
  const name = robotName(configuration, parts);
  const length = [...name].length;
  if (length >= 1 && length <= NAME_LIMIT) return null;
  return {
    id: "name_length",
    loc,
    message: `the name ${JSON.stringify(name)} has ${length} characters; the service takes 1 to ${NAME_LIMIT}`,
  };
}

/** Default hostnames of images, shared by all computers that were not renamed. */
const IMAGE_HOSTNAME =
  /^(?:debian|localhost(?:\.localdomain)?|(?:jetson|nvidia)(?:-desktop)?|orangepi|radxa|raspberrypi|rock|(?:tegra-)?ubuntu)$/i;

/** Two computers with one name are one robot for the service: each replaces the registration of the other. */
export function checkCommonName({ robot }: AgentConfiguration, hostname: string): PlainFinding | null {
  const { name } = robot;
  if (!name.includes("{hostname}") || name.includes("{machine_id}") || !IMAGE_HOSTNAME.test(hostname)) return null;
  return {
    id: "name_common",
    loc: "/robot/name",
    message: `many computers have the hostname ${hostname}, and robots with the same name replace each other; give this one a name, or write name: ${JSON.stringify(`${name}-{machine_id}`)}`,
  };
}

/** The manifest's files and devices with absolute paths, in digest order; none while it is invalid or a path cannot be resolved. */
export interface ListedFiles {
  /** With patterns as they are written. */
  readonly files: readonly ConfigurationFile[];
  /** Why a path cannot be resolved. */
  readonly finding: PlainFinding | null;
}

/** `~/` always means `robot.home`, never the home of the user who runs the program: the digest must not depend on that. */
export function listedFiles({ robot }: AgentConfiguration, manifest: RobotManifest | null): ListedFiles {
  const { home } = robot;
  const files: ConfigurationFile[] = [];
  for (const [entry, { loc, ...file }] of manifest?.configuration_files.entries() ?? []) {
    const { path } = file;
    if (!path.startsWith("~/")) files.push({ ...file, entry });
    else if (home !== null) files.push({ ...file, path: join(home, path.slice(2)), entry });
    else {
      const message = `${path}: set robot.home in the agent's configuration; ~/ refers to it`;
      return { files: [], finding: { id: "home_missing", loc, message } };
    }
  }
  return { files, finding: null };
}

/** The same, with the files of patterns as they are now. */
export async function filesNow(disk: Files, configuration: AgentConfiguration, manifest: RobotManifest | null) {
  const { files, finding } = listedFiles(configuration, manifest);
  return { ...(await expandPatterns(disk, files)), finding };
}
