import { keyFingerprint } from "../platform/ed25519.ts";
import { errorCode } from "../platform/files/files.ts";
import type { Machine } from "../platform/machine.ts";
import type { Problem } from "../platform/terminal.ts";
import { createLook } from "../look/look.ts";
import type { FileFingerprint } from "../look/snapshot.ts";
import { type Collection, type Collector, createCollector, type Names } from "./collector.ts";
import type { CommandContext } from "./commands/context.ts";
import type { AgentConfiguration } from "./configuration/configuration.ts";
import { createDocuments, type Document, readConfigurationNow } from "./configuration/documents.ts";
import type { Folders } from "./configuration/folders.ts";
import { type Changes, changesSince } from "./changes.ts";
import type { Wanted } from "./decide.ts";
import { type AgentFacts, describeAgent } from "./describe-agent.ts";
import { documentFindings, locate, type PlainFinding } from "./findings.ts";
import { readHoldNow } from "./hold.ts";
import { NOTHING_KEPT, readOwnIdentity, type OwnIdentity } from "./identity/identity-files.ts";
import { OTHER_MACHINE_FIX, OTHER_NAME_FIX } from "./remedies.ts";
import { openState, type Registration } from "./registration/registration.ts";
import { isOtherMachine } from "./registration/state-file.ts";
import { type AgentState, type IdentityStatus, NO_IDENTITY, type StatusDocument } from "./status.ts";

/** Configuration, manifest, files and state as a command reads them, without the daemon. */
export interface OneShot {
  readonly machine: Machine;
  readonly collector: Collector;
  readonly registration: Registration | null;
  readonly names: Names;
  /** Nothing where this user may not read it, and with a state that is not read. */
  readonly identity: OwnIdentity;
}

export type OpenedOneShot =
  | { readonly kind: "opened"; readonly oneShot: OneShot }
  /** The configuration has errors, which are its findings. */
  | {
      readonly kind: "invalid";
      readonly configuration: Document<AgentConfiguration>;
      readonly registration: Registration | null;
    }
  | { readonly kind: "problem"; readonly problem: Problem };

export interface OneShotOptions {
  readonly machine: Machine;
  readonly folders: Folders;
  /** Unread, the state needs no permission; `optional` is read where this user may read it. */
  readonly state: "unread" | "optional" | "read";
  /** Takes files as registered whose stat is that of the registration, as a start of the daemon does. */
  readonly isTrusting?: boolean;
  /** What a process read a short time ago, and need not be read again. */
  readonly kept?: readonly FileFingerprint[];
  onProgress?(doneBytes: number, totalBytes: number): void;
}

/** Reads configuration and state. Writes nothing. */
export async function openOneShot(options: OneShotOptions): Promise<OpenedOneShot> {
  const { machine, folders } = options;
  const configuration = await readConfigurationNow(machine, folders.configPath);
  const state = options.state === "unread" ? null : await openState(machine, folders.stateDirectory, false);
  if (state?.kind === "problem" && options.state === "read") return state;
  const registration = state?.kind === "state" ? state.registration : null;
  const initial = configuration.reading.value;
  if (initial === null) return { kind: "invalid", configuration, registration };
  const identity = await readIdentity(options, initial.service.url);
  const look = createLook(machine);
  // For a person every file is read, and not taken from the last registration, which only tells what held content before.
  look.remember(registration?.files ?? []);
  if (options.isTrusting !== true) look.invalidate();
  look.remember(options.kept ?? [], "settled");
  const documents = createDocuments(machine, look, configuration, initial);
  const collector = createCollector({ machine, look, documents, onProgress: options.onProgress });
  await documents.read(false);
  const names = { approved: identity.credential, before: identity.before };
  await collector.prepareName(names);
  return { kind: "opened", oneShot: { machine, collector, registration, names, identity } };
}

async function readIdentity(
  { machine, folders: { stateDirectory }, state }: OneShotOptions,
  serviceUrl: string,
): Promise<OwnIdentity> {
  if (state === "unread") return NOTHING_KEPT;
  try {
    return await readOwnIdentity(machine.files, stateDirectory, serviceUrl, await machine.identity.machine());
  } catch (error) {
    if (errorCode(error) === undefined) throw error;
    // The state may be readable by its group, the credential is not.
    return NOTHING_KEPT;
  }
}

/** What on the disk differs from the registration; null without one. */
export async function changesOf({ collector, registration }: OneShot, wanted: Wanted | null): Promise<Changes | null> {
  if (registration === null || collector.snapshot === null) return null;
  return changesSince(registration, collector.snapshot.files, wanted?.kind === "body" ? wanted.body : null);
}

/** Waits for writers to finish, then collects. @throws `signal.reason` when the signal aborts. */
export async function collectSettled({ machine, collector, names }: OneShot, signal: AbortSignal): Promise<Collection> {
  for (;;) {
    const collected = await collector.collect(true, names, signal);
    if (collected.kind === "collected") return collected;
    await machine.clock.sleep(collected.waitMs, signal);
  }
}

/** The status of a robot whose agent does not run. @throws `signal.reason` when the signal aborts. */
export async function statusFromDisk(
  folders: Folders,
  { machine, signal }: Pick<CommandContext, "machine" | "signal">,
): Promise<StatusDocument | Problem> {
  const opened = await openOneShot({ machine, folders, state: "read" });
  if (opened.kind === "problem") return opened.problem;
  if (opened.kind === "invalid") {
    const { registration } = opened;
    const request = registration?.request ?? null;
    return describeAgent({
      ...WITHOUT_DAEMON,
      state: "invalid",
      collector: { robotName: request?.name ?? "", manifest: request, snapshot: null },
      reconciler: { ...NOTHING_TRIED, registration, findings: documentFindings(opened.configuration) },
      serviceUrl: registration?.service_url ?? null,
      clock: machine.clock,
      identity: null,
    });
  }
  const { oneShot } = opened;
  const { collector, registration } = oneShot;
  const collected = await collector.collect(false, oneShot.names, signal);
  const wanted = collected.kind === "collected" ? collected.wanted : null;
  const reading = await readHoldNow(folders, { machine });
  const refusal = collected.kind === "collected" ? refusalOf(collected, registration) : null;
  const refusals = refusal === null ? [] : [locate(collector.documents.configuration, refusal)];
  return describeOneShot(oneShot, "stopped", {
    findings: [...collector.findings, ...refusals, ...(reading.kind === "ignored" ? [reading.finding] : [])],
    changes: { sinceRegistration: await changesOf(oneShot, wanted), ofRegistration: null },
    hold: reading.kind === "held" ? reading.hold : null,
  });
}

/** A changed name or machine, which starting the agent would not fix. */
function refusalOf({ wanted, machineId }: Collection, registration: Registration | null): PlainFinding | null {
  if (registration === null) return null;
  const { name } = registration.request;
  if (isOtherMachine(registration, machineId)) {
    const what = `registered as ${name} on another machine: a copied image, or a new main board`;
    return { id: "other_machine", loc: "", message: `${what}; ${OTHER_MACHINE_FIX}` };
  }
  if (wanted.kind !== "body" || wanted.body.name === name) return null;
  const what = `registered as ${name}, but the name is now ${wanted.body.name}`;
  return { id: "other_name", loc: "/robot/name", message: `${what}; ${OTHER_NAME_FIX}` };
}

const WITHOUT_DAEMON = { watching: null, daemon: null, hanging: null } as const;
const NOTHING_TRIED = {
  failure: null,
  confirmation: null,
  stateProblem: null,
  changes: { sinceRegistration: null, ofRegistration: null },
  hold: null,
} as const;

/** The status document of a run without a daemon. @param known more than the state on disk tells. */
export function describeOneShot(
  { machine, collector, registration, identity }: OneShot,
  state: AgentState,
  known: Partial<AgentFacts["reconciler"]> = {},
): StatusDocument {
  const { findings } = collector;
  return describeAgent({
    ...WITHOUT_DAEMON,
    state,
    collector,
    reconciler: { ...NOTHING_TRIED, registration, findings, ...known },
    serviceUrl: collector.configuration.service.url,
    clock: machine.clock,
    identity: describeWaiting(identity),
  });
}

function describeWaiting({ enrolment, credential }: OwnIdentity): IdentityStatus | null {
  if (enrolment === null || credential !== null) return null;
  return {
    ...NO_IDENTITY,
    state: "waiting-for-approval",
    key_fingerprint: keyFingerprint(enrolment.public_key),
    user_code: enrolment.user_code,
    waits_because: enrolment.waits_because ?? null,
    code_expires_at: enrolment.expires_at,
  };
}
