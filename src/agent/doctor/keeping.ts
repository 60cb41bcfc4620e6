import { access, constants, statfs } from "node:fs/promises";
import { dirname, join } from "node:path";

import { removeIfPresent } from "../../platform/durable-file.ts";
import { errorCode } from "../../platform/files.ts";
import { EXIT } from "../../platform/terminal.ts";
import type { CommandContext } from "../commands/context.ts";
import type { AgentConfiguration } from "../configuration.ts";
import type { Folders } from "../folders.ts";
import { openState } from "../open.ts";
import type { Registration } from "../registration.ts";
import { robotName } from "../robot-setup.ts";
import type { Examined, Verdict } from "./check.ts";
import { fail, ok, warn } from "./check.ts";

/** What the agent writes is a few kilobytes; with less than this the next package upgrade or log fills the disk. */
const LITTLE_SPACE_BYTES = 32 * 1024 * 1024;
/** About what a registration with many files takes. */
const PROBE_BYTES = 64 * 1024;
const PROBE_NAME = ".doctor-probe";

/** What is left of an earlier registration: readable, ours, of this machine and under this name. */
export async function checkState(
  { machine }: CommandContext,
  { state_directory }: Folders,
  configuration: AgentConfiguration | null,
): Promise<Examined<Registration>> {
  const state = await openState(machine, state_directory, false);
  if (state.kind === "problem") {
    const { what, where, fix } = state.problem;
    return { verdict: fail(EXIT.failed, where === undefined ? what : `${what} (${where})`, fix), value: null };
  }
  const { registration, set_aside } = state;
  if (set_aside !== null) {
    const what = `${set_aside} is damaged, and nothing in it is believed`;
    return { verdict: warn(what, "nothing: the agent puts it aside and registers again"), value: null };
  }
  if (registration === null) return { verdict: ok("nothing is registered yet"), value: null };
  const verdict = judgeRegistration(
    registration,
    machine.identity.hostname(),
    await machine.identity.machine(),
    configuration,
  );
  return { verdict, value: registration };
}

function judgeRegistration(
  registration: Registration,
  hostname: string,
  machine: string | null,
  configuration: AgentConfiguration | null,
): Verdict {
  const registered_as = registration.request.name;
  const rebind = "robot-policy-agent rebind";
  if (registration.machine !== null && machine !== null && registration.machine !== machine) {
    const what = `made on another machine, as ${registered_as}: a copied image, or a new motherboard`;
    return fail(EXIT.conflict, what, `to make this machine a robot of its own: ${rebind}`);
  }
  const name = configuration === null ? registered_as : robotName(configuration, { hostname, machine });
  if (name !== registered_as) {
    const what = `registered as ${registered_as}, but robot.name is now ${name}`;
    return fail(EXIT.conflict, what, `set robot.name back, or register a new robot on purpose: ${rebind}`);
  }
  return ok(`registered as ${registered_as} since ${registration.registered_at}, on this machine`);
}

/** The state folder can be written, and has room. */
export async function checkDisk(
  { machine, process_id }: CommandContext,
  { state_directory }: Folders,
): Promise<Verdict> {
  const { files } = machine;
  try {
    await files.stat(state_directory);
  } catch (error) {
    if (errorCode(error) === "ENOENT") return checkAncestor(state_directory, dirname(state_directory));
    throw error;
  }
  const path = join(state_directory, `${PROBE_NAME}-${process_id}`);
  try {
    const file = await files.createExclusive(path, 0o600);
    try {
      await file.write(new Uint8Array(PROBE_BYTES));
      await file.sync();
    } finally {
      await file.close();
    }
  } catch (error) {
    return unwritable(state_directory, error);
  } finally {
    await removeIfPresent(files, path).catch(() => {});
  }
  const free_bytes = await freeBytes(state_directory);
  const free = `${state_directory} can be written; ${Math.floor(free_bytes / 1024 ** 2)} MiB are free`;
  return free_bytes < LITTLE_SPACE_BYTES ? warn(free, `make room: df -h ${state_directory}`) : ok(free);
}

/** Nothing is made here only to look: whether the agent could make the folder shows in the nearest one that is there. */
async function checkAncestor(directory: string, ancestor: string): Promise<Verdict> {
  try {
    await access(ancestor, constants.W_OK | constants.X_OK);
    return ok(`${directory} is not there yet and can be made`);
  } catch (error) {
    if (errorCode(error) === "ENOENT" && dirname(ancestor) !== ancestor)
      return checkAncestor(directory, dirname(ancestor));
    return unwritable(ancestor, error);
  }
}

function unwritable(directory: string, error: unknown): Verdict {
  const code = errorCode(error);
  if (code === undefined) throw error;
  switch (code) {
    case "ENOSPC":
    case "EDQUOT":
      return fail(
        EXIT.failed,
        `${directory}: the disk is full (${code})`,
        `make room: df -h ${directory}; df -i ${directory}`,
      );
    case "EROFS":
      return fail(
        EXIT.failed,
        `${directory} is on a read-only filesystem; each start registers again`,
        "put the state on a writable one: --state-dir DIR, or StateDirectory= in the unit",
      );
    case "EACCES":
    case "EPERM":
      return fail(
        EXIT.failed,
        `${directory} may not be written by this user`,
        `run it as the agent's user: ls -ld ${directory}`,
      );
    default:
      return fail(
        EXIT.failed,
        `${directory} cannot be written (${code})`,
        `look at the disk: dmesg, df -h ${directory}`,
      );
  }
}

async function freeBytes(directory: string): Promise<number> {
  const { bavail, bsize } = await statfs(directory);
  return bavail * bsize;
}
