import type { StatsFs } from "node:fs";
import { statfs } from "node:fs/promises";
import { join } from "node:path";

import { errorCode } from "../../platform/files/files.ts";
import { EXIT } from "../../platform/terminal.ts";
import { shellWord } from "../../platform/text/shell-word.ts";
import type { AgentUser } from "../access/agent-user.ts";
import type { CommandContext } from "../commands/context.ts";
import type { AgentConfiguration } from "../configuration/configuration.ts";
import type { Folders } from "../configuration/folders.ts";
import { openState, type Registration } from "../registration/registration.ts";
import { isOtherMachine } from "../registration/state-file.ts";
import { robotName } from "../robot-setup.ts";
import { OTHER_MACHINE_FIX, OTHER_NAME_FIX } from "../remedies.ts";
import { combine, fail, type Found, ok, skip, type Subject, type Verdict, warn } from "./check.ts";

/** The agent writes only a few KB, but with less than this the next package upgrade or log fills the disk. */
const LITTLE_SPACE_BYTES = 32 * 1024 * 1024;
/** About the size of a registration with many files. */
const PROBE_BYTES = 64 * 1024;
/** A package upgrade creates hundreds of files. */
const FEW_INODES = 1000;
const PROBE_NAME = ".doctor-probe";

/**
 * Checks that the saved registration is readable, valid, of this machine and under this name, and that its folder can be written and has space.
 *
 * @param stateProblem why the running agent could not write: root may be able to where the agent is not.
 */
export async function checkState(
  subject: Subject,
  configuration: AgentConfiguration | null,
  stateProblem: string | null,
): Promise<Found<Registration>> {
  const { value = null, ...verdict } = await checkSaved(subject, configuration);
  const disk = await checkDisk(subject.context, subject.folders, subject.agentUser, stateProblem);
  return { ...combine([verdict, disk]), value };
}

async function checkSaved(
  { context: { machine }, folders: { stateDirectory }, agentUser: { relation } }: Subject,
  configuration: AgentConfiguration | null,
): Promise<Found<Registration>> {
  const state = await openState(machine, stateDirectory, false);
  if (state.kind === "problem") {
    const { code, what, where, fix } = state.problem;
    if (relation === "other" && code === "state-unreadable") return skip(`this user may not read ${stateDirectory}`);
    return fail(EXIT.failed, where === undefined ? what : `${what} (${where})`, fix);
  }
  const { registration, setAside } = state;
  if (setAside !== null)
    return warn(`${setAside} is damaged and not used`, "nothing: the agent moves it aside and registers again");
  if (registration === null) return ok("nothing is registered yet");
  const value = registration;
  const was = registration.request.name;
  const here = { hostname: machine.identity.hostname(), machine: await machine.identity.machine() };
  if (isOtherMachine(registration, here.machine)) {
    const what = `written on another machine, as ${was}: a copied image, or a new main board`;
    return { ...fail(EXIT.conflict, what, OTHER_MACHINE_FIX), value };
  }
  const name = configuration === null ? was : robotName(configuration, here);
  if (name !== was)
    return { ...fail(EXIT.conflict, `registered as ${was}, but robot.name is now ${name}`, OTHER_NAME_FIX), value };
  return { ...ok(`registered as ${was} since ${registration.registered_at}, on this machine`), value };
}

/**
 * Checks that the state folder can be written and has space.
 *
 * @param stateProblem why the running agent could not write: root may be able to where the agent is not.
 */
export async function checkDisk(
  { machine: { files }, processId }: Pick<CommandContext, "machine" | "processId">,
  { stateDirectory }: Pick<Folders, "stateDirectory">,
  { relation }: Pick<AgentUser, "relation">,
  stateProblem: string | null,
): Promise<Verdict> {
  const path = join(stateDirectory, `${PROBE_NAME}-${processId}`);
  const folder = shellWord(stateDirectory);
  try {
    const file = await files.createExclusive(path, 0o600);
    try {
      // At once, so that a doctor that is killed leaves nothing behind. The disk takes the bytes all the same.
      await files.remove(path);
      await file.write(new Uint8Array(PROBE_BYTES));
      await file.sync();
    } finally {
      await file.close();
    }
  } catch (error) {
    const code = errorCode(error);
    if (code === undefined) throw error;
    if (code === "ENOENT") return skip(`${stateDirectory} does not exist yet`);
    if (relation === "other" && code === "EACCES")
      return skip(`this user may not write to ${stateDirectory}, which is correct`);
    return fail(EXIT.failed, ...unwritable(code, stateDirectory));
  }
  if (stateProblem !== null)
    return fail(
      EXIT.failed,
      `this user can write the state, but the agent cannot: ${stateProblem}`,
      `look at its owner and the disk: ls -ld ${folder}; df -h ${folder}`,
    );
  return judgeRoom(stateDirectory, await statfs(stateDirectory));
}

export function judgeRoom(
  directory: string,
  { bavail, bsize, files, ffree }: Pick<StatsFs, "bavail" | "bsize" | "files" | "ffree">,
): Verdict {
  const freeBytes = bavail * bsize;
  const room = `${directory} can be written, ${Math.floor(freeBytes / 1024 ** 2)} MiB are free`;
  if (freeBytes < LITTLE_SPACE_BYTES) return warn(room, `make room: df -h ${shellWord(directory)}`);
  // Some filesystems count none (btrfs).
  if (files > 0 && ffree < FEW_INODES)
    return warn(`${room}, but only ${ffree} inodes`, `remove small files: df -i ${shellWord(directory)}`);
  return ok(room);
}

/** @returns what is wrong, and the remedy. */
function unwritable(code: string, directory: string): [what: string, remedy: string] {
  const folder = shellWord(directory);
  switch (code) {
    case "ENOSPC":
    case "EDQUOT":
      return [`${directory}: the disk is full (${code})`, `make room: df -h ${folder}; df -i ${folder}`];
    case "EROFS":
      return [
        `${directory} is on a read-only filesystem; each start checks with the service`,
        "put the state on a writable one: --state-dir DIR, or StateDirectory= in the unit",
      ];
    default:
      return [
        `${directory} cannot be written (${code})`,
        `look at its owner and the disk: ls -ld ${folder}; df -h ${folder}`,
      ];
  }
}
