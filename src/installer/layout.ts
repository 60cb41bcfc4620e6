/**
 * Where everything lies, as paths inside the root. All of it is under /usr/local, /etc and /var, so that no file of a package manager
 * is ever touched.
 */

export const NAME = "robot-policy-agent";

/** The user that the service runs as. */
export const SERVICE_USER = "robot-policy-agent";

export const SERVICE_UNIT = `${NAME}.service`;
export const FIRST_BOOT_UNIT = `${NAME}-setup.service`;

/** Every version in a folder of its own, and `current`, a link that is switched at once. */
export const PROGRAM_FOLDER = `/usr/local/lib/${NAME}`;
export const VERSIONS_FOLDER = `${PROGRAM_FOLDER}/versions`;
export const CURRENT_LINK = `${PROGRAM_FOLDER}/current`;
/** What the unit starts; `/usr/local/bin` may hold something else of the same name, such as the link of `npm install --global`. */
export const PROGRAM = `${CURRENT_LINK}/${NAME}`;
export const COMMAND_LINK = `/usr/local/bin/${NAME}`;
/** Relative, so that it leads there in an image too. */
export const COMMAND_TARGET = `../lib/${NAME}/current/${NAME}`;

/**
 * For units that come with software. Not /etc/systemd/system, the place of the person in charge: a file of ours there would keep
 * `systemctl mask` and `systemctl edit --full` from putting theirs.
 */
export const UNITS_FOLDER = "/usr/local/lib/systemd/system";
/** Where a person's units, drop-ins and masks are, and what is enabled. */
export const ADMINISTRATOR_UNITS_FOLDER = "/etc/systemd/system";
export const GROWING_DELAY_FILE = `${UNITS_FOLDER}/${SERVICE_UNIT}.d/growing-delay.conf`;
export const CREDENTIAL_STORE_FILES = [SERVICE_UNIT, FIRST_BOOT_UNIT].map(
  (unit) => `${UNITS_FOLDER}/${unit}.d/00-credential-store.conf`,
);
/** systemd 252 reads no folder of this kind under /usr/local. */
export const SYSUSERS_FILE = `/etc/sysusers.d/${NAME}.conf`;

export const CONFIGURATION_FOLDER = `/etc/${NAME}`;
export const CONFIGURATION_FILE = `${CONFIGURATION_FOLDER}/config.yaml`;
export const MANIFEST_FILE = `${CONFIGURATION_FOLDER}/robot-manifest.yaml`;
export const KEY_FILE = `${CONFIGURATION_FOLDER}/api-key`;

export const STATE_FOLDER = `/var/lib/${NAME}`;
export const REGISTRATION_FILE = `${STATE_FOLDER}/registration.json`;
export const CACHE_FOLDER = `/var/cache/${NAME}`;
export const RUNTIME_FOLDER = `/run/${NAME}`;

/**
 * In a version's folder: a copy of each file that this version puts elsewhere, at the same path. What differs from it was edited by the
 * administrator.
 */
export const SHIPPED_FOLDER = "files";
/** What the installer notes for later runs, its own and those of `grant`. */
export const NOTES_FOLDER = `/var/lib/${NAME}-install`;
/** Folders that the installer made, one on a line. `uninstall` removes those that are empty. */
export const MADE_FOLDERS_FILE = `${NOTES_FOLDER}/made-folders`;
/** Exists from before the switch to a version until its service runs. Holds the id of the version before, if there is one. */
export const SWITCHING_FILE = `${NOTES_FOLDER}/switching`;

export const COMPLETION_FILES = {
  bash: `/usr/local/share/bash-completion/completions/${NAME}`,
  zsh: `/usr/local/share/zsh/site-functions/_${NAME}`,
  fish: `/usr/local/share/fish/vendor_completions.d/${NAME}.fish`,
} as const;

/** Everywhere outside its own folders where the installer may put a file that the administrator may edit. */
export const EDITABLE_FILES = [
  SYSUSERS_FILE,
  `${UNITS_FOLDER}/${SERVICE_UNIT}`,
  `${UNITS_FOLDER}/${FIRST_BOOT_UNIT}`,
  GROWING_DELAY_FILE,
  ...CREDENTIAL_STORE_FILES,
  ...Object.values(COMPLETION_FILES),
] as const;

export function versionFolder(id: string): string {
  return `${VERSIONS_FOLDER}/${id}`;
}

/** Where a version keeps its copy of a file that it puts at `path`. */
export function shippedCopy(id: string, path: string): string {
  return `${versionFolder(id)}/${SHIPPED_FOLDER}${path}`;
}
