import { errorCode, type Files } from "../../platform/files/files.ts";
import type { Machine } from "../../platform/machine.ts";
import type { Problem } from "../../platform/terminal.ts";
import { shellWord } from "../../platform/text/shell-word.ts";
import { createIdentityFiles } from "../identity/identity-files.ts";
import type { Registration } from "./record.ts";
import { loadRegistration, registrationPath } from "./registration.ts";
import { NewerState, setAside } from "./state-file.ts";

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
