import { createHash, randomBytes } from "node:crypto";

import { createAlarm } from "../../../src/agent/alarm.ts";
import { createIdentityLoop } from "../../../src/agent/identity/identity.ts";
import type { IdentityFiles, StoredIdentity } from "../../../src/agent/identity/identity-files.ts";
import { REGISTRATION_BACKOFF, RETURN_SPREAD_MS } from "../../../src/agent/reconciler.ts";
import { createClient } from "../../../src/client/client.ts";
import { createIdentityClient, type IdentityClient } from "../../../src/client/identity-client.ts";
import { Secret } from "../../../src/client/secret.ts";
import type { ServiceAccess } from "../../../src/client/send-request.ts";
import { systemClock } from "../../../src/platform/clock.ts";
import type { Log } from "../../../src/platform/log/log.ts";
import { systemMachine } from "../../../src/platform/machine.ts";
import { createBackoff } from "../../../src/platform/retry.ts";

/** A robot with the agent's own identity loop, client and delays, but without files. */
export interface LoadRobot {
  readonly name: string;
  /** The last digest that the service acknowledged; null before the first registration. */
  readonly acknowledged: string | null;
  /** True when the acknowledged digest is the current one. */
  readonly isRegistered: boolean;
  /** Wall clock; zero before the first. */
  readonly lastHeartbeatMs: number;
  /** A configuration file changed: registers another digest. */
  change(): void;
  /** Runs until the signal aborts. Rejects only for a bug. */
  run(signal: AbortSignal): Promise<void>;
  /** Resolves once the service knows the robot. */
  readonly registered: Promise<void>;
}

export interface LoadRobotOptions {
  readonly name: string;
  readonly access: ServiceAccess;
  /** A key for enrolments. */
  readonly bulkKey: string;
  readonly heartbeatMs: number;
}

const ROBOT_TYPE = "so101";
const REGION = "us-west-2";
const VERSION = "1.0.0";

export function createLoadRobot({ name, access, bulkKey, heartbeatMs }: LoadRobotOptions): LoadRobot {
  const system = systemMachine({}, process.pid);
  const machine = { ...system, identity: { hostname: () => name, machine: () => Promise.resolve(null) } };
  const alarm = createAlarm(systemClock);
  const backoff = createBackoff({ ...REGISTRATION_BACKOFF, random: machine.random });
  const registered = Promise.withResolvers<void>();
  let wanted = newDigest();
  let acknowledged: string | null = null;
  let lastHeartbeatMs = 0;
  /** Monotonic. */
  let retryAtMs = 0;
  let returnedMs = Number.NEGATIVE_INFINITY;
  const soonMs = () => systemClock.monotonicMs() + RETURN_SPREAD_MS * machine.random.unit();
  const wire = createIdentityClient(access);
  const noting: IdentityClient = {
    ...wire,
    async heartbeat(body, credential, signal) {
      const result = await wire.heartbeat(body, credential, signal);
      if (result.kind === "ok") lastHeartbeatMs = Date.now();
      return result;
    },
  };

  const identity = createIdentityLoop({
    machine,
    log: SILENT,
    version: VERSION,
    files: IN_MEMORY,
    stored: NOTHING,
    credentialPath: "memory",
    service: () => ({
      url: access.baseUrl,
      client: noting,
      heartbeatMs,
      bulkKey: () =>
        Promise.resolve({ kind: "credential", secret: new Secret(bulkKey), source: "environment", where: "memory" }),
      discardBulkKey: () => Promise.resolve(),
    }),
    describeRobot: () =>
      Promise.resolve({
        requested_name: name,
        configuration_digest: wanted,
        region: REGION,
        labels: {},
        robot_type_id: ROBOT_TYPE,
      }),
    readiness: () => ({
      problem: acknowledged === null ? "not registered yet" : null,
      registeredDigest: acknowledged,
    }),
    onChange: () => alarm.ring(),
    onEnrolled() {},
    onReturn() {
      returnedMs = systemClock.monotonicMs();
      retryAtMs = Math.min(retryAtMs, soonMs());
      alarm.ring();
    },
  });
  const client = createClient({
    ...access,
    credential: () => Promise.resolve(identity.credential(access.baseUrl) ?? NOT_ENROLLED),
  });

  /** Registers until the service acknowledges. @returns how long to wait before the next attempt; 0 for none. */
  async function register(signal: AbortSignal): Promise<number> {
    const digest = wanted;
    const body = { name, robot_type_id: ROBOT_TYPE, region: REGION, configuration_digest: digest, labels: {} };
    const result = await client.setupRobot(body, signal);
    signal.throwIfAborted();
    if (result.kind === "ok") {
      backoff.reset();
      acknowledged = digest;
      identity.readinessChanged();
      registered.resolve();
      return 0;
    }
    if (result.kind === "refused" && result.status === 401) identity.doubt();
    return backoff.nextMs(result.kind === "refused" ? result.retryAfterMs : null);
  }

  async function registerChanges(signal: AbortSignal): Promise<void> {
    const isDue = () => identity.state === "enrolled" && acknowledged !== wanted;
    for (;;) {
      await alarm.wait(isDue() ? retryAtMs : Number.POSITIVE_INFINITY, signal);
      if (!isDue() || systemClock.monotonicMs() < retryAtMs) continue;
      const sentMs = systemClock.monotonicMs();
      const waitMs = await register(signal);
      const dueMs = systemClock.monotonicMs() + waitMs;
      retryAtMs = sentMs <= returnedMs ? Math.min(dueMs, soonMs()) : dueMs;
    }
  }

  return {
    name,
    registered: registered.promise,
    get acknowledged() {
      return acknowledged;
    },
    get isRegistered() {
      return acknowledged === wanted;
    },
    get lastHeartbeatMs() {
      return lastHeartbeatMs;
    },
    change() {
      wanted = newDigest();
      alarm.ring();
    },
    async run(signal) {
      try {
        await Promise.all([identity.run(signal), registerChanges(signal)]);
      } catch (error) {
        if (!signal.aborted) throw error;
      }
    },
  };
}

function newDigest(): string {
  return `sha256:${createHash("sha256").update(randomBytes(16)).digest("hex")}`;
}

const NOT_ENROLLED = {
  kind: "credential-problem",
  code: "not-enrolled",
  what: "not enrolled yet",
  where: "memory",
  fix: "wait",
} as const;

const NOTHING: StoredIdentity = { key: null, enrolment: null, credential: null, setAside: [] };

/** Stores nothing, because only the service is measured. */
const IN_MEMORY: IdentityFiles = {
  load: () => Promise.resolve(NOTHING),
  hasKey: () => Promise.resolve(false),
  saveKey: () => Promise.resolve(),
  saveEnrolment: () => Promise.resolve(),
  saveCredential: () => Promise.resolve(),
  forgetEnrolment: () => Promise.resolve(),
  moveKeyAway: () => Promise.resolve(),
  setAsideForeign: () => Promise.resolve(),
};

const SILENT: Log = { debug() {}, info() {}, warn() {}, error() {} };
