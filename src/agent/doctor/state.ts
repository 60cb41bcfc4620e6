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
import { openState } from "../registration/open-state.ts";
import type { Registration } from "../registration/registration.ts";
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
  const { verdict, value } = await checkRegistration(subject, configuration);
  const { context, folders, agentUser } = subject;
  return { verdict: combine([verdict, await checkDisk(context, folders, agentUser, stateProblem)]), value };
}

async function checkRegistration(
  { context: { machine }, folders: { stateDirectory }, agentUser: { relation } }: Subject,
  configuration: AgentConfiguration | null,
): Promise<{ readonly verdict: Verdict; readonly value: Registration | null }> {
  const nothing = (verdict: Verdict) => ({ verdict, value: null });
  const state = await openState(machine, stateDirectory, false);
  if (state.kind === "problem") {
    if (relation === "other" && state.problem.code === "state-unreadable")
      return nothing(skip(`this user may not read ${stateDirectory}`));
    const { what, where, fix } = state.problem;
    return nothing(fail(EXIT.failed, where === undefined ? what : `${what} (${where})`, fix));
  }
  const { registration, setAside } = state;
  if (setAside !== null) {
    const remedy = "nothing: the agent moves it aside and registers again";
    return nothing(warn(`${setAside} is damaged and not used`, remedy));
  }
  if (registration === null) return nothing(ok("nothing is registered yet"));
  const registeredAs = registration.request.name;
  const here = { hostname: machine.identity.hostname(), machine: await machine.identity.machine() };
  if (isOtherMachine(registration, here.machine)) {
    const what = `written on another machine, as ${registeredAs}: a copied image, or a new main board`;
    return { verdict: fail(EXIT.conflict, what, OTHER_MACHINE_FIX), value: registration };
  }
  const name = configuration === null ? registeredAs : robotName(configuration, here);
  const verdict =
    name === registeredAs
      ? ok(`registered as ${registeredAs} since ${registration.registered_at}, on this machine`)
      : fail(EXIT.conflict, `registered as ${registeredAs}, but robot.name is now ${name}`, OTHER_NAME_FIX);
  return { verdict, value: registration };
}

/**
 * Checks that the state folder can be written and has space.
 *
 * @param stateProblem why the running agent could not write: root may be able to where the agent is not.
 */
export async function checkDisk(
  { machine, processId }: Pick<CommandContext, "machine" | "processId">,
  { stateDirectory }: Pick<Folders, "stateDirectory">,
  { relation }: Pick<AgentUser, "relation">,
  stateProblem: string | null,
): Promise<Verdict> {
  const { files } = machine;
  const path = join(stateDirectory, `${PROBE_NAME}-${processId}`);
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
    if (code === "ENOENT") return skip(`${stateDirectory} does not exist yet`);
    if (relation === "other" && code === "EACCES")
      return skip(`this user may not write to ${stateDirectory}, which is correct`);
    return unwritable(stateDirectory, error);
  }
  if (stateProblem !== null)
    return fail(
      EXIT.failed,
      `this user can write the state, but the agent cannot: ${stateProblem}`,
      `look at its owner and the disk: ls -ld ${shellWord(stateDirectory)}; df -h ${shellWord(stateDirectory)}`,
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

function unwritable(directory: string, error: unknown): Verdict {
  const code = errorCode(error);
  if (code === undefined) throw error;
  const failed = (what: string, remedy: string) => fail(EXIT.failed, directory + what, remedy);
  const folder = shellWord(directory);
  switch (code) {
    case "ENOSPC":
    case "EDQUOT":
      return failed(`: the disk is full (${code})`, `make room: df -h ${folder}; df -i ${folder}`);
    case "EROFS":
      return failed(
        " is on a read-only filesystem; each start checks with the service",
        "put the state on a writable one: --state-dir DIR, or StateDirectory= in the unit",
      );
    case "EACCES":
    case "EPERM":
      return failed(" may not be written by this user", `run it as the agent's user: ls -ld ${folder}`);
    default:
      return failed(` cannot be written (${code})`, `look at the disk: dmesg, df -h ${folder}`);
  }
}
