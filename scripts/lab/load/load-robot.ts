import { createHash, randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { createAlarm } from "../../../src/agent/alarm.ts";
import { createIdentityMachine } from "../../../src/agent/identity/machine.ts";
import type { IdentityFiles, StoredIdentity } from "../../../src/agent/identity/identity-files.ts";
import { REGISTRATION_BACKOFF, RETURN_SPREAD_MS } from "../../../src/agent/reconciler.ts";
import { type AgentConfiguration, readConfiguration } from "../../../src/agent/configuration/configuration.ts";
import { createClient } from "../../../src/client/client.ts";
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
  const soonMs = () => systemClock.monotonicMs() + RETURN_SPREAD_MS * machine.random.unit();
  const noting: ServiceAccess["transport"] = {
    ...access.transport,
    async send(request, signal) {
      const answer = await access.transport.send(request, signal);
      if (answer.status === 200 && request.url.endsWith("/heartbeat")) lastHeartbeatMs = Date.now();
      return answer;
    },
  };
  const describeRun = () => ({
    robotTypeId: ROBOT_TYPE,
    digest: wanted,
    isSettled: true,
    readiness: { problem: acknowledged === null ? "not registered yet" : null, registeredDigest: acknowledged },
  });

  // The robot removes it once it is enrolled.
  const keyPath = join(tmpdir(), `load-robot-${process.pid}-${name}`);
  writeFileSync(keyPath, bulkKey, { mode: 0o600 });
  const identity = createIdentityMachine({
    machine,
    log: SILENT,
    version: VERSION,
    files: IN_MEMORY,
    stored: NOTHING,
    settings: {
      configuration: configure(name, heartbeatMs, keyPath),
      connection: {
        serviceUrl: access.baseUrl,
        access: { ...access, transport: noting },
        userId: process.getuid?.() ?? 0,
      },
    },
    report: describeRun(),
    wake: alarm.ring,
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
      identity.report(describeRun());
      registered.resolve();
      return 0;
    }
    if (result.kind === "refused" && result.status === 401) identity.credentialRefused("unauthorized");
    return backoff.nextMs(result.kind === "refused" ? result.retryAfterMs : null);
  }

  async function registerChanges(signal: AbortSignal): Promise<void> {
    const isDue = () => identity.view().held === null && acknowledged !== wanted;
    let { returns } = identity.view();
    for (;;) {
      await alarm.wait(isDue() ? retryAtMs : Number.POSITIVE_INFINITY, signal);
      if (identity.view().returns > returns) {
        ({ returns } = identity.view());
        retryAtMs = Math.min(retryAtMs, soonMs());
      }
      if (!isDue() || systemClock.monotonicMs() < retryAtMs) continue;
      const waitMs = await register(signal);
      retryAtMs = systemClock.monotonicMs() + waitMs;
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

/** As the agent reads it from a file. */
function configure(name: string, heartbeatMs: number, keyPath: string): AgentConfiguration {
  const text = `service: { url: "http://127.0.0.1:1" }\nrobot: { name: ${name}, region: ${REGION} }\n`;
  const { value } = readConfiguration(Buffer.from(text), "/config.yaml");
  if (value === null) throw new Error(`no name for a robot: ${name}`);
  const service = { ...value.service, heartbeat_s: heartbeatMs / 1000, enrolment_key_file: keyPath };
  return { ...value, service: { ...service, identity: "enrolled" } };
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
  credentialPath: "memory",
  load: () => Promise.resolve(NOTHING),
  hasKey: () => Promise.resolve(false),
  saveKey: () => Promise.resolve(),
  saveEnrolment: () => Promise.resolve(),
  saveCredential: () => Promise.resolve(),
  forgetEnrolment: () => Promise.resolve(),
  moveKeyAway: () => Promise.resolve(),
  setAsideForeign: () => Promise.resolve(),
};

const SILENT: Log = { debug() {}, info() {}, notice() {}, warn() {}, error() {} };
