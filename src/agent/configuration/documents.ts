/** Configuration and manifest as the agent reads them: the text becomes values and findings, and what prevents reading becomes a finding, too. */
import { dirname } from "node:path";

import { danglingLink, hiddenByUnit, linkTarget } from "../../look/findings.ts";
import { createLook, type Found, isSameContent, type Look, type LookRequest, type Unsettled } from "../../look/look.ts";
import { type Finding, isError } from "../../documents/findings.ts";
import { refusedReading, type SettingsReading } from "../../documents/read.ts";
import { readManifest, type RobotManifest } from "../../manifest/manifest.ts";
import { type Files, sameStat } from "../../platform/files/files.ts";
import type { Machine } from "../../platform/machine.ts";
import { hidingSetting } from "../../platform/systemd/unit-mounts.ts";
import type { Problem } from "../../platform/terminal.ts";
import { octal } from "../../platform/text/octal.ts";
import { shellWord } from "../../platform/text/shell-word.ts";
import { type AgentConfiguration, readConfiguration } from "./configuration.ts";

/** A file that a person edits. */
export interface Document<T> {
  readonly path: string;
  /** For an unreadable file, one with that as a finding. */
  readonly reading: SettingsReading<T>;
}

/** Bounds the read. The readers themselves refuse more than 1 MiB with a finding. */
const READ_LIMIT_BYTES = 1024 * 1024 + 4096;

interface DocumentKind<T> {
  /** The remedy when the file does not exist. */
  readonly missingFix: string;
  readonly exposure: Exposure;
  parse(bytes: Uint8Array, path: string): Promise<SettingsReading<T>>;
}

/** Exposed is an error, as for a key file that others may read: the registration stays, and edits are not applied until the mode is fixed. */
const CONFIGURATION: DocumentKind<AgentConfiguration> = {
  missingFix: "robot-policy-agent init writes one",
  exposure: { severity: "error", consequence: "every user of this machine may say where the API key is sent" },
  parse: async (bytes, path) => readConfiguration(bytes, path),
};

const MANIFEST: DocumentKind<RobotManifest> = {
  // Without --dir it would refuse, because the configuration exists.
  missingFix: "robot-policy-agent init --dir DIR writes one into another folder, to copy here",
  exposure: { severity: "warning", consequence: "every user of this machine may change what is registered" },
  parse: readManifest,
};

/** A document, and the state of its file that it was made of. */
export interface ReadDocument<T> extends Document<T> {
  readonly made: Found | null;
}

export type Documents = ReturnType<typeof createDocuments>;

/**
 * Configuration and manifest in memory, through the memory of files `look`. After an invalid edit the last valid configuration stays in
 * force.
 *
 * @param initial a reading of the configuration, and its value.
 */
export function createDocuments(
  { files }: Pick<Machine, "files">,
  look: Look,
  initial: ReadDocument<AgentConfiguration>,
  value: AgentConfiguration,
) {
  let configuration = initial;
  let inForce = value;
  let manifest = unread<RobotManifest>(value.manifest);

  const settleMs = () => inForce.watch.settle_ms;
  const paths = () => [configuration.path, manifest.path];
  const requests = () => paths().map(requestFor);

  return {
    /** How to look at them. */
    requests,
    paths,
    settleMs,
    /** Reads what changed. @param settle true to wait for an edit in progress. */
    async read(settle: boolean, signal?: AbortSignal): Promise<Unsettled | null> {
      for (;;) {
        const looked = await look.at(requests(), settleMs(), { settle, signal });
        if (looked.kind === "unsettled") return looked;
        configuration = await remake(files, configuration, looked.found, CONFIGURATION);
        inForce = configuration.reading.value ?? inForce;
        const isSameManifest = inForce.manifest === manifest.path;
        if (!isSameManifest) manifest = unread(inForce.manifest);
        else manifest = await remake(files, manifest, looked.found, MANIFEST);
        if (isSameManifest) return null;
      }
    },
    /** True when a later look found the files as they were read. */
    areAsFound: (found: ReadonlyMap<string, Found>) =>
      [configuration, manifest].every(({ path, made }) => isSame(made, found.get(path) ?? null)),
    /** The configuration in force: the last valid one. */
    get inForce() {
      return inForce;
    },
    get configuration(): Document<AgentConfiguration> {
      return configuration;
    },
    get manifest(): Document<RobotManifest> {
      return manifest;
    },
  };
}

/** The configuration as it is on the disk now, for a command that does not wait for writers. */
export function readConfigurationNow(machine: Machine, path: string): Promise<ReadDocument<AgentConfiguration>> {
  return readNow(machine, path, CONFIGURATION);
}

/** As `readConfigurationNow`, for a manifest. */
export function readManifestNow(machine: Machine, path: string): Promise<ReadDocument<RobotManifest>> {
  return readNow(machine, path, MANIFEST);
}

async function readNow<T>(machine: Machine, path: string, kind: DocumentKind<T>): Promise<ReadDocument<T>> {
  const looked = await createLook(machine).at([requestFor(path)], 0, { settle: false });
  if (looked.kind === "unsettled") throw new Error("A look that does not wait did not end");
  return remake(machine.files, unread<T>(path), looked.found, kind);
}

function requestFor(path: string): LookRequest {
  return { path, limitBytes: READ_LIMIT_BYTES, keep: true };
}

/** Before the first read there are no findings. */
function unread<T>(path: string): ReadDocument<T> {
  return { path, made: null, reading: refusedReading([]) };
}

/** Reads a document again if its file changed, and if it could not be read, because that may have been temporary. */
async function remake<T>(
  files: Files,
  before: ReadDocument<T>,
  looked: ReadonlyMap<string, Found>,
  kind: DocumentKind<T>,
): Promise<ReadDocument<T>> {
  const { path, made } = before;
  const found = looked.get(path);
  if (found === undefined || (found.kind === "read" && isSame(made, found))) return before;
  return { path, made: found, reading: await readingOf(files, path, found, kind) };
}

function isSame(one: Found | null, other: Found | null): boolean {
  if (one?.kind !== "read" || other?.kind !== "read") return one?.kind === other?.kind;
  return isSameContent(one, other) && sameStat(one.stat, other.stat);
}

async function readingOf<T>(
  files: Files,
  path: string,
  found: Found,
  kind: DocumentKind<T>,
): Promise<SettingsReading<T>> {
  switch (found.kind) {
    case "failed":
      return describeFailure(files, path, found.code, kind.missingFix);
    case "restless":
      return unreadable("file_unstable", `${path} is being written; try again`);
    case "unsuitable":
      if (found.stat.kind !== "file") return unreadable("file_not_regular", `${path} is not a regular file`);
      return unreadable("too_large", `${path} is ${found.stat.sizeBytes} bytes; the limit is 1048576`);
    case "read": {
      const { findings, value, locate } = await kind.parse(found.content ?? new Uint8Array(), path);
      const exposures = await findExposure(files, path, kind.exposure);
      return { findings: [...exposures, ...findings], value: exposures.some(isError) ? null : value, locate };
    }
  }
}

async function describeFailure(
  files: Files,
  path: string,
  code: string,
  missingFix: string,
): Promise<SettingsReading<never>> {
  const setting = hidingSetting(files.mountsNow(), path);
  if (setting !== null) {
    const { what, remedy } = hiddenByUnit(path, setting);
    return unreadable("file_unreadable", `${what}; ${remedy}`);
  }
  switch (code) {
    case "ENOENT":
    case "ENOTDIR": {
      const target = await linkTarget(files, path);
      const what = target === undefined ? `does not exist; ${missingFix}` : `is ${danglingLink(target)}`;
      return unreadable("file_missing", `${path} ${what}`);
    }
    case "EACCES":
    case "EPERM":
      return unreadable("file_unreadable", `${path} may not be read by this user; give it read permission`);
    default:
      return unreadable("file_unreadable", `${path} cannot be read (${code})`);
  }
}

function unreadable(id: string, message: string): SettingsReading<never> {
  return refusedReading([{ id, severity: "error", loc: "", message, line: 1, column: 1 }]);
}

/** The code of the problem; commands that end with it exit as `check` does. */
export const CONFIGURATION_INVALID = "configuration-invalid";

/** Why a command does nothing while the configuration is invalid: its first error. */
export function invalidConfiguration(configuration: Document<AgentConfiguration>): Problem {
  return { code: CONFIGURATION_INVALID, ...firstError(configuration) };
}

/** @param error the first one of the document itself, when not given. */
export function firstError(
  { path, reading }: Document<unknown>,
  error: Pick<Finding, "message" | "line" | "column"> | undefined = reading.findings.find(isError),
): Pick<Problem, "what" | "where" | "fix"> {
  return {
    what: error?.message ?? "it cannot be read",
    where: `${path}:${error?.line ?? 1}:${error?.column ?? 1}`,
    fix: "list all errors with: robot-policy-agent check",
  };
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
