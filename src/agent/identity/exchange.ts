/** What the loop of the agent and the identity of the robot tell each other, all of it as values. */
import type { IdentityClient } from "../../client/identity-client.ts";
import type { Log } from "../../platform/log/log.ts";
import type { Machine } from "../../platform/machine.ts";
import type { AgentConfiguration } from "../configuration/configuration.ts";
import type { HeldBack } from "../decide.ts";
import type { Connection } from "../registration/connect.ts";
import type { IdentityStatus } from "../status.ts";
import type { ApprovedRobot, IdentityFiles, RobotBefore, StoredIdentity } from "./identity-files.ts";

/** The configuration in force, and the way to its service. */
export interface IdentitySettings {
  readonly configuration: AgentConfiguration;
  readonly connection: Pick<Connection, "serviceUrl" | "access" | "userId">;
}

/** The same, with the client for requests about the identity. */
export interface IdentityService {
  readonly settings: IdentitySettings;
  readonly client: IdentityClient;
}

/** What the agent reports of the robot. */
export interface Readiness {
  /** Why the robot cannot register; null if what it has on the disk is registered, or about to be. */
  readonly problem: string | null;
  /** The digest that the service holds, as far as known. */
  readonly registeredDigest: string | null;
}

/** What the agent knows after a run. */
export interface RunReport {
  readonly robotTypeId: string | null;
  /** Of the files; null while they were not read. */
  readonly digest: string | null;
  /** The robot's files were read, or found unreadable. The first enrolment waits for this, up to 10 s. */
  readonly isSettled: boolean;
  readonly readiness: Readiness;
}

/** What a run of the agent needs to know. */
export interface IdentityView {
  /** null for a robot that uses an API key. */
  readonly status: IdentityStatus | null;
  /** Why the robot's own credential must not be used now; null when it may, and where there is none. */
  readonly held: HeldBack | null;
  /** True when an API key, where there is one, counts in place of `held`: until a robot is enrolled, it registers with that. */
  readonly mayUseApiKey: boolean;
  /** The robot as it was approved; null while it has no credential. */
  readonly approved: ApprovedRobot | null;
  /** The robot that this computer was before it lost its credential; null for none. */
  readonly before: RobotBefore | null;
  /** Changes with the credential. */
  readonly version: string;
  /** How often the robot got a credential while it had none. To the service it may be another robot than before. */
  readonly enrolments: number;
  /** How often the service accepted a heartbeat after one that failed. */
  readonly returns: number;
}

/** Of a robot without an identity. */
export const NO_VIEW: IdentityView = {
  status: null,
  held: null,
  mayUseApiKey: true,
  approved: null,
  before: null,
  version: "",
  enrolments: 0,
  returns: 0,
};

export const STARTING: RunReport = {
  robotTypeId: null,
  digest: null,
  isSettled: false,
  readiness: { problem: "Starting", registeredDigest: null },
};

/** Why a robot with this view may not register with this connection; null if it may. */
export async function heldBack(
  { held, mayUseApiKey }: IdentityView,
  { hasApiKey }: Pick<Connection, "hasApiKey">,
): Promise<HeldBack | null> {
  return held !== null && mayUseApiKey && (await hasApiKey()) ? null : held;
}

export interface MachineOptions {
  readonly machine: Machine;
  readonly log: Log;
  readonly version: string;
  readonly files: IdentityFiles;
  readonly stored: StoredIdentity;
  readonly settings: IdentitySettings;
  readonly report: RunReport;
  /** Called when the view changed. */
  wake(): void;
}
