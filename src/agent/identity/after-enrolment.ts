import { dirname } from "node:path";

import { readServiceUnit, SERVICE_NAME } from "../../access/unit.ts";
import { loadCredential } from "../../client/credential.ts";
import { errorCode } from "../../platform/files/files.ts";
import { systemPrograms } from "../../platform/programs.ts";
import type { Problem } from "../../platform/terminal.ts";
import { shellWord } from "../../platform/text/shell-word.ts";
import type { CommandContext } from "../commands/context.ts";
import { type Folders, hasStandardState } from "../configuration/folders.ts";
import { readConfigurationNow } from "../configuration/documents.ts";
import { keySources } from "../registration/connect.ts";

/** The API key that an enrolled robot does not need any more. */
export interface DiscardedKey {
  /** null when there was none. */
  readonly key: { readonly last4: string; readonly path: string; readonly isRemoved: boolean } | null;
  readonly problem?: Problem;
}

/** Removes the key file of the configuration. A key that systemd hands over, or that the environment has, is only named. */
export async function discardApiKey(
  folders: Pick<Folders, "configPath" | "credentialsDirectory">,
  context: Pick<CommandContext, "machine" | "environment" | "userId">,
): Promise<DiscardedKey> {
  const { machine, environment, userId } = context;
  const configuration = (await readConfigurationNow(machine, folders.configPath)).reading.value;
  const found = await loadCredential(
    { ...keySources(configuration?.service ?? null, folders, environment), serviceUserId: userId },
    machine.files,
  );
  if (found.kind === "credential-problem") {
    if (found.code === "key-missing") return { key: null };
    return { key: null, problem: { code: found.code, what: found.what, where: found.where, fix: found.fix } };
  }
  const path = found.where;
  const named = { last4: found.secret.reveal().slice(-4), path };
  if (found.source !== "key-file") return { key: { ...named, isRemoved: false } };
  try {
    await machine.files.remove(path);
    // A power cut must not bring back a key that is said to be removed.
    await machine.files.syncDirectory(dirname(path));
    return { key: { ...named, isRemoved: true } };
  } catch (error) {
    const code = errorCode(error);
    if (code === undefined) throw error;
    const what = `the API key is not used any more, but cannot be removed (${code})`;
    const fix = `remove it as root: rm ${shellWord(path)}`;
    return { key: { ...named, isRemoved: false }, problem: { code: "key-not-removed", what, where: path, fix } };
  }
}

/** Longer than TimeoutStartSec= of the unit. */
const START_LIMIT_MS = 70_000;

/**
 * Starts the unit of a freshly installed agent, which systemd skipped because there was no configuration. One that a person stopped stays so.
 *
 * @returns true when it runs now.
 */
export async function startForTheFirstTime(folders: Folders, { machine, terminal }: CommandContext): Promise<boolean> {
  if (!hasStandardState(folders)) return false;
  const found = await readServiceUnit(machine.files, systemPrograms);
  // The next look registers the robot.
  if (found.kind === "unit" && found.timer !== null) return false;
  if (found.kind !== "unit" || found.unit.activeState !== "inactive" || !found.unit.conditionFailed) return false;
  const started = await systemPrograms(["systemctl", "start", SERVICE_NAME], { limitMs: START_LIMIT_MS });
  if (started.kind === "ended" && started.exitCode === 0) return true;
  terminal.note(`The agent does not run yet. Start it: sudo systemctl start ${SERVICE_NAME}`);
  return false;
}
