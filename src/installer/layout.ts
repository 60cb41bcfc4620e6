/** All paths of an installation, inside the root of the tree. None of them belongs to a distribution's package: the program is in /usr/local. */

import { dirname } from "node:path";

export const NAME = "robot-policy-agent";

/** The user that the service runs as. */
export const SERVICE_USER = "robot-policy-agent";

export const SERVICE_UNIT = `${NAME}.service`;
export const FIRST_BOOT_UNIT = `${NAME}-setup.service`;
/** Looks each minute, in place of the service, by starting the unit of a look. */
export const TIMER_UNIT = `${NAME}.timer`;
export const LOOK_UNIT = `${NAME}-look.service`;
export const UNITS = [SERVICE_UNIT, FIRST_BOOT_UNIT, TIMER_UNIT, LOOK_UNIT] as const;
/** In the first boot of an image systemd enables each unit that no preset names. What `install` enabled in the image stays so. */
export const PRESET_FILE = `/usr/local/lib/systemd/system-preset/80-${NAME}.preset`;

/** Holds one folder per version, and the link `current`, which is replaced atomically. */
export const PROGRAM_FOLDER = `/usr/local/lib/${NAME}`;
export const VERSIONS_FOLDER = `${PROGRAM_FOLDER}/versions`;
export const CURRENT_LINK = `${PROGRAM_FOLDER}/current`;
/** Exists from before the first change of a version until its service runs. Holds the id of the version that ran before, if there is one. */
export const UNFINISHED_FILE = `${PROGRAM_FOLDER}/unfinished`;
/** What the unit starts. Not COMMAND_LINK: /usr/local/bin may hold another program of that name, such as one of `npm install --global`. */
export const PROGRAM = `${CURRENT_LINK}/${NAME}`;
export const COMMAND_LINK = `/usr/local/bin/${NAME}`;
/** Relative, so that it works in a mounted image too. */
export const COMMAND_TARGET = `../lib/${NAME}/current/${NAME}`;

/**
 * For units that come with software. Not /etc/systemd/system, which is the administrator's: a file of ours there would be in the way of
 * `systemctl mask` and `systemctl edit --full`.
 */
export const UNITS_FOLDER = "/usr/local/lib/systemd/system";
/** The administrator's units, drop-ins and masks, and the links of enabled units. */
export const ADMINISTRATOR_UNITS_FOLDER = "/etc/systemd/system";

export const CONFIGURATION_FOLDER = `/etc/${NAME}`;
export const CONFIGURATION_FILE = `${CONFIGURATION_FOLDER}/config.yaml`;
export const MANIFEST_FILE = `${CONFIGURATION_FOLDER}/robot-manifest.yaml`;
export const KEY_FILE = `${CONFIGURATION_FOLDER}/api-key`;

export const STATE_FOLDER = `/var/lib/${NAME}`;
/** Of a robot that enrolled. */
export const CREDENTIAL_FILE = `${STATE_FOLDER}/identity-credential.json`;
export const CACHE_FOLDER = `/var/cache/${NAME}`;
export const RUNTIME_FOLDER = `/run/${NAME}`;
/** What `grant` records for later runs. Belongs to root: the service must not be able to change what `grant` does as root. */
export const NOTES_FOLDER = `/var/lib/${NAME}-install`;
export const GRANTS_FILE = `${NOTES_FOLDER}/grants.json`;

export const COMPLETION_FILES = {
  bash: `/usr/local/share/bash-completion/completions/${NAME}`,
  zsh: `/usr/local/share/zsh/site-functions/_${NAME}`,
  fish: `/usr/local/share/fish/vendor_completions.d/${NAME}.fish`,
} as const;

/** All that any version puts outside the program's folder, besides the links. */
export const PLACED_FILES = [
  ...UNITS.map((unit) => `${UNITS_FOLDER}/${unit}`),
  PRESET_FILE,
  ...Object.values(COMPLETION_FILES),
] as const;

/** Where a command writes, itself or by systemctl(1), systemd-sysusers(8) and userdel(8), which follow an image's links. */
export const WRITTEN_PLACES = [
  VERSIONS_FOLDER,
  ...[...PLACED_FILES, COMMAND_LINK].map((path) => dirname(path)),
  CONFIGURATION_FOLDER,
  ...[STATE_FOLDER, CACHE_FOLDER, RUNTIME_FOLDER, NOTES_FOLDER].map((path) => dirname(path)),
  STATE_FOLDER,
  ...["multi-user", "timers"].map((target) => `${ADMINISTRATOR_UNITS_FOLDER}/${target}.target.wants`),
  ...["passwd", "shadow", "group", "gshadow"].map((name) => `/etc/${name}`),
];

export function versionFolder(id: string): string {
  return `${VERSIONS_FOLDER}/${id}`;
}
