import type { Disk } from "./disk.ts";

/** Paths on the simulated robot. */
export const PLACES = {
  configuration: "/etc/robot-policy-agent/config.yaml",
  manifest: "/etc/robot-policy-agent/robot-manifest.yaml",
  key: "/etc/robot-policy-agent/api-key",
  state_directory: "/var/lib/robot-policy-agent",
  registration: "/var/lib/robot-policy-agent/registration.json",
  identity_key: "/var/lib/robot-policy-agent/identity-key.json",
  credential: "/var/lib/robot-policy-agent/identity-credential.json",
} as const;

/** The robot's configuration files, one of each kind. */
export const FILES = {
  /** Looks half-written while it is being written. */
  calibration: "/etc/robot/calibration.json",
  limits: "/etc/robot/limits.yaml",
  /** Reached through two links, as in a Kubernetes ConfigMap. */
  policy: "/srv/bundle/policy.txt",
  /** Its folder is replaced as a whole, as in over-the-air updates. */
  offsets: "/opt/robot/tables/offsets.bin",
} as const;

export const ALL_FILES: readonly string[] = Object.values(FILES);
export const BUNDLE = "/srv/bundle";
export const TABLES = "/opt/robot/tables";

/** The file lists of the simulated manifests. */
export const FILE_LISTS: readonly (readonly string[])[] = [
  [FILES.calibration, FILES.limits, FILES.policy, FILES.offsets],
  [FILES.offsets, FILES.policy, FILES.limits, FILES.calibration],
  [FILES.policy, FILES.calibration],
  [],
];

export const HOSTNAME = "arm-17";
export const AGENT_USER = 990;
export const SETTLE_MS = 500;
export const GRACE_MS = 10_000;

export interface ConfigurationChoices {
  readonly site?: string;
  readonly line?: string;
  readonly name?: string;
  readonly url?: string;
  /** The robot enrolls and has no API key. */
  readonly isEnrolled?: boolean;
  readonly extra?: string;
}

export function configurationText({
  site = "hall-1",
  line = "1",
  name = "{hostname}",
  url = "https://policy.example",
  isEnrolled = false,
  extra = "",
}: ConfigurationChoices): string {
  return `service:
  url: ${url}
  ${isEnrolled ? "identity: enrolled" : `key_file: ${PLACES.key}`}
robot:
  name: "${name}"
  region: eu-central-1
  site: ${site}
  labels: { line: "${line}" }
watch: { settle_ms: ${SETTLE_MS} }
${extra}`;
}

export function manifestText(
  list: readonly string[],
  status = "ready",
  type = "yam.bimanual-joint-position.v1",
): string {
  const files = list.length === 0 ? " []" : `\n${list.map((path) => `  - ${path}`).join("\n")}`;
  return `status: ${status}\nrobot_type_id: ${type}\nconfiguration_files:${files}\n`;
}

/** Few, so that old contents recur. */
export const FILE_VERSIONS = 5;

/** The complete content of a version of the file. */
export function contentOf(path: string, version: number): string {
  const number = String(version).padStart(6, "0");
  switch (path) {
    case FILES.calibration:
      return `{\n  "version": ${version},\n  "offsets": [${Array.from({ length: 8 }, (_, axis) => (version * 7 + axis) % 100).join(", ")}]\n}\n`;
    case FILES.limits:
      return `version: "${number}"\njoints:\n${Array.from({ length: 5 }, (_, joint) => `  j${joint}: "${number}"\n`).join("")}`;
    default:
      return `${`${number} `.repeat(24)}\n`;
  }
}

export function bytesOf(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

/** Creates the file and its parent folders, or replaces its content. */
export function put(
  disk: Disk,
  path: string,
  text: string,
  options: { readonly mode?: number; readonly userId?: number } = {},
): void {
  const folders = path.split("/").slice(1, -1);
  for (const [index] of folders.entries()) {
    const folder = `/${folders.slice(0, index + 1).join("/")}`;
    if (!disk.exists(folder)) disk.create(folder, "directory");
  }
  if (disk.exists(path)) disk.write(disk.look(path), bytesOf(text));
  else disk.create(path, "file", { ...options, bytes: bytesOf(text) });
}

/** A configured robot that was never registered. @param key null for a robot that enrolls. */
export function furnish(disk: Disk, key: string | null): void {
  put(disk, PLACES.configuration, configurationText({ isEnrolled: key === null }));
  put(disk, PLACES.manifest, manifestText(FILE_LISTS[0] ?? []));
  if (key !== null) put(disk, PLACES.key, `${key}\n`, { mode: 0o600, userId: AGENT_USER });
  put(disk, `${PLACES.state_directory}/.keep`, "");
  disk.remove(`${PLACES.state_directory}/.keep`);
  put(disk, FILES.calibration, contentOf(FILES.calibration, 1));
  put(disk, FILES.limits, contentOf(FILES.limits, 1));
  put(disk, FILES.offsets, contentOf(FILES.offsets, 1));
  put(disk, `${BUNDLE}/..1/policy.txt`, contentOf(FILES.policy, 1));
  disk.create(`${BUNDLE}/..data`, "link", { target: "..1" });
  disk.create(FILES.policy, "link", { target: "..data/policy.txt" });
  disk.syncAll();
}
