import { errorCode, type Files } from "../../platform/files/files.ts";
import type { Machine } from "../../platform/machine.ts";
import type { Problem } from "../../platform/terminal.ts";
import { shellWord } from "../../platform/text/shell-word.ts";
import { createIdentityFiles } from "../identity/identity-files.ts";
import { loadRegistration, type Registration, registrationPath } from "./registration.ts";
import { NewerState, setAside } from "./state-file.ts";

export type OpenedState =
  /** `setAside`: where a damaged file lies now. */
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
      case "content":
        return { kind: "state", registration: loaded.content, setAside: null };
      case "damaged":
        return { kind: "state", registration: null, setAside: mend ? await setAside(machine.files, path) : path };
    }
  } catch (error) {
    return { kind: "problem", problem: describeProblem(error, stateDirectory) };
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

function describeProblem(error: unknown, stateDirectory: string): Problem {
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
