import { join } from "node:path";

import * as z from "zod";

import { eachOf, ROBOT_TEXT_NAMES } from "../../api/robot-texts.ts";
import { robotViewSchema } from "../../api/robot-views.ts";
import type { RobotSetup } from "../../api/robots.ts";
import type { FileFingerprint } from "../../look/snapshot.ts";
import { errorCode, type Files } from "../../platform/files/files.ts";
import type { Machine } from "../../platform/machine.ts";
import type { Problem } from "../../platform/terminal.ts";
import { shellWord } from "../../platform/text/shell-word.ts";
import { createIdentityFiles } from "../identity/identity-files.ts";
import {
  createCleanStop,
  isSaved,
  NewerState,
  readState,
  replaceState,
  setAside,
  type StateFile,
  type StateForm,
} from "./state-file.ts";

const count = z.int().nonnegative();
/** JSON has no 64-bit integers. */
const digits = z
  .string()
  .regex(/^-?\d{1,20}$/)
  .transform(BigInt);

const fileSchema = z
  .object({
    label: z.string(),
    path: z.string(),
    sha256: z.string().regex(/^[0-9a-f]{64}$/),
    bytes: count,
    trusted: z.boolean(),
    suspect: z.boolean(),
    line: z.string().exactOptional(),
    pattern: z.string().exactOptional(),
    share: z.boolean().exactOptional(),
    stat: z.object({
      kind: z.literal("file"),
      device: digits,
      inode: digits,
      size_bytes: count,
      mtime_ns: digits,
      ctime_ns: digits,
      mode: count,
      user_id: count,
      group_id: count,
    }),
  })
  .transform(({ trusted: _trusted, stat, ...file }): FileFingerprint => {
    const { size_bytes: sizeBytes, mtime_ns: mtimeNs, ctime_ns: ctimeNs, ...rest } = stat;
    const { user_id: userId, group_id: groupId, ...known } = rest;
    return { ...file, stat: { ...known, sizeBytes, mtimeNs, ctimeNs, userId, groupId } };
  });

/** What was hashed, as the state keeps it. */
export const fingerprintsSchema = z.array(fileSchema);

const registrationSchema = z.object({
  service_url: z.string(),
  /** The machine that registered, as `Identity.machine` names it; null where it had no id. */
  machine: z.string().nullable(),
  /** The request body that the service accepted. Loose: an older agent sends again what it does not know. */
  request: z.looseObject({
    name: z.string(),
    robot_type_id: z.string(),
    region: z.string(),
    configuration_digest: z.string(),
    ...eachOf(ROBOT_TEXT_NAMES, () => z.string().nullish()),
    labels: z.record(z.string(), z.string()).nullish(),
    contract: z.record(z.string(), z.unknown()).nullish(),
  }),
  /** Another request was sent since, and whether the service took it is unknown. */
  in_doubt: z.boolean(),
  /** What was hashed for it. */
  files: fingerprintsSchema,
  /** The robot as the service answered. In a file of an earlier agent the texts may be missing that were not known then. */
  robot: robotViewSchema,
  /** ISO 8601, by this machine's clock. */
  registered_at: z.string(),
});

/** What the robot is registered as, and what that was made of. */
export interface Registration extends Readonly<Omit<z.output<typeof registrationSchema>, "request" | "files">> {
  readonly request: RobotSetup;
  readonly files: readonly FileFingerprint[];
}

const FORM: StateForm<Registration> = {
  member: "registration",
  schema: registrationSchema,
  mode: 0o640,
  // Far above what 64 files and a contract need.
  limitBytes: 4 * 1024 * 1024,
};

/** The file in a state directory. */
export function registrationPath(stateDirectory: string): string {
  return join(stateDirectory, "registration.json");
}

/** Reads the last registration. @throws as `readState`. */
export function loadRegistration(files: Files, stateDirectory: string): Promise<StateFile<Registration>> {
  return readState(files, registrationPath(stateDirectory), FORM);
}

export type OpenedState =
  /** `setAside`: where a damaged file lies now. */
  | { readonly kind: "state"; readonly registration: Registration | null; readonly setAside: string | null }
  | { readonly kind: "problem"; readonly problem: Problem };

/**
 * Reads the registration of an earlier run. With `mend`, moves a damaged file aside, which then counts as no registration: registering
 * again is safe, using a damaged file is not. Refuses when any file of the state is of a newer agent.
 */
export async function openState(
  { files }: Pick<Machine, "files">,
  stateDirectory: string,
  mend: boolean,
): Promise<OpenedState> {
  const path = registrationPath(stateDirectory);
  try {
    const loaded = await loadRegistration(files, stateDirectory);
    await refuseNewerIdentity(files, stateDirectory);
    if (loaded.kind === "content") return { kind: "state", registration: loaded.content, setAside: null };
    const aside = mend && loaded.kind === "damaged" ? await setAside(files, path) : path;
    return { kind: "state", registration: null, setAside: loaded.kind === "damaged" ? aside : null };
  } catch (error) {
    return { kind: "problem", problem: problemOfState(error, stateDirectory) };
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

function problemOfState(error: unknown, stateDirectory: string): Problem {
  if (error instanceof NewerState) {
    const what = `the state is of version ${error.version}, written by a newer agent`;
    const fix = "install that agent again; the state was not changed";
    return { code: error.code, what, where: error.path, fix };
  }
  const code = errorCode(error) ?? "unknown error";
  const path = shellWord(registrationPath(stateDirectory));
  return {
    code: "state-unreadable",
    what: `the state cannot be read (${code})`,
    where: stateDirectory,
    fix:
      code === "EACCES"
        ? "run this as root, or as the user that the agent runs as"
        : `look at the file, and at what the kernel says of its disk: ls -l ${path}; dmesg`,
  };
}

/** @throws as `replaceState`. */
export async function saveRegistration(
  files: Files,
  stateDirectory: string,
  registration: Registration,
): Promise<void> {
  const record = { ...registration, files: registration.files.map(encodeFile) };
  await replaceState(files, registrationPath(stateDirectory), FORM, record);
}

/** What `fileSchema` reads. */
export function encodeFile(file: FileFingerprint): z.input<typeof fileSchema> {
  const { device, inode, sizeBytes, mtimeNs, ctimeNs, mode, userId, groupId } = file.stat;
  return {
    ...file,
    // For earlier agents, which would otherwise not read the file again after a start.
    trusted: false,
    stat: {
      kind: "file",
      device: `${device}`,
      inode: `${inode}`,
      size_bytes: sizeBytes,
      mtime_ns: `${mtimeNs}`,
      ctime_ns: `${ctimeNs}`,
      mode,
      user_id: userId,
      group_id: groupId,
    },
  };
}

/** The registration, in memory and on a disk that may refuse a write: a full or read-only disk does not prevent registering. */
export function keepRegistration(files: Files, stateDirectory: string, loaded: Registration | null) {
  let current = loaded;
  /** `in_doubt` as it is on disk. After a refusal it stays true there: that costs one request after a restart, but saves two writes per retry. */
  let isDoubtSaved = loaded?.in_doubt ?? false;
  let problem: string | null = null;

  async function save(): Promise<void> {
    const unwritten = current;
    if (unwritten === null) return;
    try {
      await saveRegistration(files, stateDirectory, unwritten);
      isDoubtSaved = unwritten.in_doubt;
      problem = null;
    } catch (error) {
      await createCleanStop(files, stateDirectory).deny();
      problem = `${stateDirectory} cannot be written (${errorCode(error) ?? "unknown error"})`;
    }
  }

  /** Whether the service has it is unknown, or known again. Not written to the disk. */
  function setDoubt(isInDoubt: boolean): void {
    if (current !== null) current = { ...current, in_doubt: isInDoubt };
  }

  return {
    get current() {
      return current;
    },
    /** Why the disk has an older one; null when it has not. */
    get problem() {
      return problem;
    },
    /** The service accepted it. */
    async accept(registration: Registration) {
      current = registration;
      await save();
    },
    setDoubt,
    /**
     * Records on disk, before a request is sent, that the service may soon have another registration than the last known one, even if the
     * answer is lost or the power fails. Retries do not write again, nor does a disk that just refused a write.
     */
    async doubtDurably() {
      setDoubt(true);
      if (!isDoubtSaved && problem === null) await save();
    },
    /** Writes again what the disk refused. */
    async saveAgain() {
      if (problem !== null) await save();
    },
    /** Forgets the registration if its file was moved away; false when the file is there. */
    async forgetMoved(): Promise<boolean> {
      if (await isSaved(files, registrationPath(stateDirectory))) return false;
      current = null;
      problem = null;
      isDoubtSaved = false;
      return true;
    },
  };
}
