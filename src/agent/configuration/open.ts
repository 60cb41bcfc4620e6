import { dirname } from "node:path";

import { READY_CATALOG } from "../../manifest/catalog/ids.ts";
import { type Finding, isError } from "../../manifest/finding.ts";
import { readManifest, type RobotManifest } from "../../manifest/manifest.ts";
import { errorCode, type Files } from "../../platform/files/files.ts";
import type { Machine } from "../../platform/machine.ts";
import type { Problem } from "../../platform/terminal.ts";
import { octal } from "../../platform/text/octal.ts";
import { shellWord } from "../../platform/text/shell-word.ts";
import type { Registration } from "../registration/record.ts";
import { createIdentityFiles } from "../identity/identity-files.ts";
import { loadRegistration, registrationPath } from "../registration/registration.ts";
import { NewerState, setAside } from "../registration/state-file.ts";
import { type AgentConfiguration, readConfiguration } from "./configuration.ts";
import { createDocumentInput, type DocumentInput } from "./document-input.ts";

/** The settle time before a configuration is read. */
const DEFAULT_SETTLE_MS = 500;

/** An error, as for a key file that others may read: the registration stays, and edits are not applied until the mode is fixed. */
const CONFIGURATION_EXPOSURE: Exposure = {
  severity: "error",
  consequence: "every user of this machine may say where the API key is sent",
};
const MANIFEST_EXPOSURE: Exposure = {
  severity: "warning",
  consequence: "every user of this machine may change what is registered",
};

export function openConfiguration(machine: Machine, path: string): DocumentInput<AgentConfiguration> {
  const document: DocumentInput<AgentConfiguration> = createDocumentInput({
    ...machine,
    path,
    missingFix: "robot-policy-agent init writes one",
    settleMs: () => document.reading.value?.watch.settle_ms ?? DEFAULT_SETTLE_MS,
    async read(bytes) {
      const { findings, value: configuration, locate } = readConfiguration(bytes, { path });
      const exposures = await findExposure(machine.files, path, CONFIGURATION_EXPOSURE);
      const isRefused = exposures.some(isError);
      return { findings: [...exposures, ...findings], value: isRefused ? null : configuration, locate };
    },
  });
  return document;
}

export function openManifest(machine: Machine, path: string, settleMs: () => number): DocumentInput<RobotManifest> {
  return createDocumentInput({
    ...machine,
    path,
    // Without --dir it would refuse, because the configuration exists.
    missingFix: "robot-policy-agent init --dir DIR writes one into another folder, to copy here",
    settleMs,
    async read(bytes) {
      const { findings, manifest, locate } = await readManifest(bytes, READY_CATALOG);
      const exposures = await findExposure(machine.files, path, MANIFEST_EXPOSURE);
      return { findings: [...exposures, ...findings], value: manifest, locate };
    },
  });
}

/** The configuration as it is on the disk now, for a command that does not wait for writers. */
export async function readConfigurationNow(machine: Machine, path: string): Promise<DocumentInput<AgentConfiguration>> {
  const document = openConfiguration(machine, path);
  await document.refresh(false);
  return document;
}

/** The code of the problem; commands that end with it exit as `check` does. */
export const CONFIGURATION_INVALID = "configuration-invalid";

/** Why a command does nothing while the configuration is invalid: its first error. */
export function invalidConfiguration(configuration: DocumentInput<AgentConfiguration>): Problem {
  return { code: CONFIGURATION_INVALID, ...firstError(configuration) };
}

/** @param error the first one of the document itself, when not given. */
export function firstError(
  { path, reading }: DocumentInput<unknown>,
  error: Pick<Finding, "message" | "line" | "column"> | undefined = reading.findings.find(isError),
): Pick<Problem, "what" | "where" | "fix"> {
  return {
    what: error?.message ?? "it cannot be read",
    where: `${path}:${error?.line ?? 1}:${error?.column ?? 1}`,
    fix: "list all errors with: robot-policy-agent check",
  };
}

/** As `readConfigurationNow`, for a manifest. */
export async function readManifestNow(machine: Machine, path: string): Promise<DocumentInput<RobotManifest>> {
  const document = openManifest(machine, path, () => 0);
  await document.refresh(false);
  return document;
}

export type OpenedState =
  | { readonly kind: "state"; readonly registration: Registration | null; readonly setAside: string | null }
  | { readonly kind: "problem"; readonly problem: Problem };

/**
 * Reads the registration of an earlier run. With `mend`, moves a damaged file aside, which then counts as no registration: registering
 * again is safe, using a damaged file is not. Refuses when any file of the state is of a newer agent.
 */
export async function openState(machine: Machine, stateDirectory: string, mend: boolean): Promise<OpenedState> {
  const path = registrationPath(stateDirectory);
  try {
    const loaded = await loadRegistration(machine.files, stateDirectory);
    await refuseNewerIdentity(machine.files, stateDirectory);
    switch (loaded.kind) {
      case "none":
        return { kind: "state", registration: null, setAside: null };
      case "registration":
        return { kind: "state", registration: loaded.registration, setAside: null };
      case "damaged":
        return { kind: "state", registration: null, setAside: mend ? await setAside(machine.files, path) : path };
    }
  } catch (error) {
    if (error instanceof NewerState) {
      const what = `the state is of version ${error.version}, written by a newer agent`;
      return problem(error.code, what, error.path, "install that agent again; the state was not changed");
    }
    const code = errorCode(error) ?? "unknown error";
    return problem(
      "state-unreadable",
      `the state cannot be read (${code})`,
      stateDirectory,
      code === "EACCES"
        ? "run this as root, or as the user that the agent runs as"
        : `look at the file, and at what the kernel says of its disk: ls -l ${shellWord(path)}; dmesg`,
    );
  }
}

/** Whatever else is wrong with the identity is said by who uses it: the group of the agent may not read it. */
async function refuseNewerIdentity(files: Files, stateDirectory: string): Promise<void> {
  try {
    await createIdentityFiles(files, stateDirectory).load(false);
  } catch (error) {
    if (error instanceof NewerState || errorCode(error) === undefined) throw error;
  }
}

function problem(code: string, what: string, where: string, fix: string): OpenedState {
  return { kind: "problem", problem: { code, what, where, fix } };
}

const WRITABLE_BY_OTHERS = 0o002;
/** In a sticky folder such as /tmp, only its owner may replace a file. */
const STICKY = 0o1000;

/** The consequence when every user may edit a file, and its severity. */
export interface Exposure {
  readonly severity: Finding["severity"];
  readonly consequence: string;
}

/**
 * Findings about a file that every user of this machine may edit or replace.
 *
 * The mode of the folder is only a warning: a correction of it does not change the stat of the file, so the file would not be read again.
 */
export async function findExposure(files: Files, path: string, exposure: Exposure): Promise<readonly Finding[]> {
  const { severity, consequence } = exposure;
  const folder = dirname(path);
  const [own, around] = await Promise.all([path, folder].map((each) => files.stat(each).catch(() => null)));
  if (!own || !around) return [];
  const isReplaceable = (around.mode & (WRITABLE_BY_OTHERS | STICKY)) === WRITABLE_BY_OTHERS;
  const found: Finding[] = [];
  const add = (how: Finding["severity"], what: string, fix: string) => {
    const message = `${what}: ${consequence}; ${fix}`;
    found.push({ id: "writable_by_others", severity: how, loc: "", message, line: 1, column: 1 });
  };
  if ((own.mode & WRITABLE_BY_OTHERS) !== 0) {
    add(severity, `${path} has mode ${octal(own.mode)}`, `chmod o-w ${shellWord(path)}`);
  }
  if (isReplaceable && own.userId !== 0 && own.userId !== around.userId) {
    add(severity, `${path} was put there by user ${own.userId}`, `look at it, then: chown root ${shellWord(path)}`);
  }
  if (isReplaceable) add("warning", `${folder} has mode ${octal(around.mode)}`, `chmod o-w ${shellWord(folder)}`);
  return found;
}
