/**
 * The identity as a part of the agent. Most robots have none, so its code is loaded only when the state directory has a key, the
 * configuration says `identity: enrolled`, or a person asks to enroll.
 */
import { loadLate } from "../../client/transport/load-late.ts";
import { TransportError } from "../../client/transport/transport.ts";
import { errorCode } from "../../platform/files/files.ts";
import type { AgentConfiguration } from "../configuration/configuration.ts";
import type { Connection } from "../registration/connect.ts";
import { type IdentityStatus, NO_IDENTITY } from "../status.ts";
import type { IdentityOptions } from "./course.ts";
import type { Identity } from "./identity.ts";
import { createIdentityFiles, unreadableIdentity } from "./identity-files.ts";

export interface IdentityPartOptions extends Pick<
  IdentityOptions,
  "machine" | "log" | "version" | "describeRobot" | "readiness" | "onChange" | "onEnrolled" | "onReturn"
> {
  readonly stateDirectory: string;
  /** Of the configuration in force. */
  configuration(): AgentConfiguration;
  connection(): Connection;
}

export type IdentityPart = ReturnType<typeof createIdentityPart>;

export function createIdentityPart(options: IdentityPartOptions) {
  const { machine, log, stateDirectory } = options;
  const failed = Promise.withResolvers<never>();
  // A rejection that nothing awaits yet must not end the process.
  failed.promise.catch(() => {});
  const running = new AbortController();
  let identity: Identity | null = null;
  let opening: Promise<void> | null = null;
  let work = Promise.resolve();
  /** The files of the identity cannot be read: the robot is not what its API key says. */
  let problem: string | null = null;

  async function open(): Promise<void> {
    try {
      await loadLate(() => import("zod"));
      const { openIdentity } = await import("./open.ts");
      identity = await openIdentity(options);
      takeProblem(null);
      work = identity.run(running.signal).catch((error: unknown) => failed.reject(error));
    } catch (error) {
      const code = error instanceof TransportError ? error.code : errorCode(error);
      if (code === undefined) throw error;
      if (problem === null) log.warn("identity-unreadable", { code });
      takeProblem(unreadableIdentity(error));
    } finally {
      opening = null;
    }
  }

  function takeProblem(next: string | null): void {
    if (problem === next) return;
    problem = next;
    // The robot may be held back by it, or no longer.
    options.onChange();
  }

  async function start(): Promise<void> {
    if (identity !== null) return;
    opening ??= open();
    await opening;
  }

  async function isWanted(): Promise<boolean> {
    if (options.configuration().service.identity === "enrolled") return true;
    return createIdentityFiles(machine.files, stateDirectory).hasKey();
  }

  return {
    /** Starts the identity if this robot has one or is to get one, and it does not run. Rejects only for a bug. */
    async begin() {
      if (identity !== null) return;
      if (await isWanted()) await start();
      else takeProblem(null);
    },
    /** Rejects for a bug; never resolves. */
    failure: failed.promise,
    /** Ends requests at once; resolves when nothing is written any more. */
    async stop() {
      running.abort();
      await opening;
      await work;
    },
    /** Starts an enrolment; resolves when there is a code, a credential, or a reason why not. */
    async enroll() {
      await start();
      await identity?.enroll();
    },
    async heldBack() {
      if (identity === null) return problem === null ? null : "identity-unreadable";
      if (identity.state === "enrolled") return null;
      const hasOnlyIdentity = identity.approved !== null || options.configuration().service.identity === "enrolled";
      return hasOnlyIdentity || !(await options.connection().hasApiKey()) ? identity.state : null;
    },
    /** The robot's own credential for this service; null for a robot that uses its API key. */
    credential: (serviceUrl: string) => identity?.credential(serviceUrl) ?? null,
    retry: async () => (await identity?.retry()) === true,
    doubt: (isAsked = false) => identity?.doubt(isAsked),
    doubtName: () => identity?.doubtName(),
    readinessChanged: () => identity?.readinessChanged(),
    status(): IdentityStatus | null {
      if (identity !== null) return identity.status();
      if (problem === null) return null;
      return { ...NO_IDENTITY, state: "identity-unreadable", problem };
    },
    /** The robot as it was approved; null while it has no credential. */
    get approved() {
      return identity?.approved ?? null;
    },
    /** The robot that this computer was before it lost its credential; null for none. */
    get before() {
      return identity?.before ?? null;
    },
    /** The configuration was edited. */
    reconfigured: () => identity?.reconfigured(),
    get version() {
      return identity?.version ?? "";
    },
  };
}
