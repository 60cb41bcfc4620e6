import { join } from "node:path";

/** Where the agent finds and keeps its files. */
export interface Folders {
  readonly config_path: string;
  readonly state_directory: string;
  readonly runtime_directory: string;
  /** systemd's $CREDENTIALS_DIRECTORY, null outside a unit that loads credentials. */
  readonly credentials_directory: string | null;
}

export interface FolderOptions {
  readonly config?: string | undefined;
  readonly stateDir?: string | undefined;
  readonly runtimeDir?: string | undefined;
}

/** What systemd.exec(5) sets for ConfigurationDirectory=, StateDirectory=, RuntimeDirectory= and LoadCredential=. */
export type FolderEnvironment = Readonly<Record<string, string | undefined>>;

const NAME = "robot-policy-agent";

/** Flags first, then systemd's variables, then the standard places of file-hierarchy(7). */
export function resolveFolders(options: FolderOptions, environment: FolderEnvironment): Folders {
  const configuration = firstOf(environment["CONFIGURATION_DIRECTORY"]) ?? `/etc/${NAME}`;
  return {
    config_path: options.config ?? join(configuration, "config.yaml"),
    state_directory: options.stateDir ?? firstOf(environment["STATE_DIRECTORY"]) ?? `/var/lib/${NAME}`,
    runtime_directory: options.runtimeDir ?? firstOf(environment["RUNTIME_DIRECTORY"]) ?? `/run/${NAME}`,
    credentials_directory: firstOf(environment["CREDENTIALS_DIRECTORY"]) ?? null,
  };
}

export function controlSocketPath(folders: Folders): string {
  return join(folders.runtime_directory, "control.sock");
}

/** systemd joins several directories of one kind with colons. */
function firstOf(value: string | undefined): string | undefined {
  const [first] = (value ?? "").split(":");
  return first === "" ? undefined : first;
}
