import { join, resolve } from "node:path";

/** The folders of the agent. */
export interface Folders {
  readonly configPath: string;
  readonly stateDirectory: string;
  readonly runtimeDirectory: string;
  /** systemd's $CREDENTIALS_DIRECTORY, null outside a unit that loads credentials. */
  readonly credentialsDirectory: string | null;
}

export interface FolderOptions {
  readonly config?: string | undefined;
  readonly stateDir?: string | undefined;
  readonly runtimeDir?: string | undefined;
}

/** The variables that systemd.exec(5) sets for ConfigurationDirectory=, StateDirectory=, RuntimeDirectory= and LoadCredential=. */
export type FolderEnvironment = Readonly<Record<string, string | undefined>>;

const NAME = "robot-policy-agent";
const STANDARD_CONFIGURATION_DIRECTORY = `/etc/${NAME}`;
const STANDARD_STATE_DIRECTORY = `/var/lib/${NAME}`;

/**
 * Flags first, then systemd's variables, then the standard places of file-hierarchy(7). Makes all paths absolute, because checks on behalf
 * of the agent run in another working directory.
 */
export function resolveFolders(options: FolderOptions, environment: FolderEnvironment): Folders {
  const configuration = firstOf(environment["CONFIGURATION_DIRECTORY"]) ?? STANDARD_CONFIGURATION_DIRECTORY;
  return {
    configPath: resolve(options.config ?? join(configuration, "config.yaml")),
    stateDirectory: resolve(options.stateDir ?? firstOf(environment["STATE_DIRECTORY"]) ?? STANDARD_STATE_DIRECTORY),
    runtimeDirectory: options.runtimeDir ?? firstOf(environment["RUNTIME_DIRECTORY"]) ?? `/run/${NAME}`,
    credentialsDirectory: firstOf(environment["CREDENTIALS_DIRECTORY"]) ?? null,
  };
}

/** The root of the image for a standard configuration folder: `/mnt/image/etc/robot-policy-agent` → `/mnt/image`; null for other folders. */
export function imageAround(directory: string): string | null {
  const image = directory.slice(0, -STANDARD_CONFIGURATION_DIRECTORY.length);
  return image !== "" && directory.endsWith(STANDARD_CONFIGURATION_DIRECTORY) ? image : null;
}

/** True for the folders of the installed service, false for an agent with other folders, run by hand. */
export function hasStandardState({ stateDirectory }: Pick<Folders, "stateDirectory">): boolean {
  return stateDirectory === STANDARD_STATE_DIRECTORY;
}

export function controlSocketPath(folders: Folders): string {
  return join(folders.runtimeDirectory, "control.sock");
}

/** systemd joins several directories of one kind with colons. */
function firstOf(value: string | undefined): string | undefined {
  const [first] = (value ?? "").split(":");
  return first === "" ? undefined : first;
}
