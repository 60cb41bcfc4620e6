import type { Credential, CredentialProblem } from "../../client/credential.ts";
import type { IdentityClient } from "../../client/identity-client.ts";
import type { Log } from "../../platform/log/log.ts";
import type { Machine } from "../../platform/machine.ts";
import type { Random } from "../../platform/random.ts";
import { type Backoff, createBackoff } from "../../platform/retry.ts";
import type { IdentityStatus } from "../status.ts";
import type { Later, RefusedState } from "./answers.ts";
import type { EnrolmentRequest } from "./enrolment-request.ts";
import type { Readiness } from "./heartbeats.ts";
import type { IdentityFiles, StoredIdentity } from "./identity-files.ts";

type Standing =
  | { readonly kind: "enrolling" }
  | { readonly kind: "enrolled" }
  | { readonly kind: "refused"; readonly state: RefusedState; readonly detail: string };

/** How the identity stands, and when to ask the service next. */
export interface Course {
  standing: Standing;
  /** The same in words for people. */
  readonly state: IdentityStatus["state"];
  /** Why the last request failed; null when it did not. */
  failure: Pick<Later, "state" | "detail"> | null;
  /** Monotonic time of the next start, poll or renewal after a refusal. */
  dueMs: number;
  readonly pace: Pace;
  /** The service answered the question. */
  answered(): void;
  /** The robot has a new key, and asks for a credential at once. */
  begin(): void;
  wait(verdict: Later): void;
  refuse(state: RefusedState, detail: string): void;
}

export function createCourse({ machine, log, onChange }: IdentityOptions, isEnrolled: boolean): Course {
  const pace = createPace(machine.random);
  const course: Course = {
    standing: { kind: isEnrolled ? "enrolled" : "enrolling" },
    get state() {
      const { standing } = course;
      if (standing.kind === "refused") return standing.state;
      return standing.kind === "enrolled" ? "enrolled" : "waiting-for-approval";
    },
    failure: null,
    dueMs: 0,
    pace,
    answered() {
      pace.reset();
      course.failure = null;
    },
    begin() {
      course.standing = { kind: "enrolling" };
      course.failure = null;
      course.dueMs = 0;
    },
    wait(verdict) {
      if (course.failure === null) log.warn("identity-delayed", { detail: verdict.detail });
      course.failure = verdict;
      course.dueMs = machine.clock.monotonicMs() + pace.after(verdict);
    },
    refuse(state, detail) {
      const { standing } = course;
      const isNews = standing.kind !== "refused" || standing.state !== state;
      course.standing = { kind: "refused", state, detail };
      course.failure = null;
      if (!isNews) return;
      log.warn("identity-refused", { state, detail });
      onChange();
    },
  };
  return course;
}

const MINUTE_MS = 60_000;
/** A person has to act; this retry notices that it was done at the service. */
const PERSON_RETRY_MS = 5 * MINUTE_MS;
const REFUSED_RETRY_MS: Readonly<Record<RefusedState, number>> = {
  unenrolled: 60 * MINUTE_MS,
  frozen: PERSON_RETRY_MS,
  lapsed: PERSON_RETRY_MS,
};
const FIRST_RETRY_MS = 2000;
const SLOWEST_RETRY_MS = 2 * MINUTE_MS;
/** Random share of a period, so that robots that were refused together do not ask together. */
const SPREAD = 0.2;

/** How long to wait until a request is repeated. */
export type Pace = ReturnType<typeof createPace>;

export function createPace(random: Random) {
  const backoff: Backoff = createBackoff({ firstMs: FIRST_RETRY_MS, capMs: SLOWEST_RETRY_MS, random });
  const spread = (periodMs: number) => periodMs * (1 + SPREAD * (random.unit() - 0.5));
  return {
    after: ({ state, retryAfterMs }: Later) =>
      state === null || state === "unreachable" ? backoff.nextMs(retryAfterMs) : spread(PERSON_RETRY_MS),
    afterRefusal: (state: RefusedState) => spread(REFUSED_RETRY_MS[state]),
    /** The service answered: the next delay is a first one again. */
    reset: () => backoff.reset(),
  };
}

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
  /** What the robot says of itself when it enrolls. */
  describeRobot(): Promise<EnrolmentRequest>;
  readiness(): Readiness;
  /** Called when the state or the credential changed. */
  onChange(): void;
  /** Called when the robot gets a credential while it has none. To the service it may be another robot than before. */
  onEnrolled(): void;
  /** Called when the service accepts heartbeats again. */
  onReturn(): void;
}
