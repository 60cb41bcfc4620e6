import type { Credential, CredentialProblem } from "../../client/credential.ts";
import type { IdentityClient } from "../../client/identity-client.ts";
import type { Log } from "../../platform/log/log.ts";
import type { Machine } from "../../platform/machine.ts";
import type { EnrolmentRequest } from "./enrolment-request.ts";
import type { Readiness } from "./heartbeats.ts";
import type { IdentityFiles, StoredIdentity } from "./identity-files.ts";

/** The service of the configuration in force. */
export interface IdentityService {
  readonly url: string;
  readonly client: IdentityClient;
  readonly heartbeatMs: number;
  /** The key for enrolment without an operator; null where there is none. */
  bulkKey(): Promise<Credential | CredentialProblem | null>;
  /** The robot is enrolled: no key of the organization stays on it. */
  discardBulkKey(): Promise<void>;
}

export interface IdentityOptions {
  readonly machine: Machine;
  readonly log: Log;
  readonly version: string;
  readonly files: IdentityFiles;
  readonly stored: StoredIdentity;
  /** Where the credential lies, for messages. */
  readonly credentialPath: string;
  service(): IdentityService;
  /** What the robot says of itself when it enrols. */
  describeRobot(): Promise<EnrolmentRequest>;
  readiness(): Readiness;
  /** Called when the state or the credential changed. */
  onChange(): void;
  /** Called when the service accepts heartbeats again. */
  onReturn(): void;
}
