import type { Machine } from "../platform/machine.ts";
import type { Problem } from "../platform/terminal.ts";
import type { Collection, Collector } from "./collector.ts";
import { createCollector } from "./collector.ts";
import type { AgentConfiguration } from "./configuration/configuration.ts";
import type { DocumentInput } from "./configuration/document-input.ts";
import type { Folders } from "./configuration/folders.ts";
import { openConfiguration, openManifest, openState } from "./configuration/open.ts";
import type { AgentFacts } from "./describe-agent.ts";
import { describeAgent } from "./describe-agent.ts";
import type { Registration } from "./registration/registration.ts";
import type { AgentState, StatusDocument } from "./status.ts";

/** Configuration, manifest, files and state as a command reads them, without the daemon. */
export interface OneShot {
  readonly machine: Machine;
  readonly collector: Collector;
  readonly registration: Registration | null;
}

export type OpenedOneShot =
  | { readonly kind: "opened"; readonly one_shot: OneShot }
  /** The configuration has errors, which are its findings. */
  | { readonly kind: "invalid"; readonly configuration: DocumentInput<AgentConfiguration> }
  | { readonly kind: "problem"; readonly problem: Problem };

export interface OneShotOptions {
  readonly machine: Machine;
  readonly folders: Folders;
  /** How to treat the state: do not read it (needs no permission), read it, or also move a damaged file aside. */
  readonly state: "unread" | "read" | "mend";
  onProgress?(doneBytes: number, totalBytes: number): void;
}

/** Reads configuration and state. Writes nothing, except that `mend` moves a damaged state file aside. */
export async function openOneShot(options: OneShotOptions): Promise<OpenedOneShot> {
  const { machine, folders } = options;
  const configuration = openConfiguration(machine, folders.config_path);
  await configuration.refresh(false);
  const initial = configuration.reading.value;
  if (initial === null) return { kind: "invalid", configuration };
  const state =
    options.state === "unread" ? null : await openState(machine, folders.state_directory, options.state === "mend");
  if (state?.kind === "problem") return state;
  const registration = state?.registration ?? null;
  const collector = createCollector({
    machine,
    configuration,
    initial,
    // Null, so that every file is read and not taken from the last registration.
    registration: null,
    openManifest: (path, settleMs) => openManifest(machine, path, settleMs),
    onConfiguration() {},
    ...(options.onProgress === undefined ? {} : { onProgress: options.onProgress }),
  });
  return { kind: "opened", one_shot: { machine, collector, registration } };
}

/** Waits for writers to finish, then collects. @throws `signal.reason` when the signal aborts. */
export async function collectSettled({ machine, collector }: OneShot, signal: AbortSignal): Promise<Collection> {
  for (;;) {
    const collected = await collector.collect(true, signal);
    if (collected.kind === "collected") return collected;
    await machine.clock.sleep(collected.wait_ms, signal);
  }
}

/** The status document of a run without a daemon. */
export function describeOneShot(
  { machine, collector, registration }: OneShot,
  state: AgentState,
  reconciler: AgentFacts["reconciler"] | null,
): StatusDocument {
  return describeAgent({
    state,
    collector,
    reconciler: reconciler ?? {
      registration,
      failure: null,
      findings: collector.findings,
      confirmation: null,
      stateProblem: null,
    },
    service_url: collector.configuration.service.url,
    watching: null,
    daemon: null,
    clock: machine.clock,
    hanging: null,
  });
}
