/**
 * The identity of a robot, as the agent's loop sees it: the loop hands in what it knows, wakes when something changed here, and reads what
 * a run needs as one value. Most robots have none, so what works for it (machine.ts) is loaded only when the state directory
 * has a key, the configuration says `identity: enrolled`, or a person asks to enroll.
 */
import { once } from "node:events";

import type { Credential, CredentialProblem } from "../../client/credential.ts";
import { errorCode } from "../../platform/files/files.ts";
import type { Log } from "../../platform/log/log.ts";
import type { Machine } from "../../platform/machine.ts";
import type { AgentConfiguration } from "../configuration/configuration.ts";
import { isOtherMachine } from "../registration/state-file.ts";
import { NO_IDENTITY } from "../status.ts";
import { type IdentitySettings, type IdentityView, NO_VIEW, type RunReport, STARTING } from "./exchange.ts";
import { createIdentityFiles, type StoredIdentity, unreadableIdentity } from "./identity-files.ts";
import type { IdentityMachine } from "./machine.ts";

export interface IdentityOptions {
  readonly machine: Machine;
  readonly log: Log;
  readonly version: string;
  readonly stateDirectory: string;
  /** Called when `view` changed. */
  wake(): void;
}

export type RobotIdentity = ReturnType<typeof createIdentity>;

export function createIdentity(options: IdentityOptions) {
  const { machine: system, log, stateDirectory } = options;
  const files = createIdentityFiles(system.files, stateDirectory);
  const opened = Promise.withResolvers<IdentityMachine>();
  let machine: IdentityMachine | null = null;
  let opening: Promise<void> | null = null;
  /** The files of the identity cannot be read: the robot is not what its API key says. */
  let problem: string | null = null;
  let settings: IdentitySettings | null = null;
  let report = STARTING;

  function takeProblem(next: string | null): void {
    if (problem === next) return;
    problem = next;
    // The robot may be held back by it, or no longer.
    options.wake();
  }

  async function open(): Promise<void> {
    // It fails only for a bug, or for a reason that a restart of the program corrects.
    const late = await import("./machine.ts");
    let stored: StoredIdentity;
    try {
      stored = await loadOwn();
    } catch (error) {
      const code = errorCode(error);
      if (code === undefined) throw error;
      if (problem === null) log.warn("identity-unreadable", { code });
      return takeProblem(unreadableIdentity(error));
    }
    if (settings === null) throw new Error("the identity was not told its service");
    machine = late.createIdentityMachine({ ...options, files, stored, settings, report });
    opened.resolve(machine);
    takeProblem(null);
  }

  /** Files of another computer, as in a copied image, are set aside and never used. @throws Node system errors. */
  async function loadOwn(): Promise<StoredIdentity> {
    const stored = await files.load(true);
    for (const path of stored.setAside) log.warn("identity-file-set-aside", { path });
    if (stored.key === null || !isOtherMachine(stored.key, await system.identity.machine())) return stored;
    await files.setAsideForeign();
    log.warn("identity-of-other-machine", { directory: stateDirectory });
    return { key: null, enrolment: null, credential: null, setAside: [] };
  }

  async function start(): Promise<void> {
    if (machine !== null) return;
    opening ??= open().finally(() => (opening = null));
    await opening;
  }

  return {
    /** The configuration in force, and the connection to its service. Called before all else, and when another one takes effect. */
    use(configuration: AgentConfiguration, connection: IdentitySettings["connection"]) {
      settings = { configuration, connection };
      machine?.use(settings);
    },
    /** What the agent knows: before the first run, after each, and when a disk does not answer. */
    report(next: RunReport) {
      report = { ...next, isSettled: report.isSettled || next.isSettled };
      machine?.report(report);
    },
    /** What a run needs to know, read at its start. */
    view(): IdentityView {
      if (machine !== null) return machine.view();
      if (problem === null) return NO_VIEW;
      const status = { ...NO_IDENTITY, state: "identity-unreadable", problem } as const;
      return { ...NO_VIEW, status, held: "identity-unreadable", mayUseApiKey: false };
    },
    /** The robot's own credential for this service; null for a robot that uses its API key. */
    credential: (serviceUrl: string): Credential | CredentialProblem | null => machine?.credential(serviceUrl) ?? null,
    /**
     * The service refused a registration with the robot's own credential. `unauthorized` (401): a renewal decides whether it is good.
     * `forbidden` (403): the service may have given the robot another name.
     */
    credentialRefused: (refusal: "unauthorized" | "forbidden") => machine?.credentialRefused(refusal),
    /** Opens the identity if this robot has one or is to get one. To be repeated, because its files may not be readable. Rejects only for a bug. */
    async begin() {
      if (machine !== null) return;
      const isRequired = settings?.configuration.service.identity === "enrolled";
      if (isRequired || (await files.hasKey())) await start();
      else takeProblem(null);
    },
    /** A person asks to enroll; resolves when there is a code, a credential, or a reason why not. Needs `run`. */
    async enroll() {
      await start();
      await machine?.enroll();
    },
    /**
     * A person asks whether a refused credential is accepted by now, as when an operator has thawed the robot, or whether a code can be had
     * by now. Resolves with the answer: true when there may be news. Needs `run`.
     */
    retry: async () => (await machine?.retry()) === true,
    /** Works until the signal aborts, and resolves when nothing is written any more. Rejects only for a bug. */
    async run(signal: AbortSignal) {
      const stopped = signal.aborted ? Promise.resolve(null) : once(signal, "abort").then(() => null);
      const running = await Promise.race([opened.promise, stopped]);
      await running?.run(signal);
      await opening;
    },
  };
}
