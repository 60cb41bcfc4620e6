import { errorCode, type Files } from "../../platform/files/files.ts";
import { createCleanStop } from "./clean-stop.ts";
import type { Registration } from "./record.ts";
import { registrationPath, saveRegistration } from "./registration.ts";
import { isSaved } from "./state-file.ts";

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
