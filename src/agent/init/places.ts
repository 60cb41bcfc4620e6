/** Where `init` writes, whether it may, and what comes next there. */
import { access, constants } from "node:fs/promises";
import { dirname, join } from "node:path";

import { replaceDurably } from "../../platform/files/durable-file.ts";
import { errorCode, type Files, type FileStat } from "../../platform/files/files.ts";
import { leadsOut } from "../../platform/files/leads-out.ts";
import type { Problem } from "../../platform/terminal.ts";
import { shellWord } from "../../platform/text/shell-word.ts";

/** The paths of the files that `init` writes, and of the key. */
export interface Places {
  readonly directory: string;
  readonly configuration: string;
  readonly manifest: string;
  /** The path on the robot. */
  readonly key: string;
  /** The root folder of a robot's image; null on the robot itself. */
  readonly image: string | null;
}

const DIRECTORY_MODE = 0o755;
/** Readable by all: neither file contains a secret. */
const FILE_MODE = 0o644;

/** What forbids to write here; checked before the first question, so that no answers are lost. */
export async function findObstacle(files: Files, places: Places, isForced: boolean): Promise<Problem | null> {
  const { directory, configuration, manifest, image } = places;
  // The files of an image must not become those of this computer.
  if (image !== null && (await leadsOut(image, directory))) {
    const what = "this folder of the image leads out of it by a link, to what belongs to this computer";
    const fix = "replace that link by a folder, or run init within the image";
    return { code: "leads-out", what, where: directory, fix };
  }
  const taken = isForced ? null : ((await findExisting(files, configuration)) ?? (await findExisting(files, manifest)));
  return taken ?? findUnwritable(directory, directory);
}

async function findExisting(files: Files, path: string): Promise<Problem | null> {
  try {
    await files.linkStat(path);
    return { code: "exists", what: "the file exists already", where: path, fix: "to replace it: --force" };
  } catch (error) {
    return errorCode(error) === "ENOENT" || errorCode(error) === "ENOTDIR" ? null : unwritable(error, path);
  }
}

/** @param nearest the folder, or its nearest existing parent. */
async function findUnwritable(directory: string, nearest: string): Promise<Problem | null> {
  try {
    await access(nearest, constants.W_OK | constants.X_OK);
    return null;
  } catch (error) {
    if (errorCode(error) === "ENOENT" && dirname(nearest) !== nearest)
      return findUnwritable(directory, dirname(nearest));
    return unwritable(error, directory);
  }
}

/** @returns the problem, after which one of the files may be new. */
export async function writeBoth(
  files: Files,
  { directory, ...places }: Places,
  texts: { readonly configuration: string; readonly manifest: string },
): Promise<Problem | null> {
  try {
    await files.makeDirectory(directory, DIRECTORY_MODE);
    await replaceDurably(files, places.configuration, Buffer.from(texts.configuration), FILE_MODE);
    await replaceDurably(files, places.manifest, Buffer.from(texts.manifest), FILE_MODE);
    return null;
  } catch (error) {
    return unwritable(error, directory);
  }
}

function unwritable(error: unknown, where: string): Problem {
  const code = errorCode(error);
  if (code === undefined) throw error;
  const isDenied = code === "EACCES" || code === "EPERM";
  const fix = isDenied ? "run it as root, or write elsewhere: --dir DIR" : "choose another place: --dir DIR";
  return { code: "not-writable", what: `cannot write there (${code})`, where, fix };
}

/**
 * What is left to do on a robot once both files are complete.
 *
 * @param named the flag that names the configuration, if the flags of `init` do not name it as the other commands do.
 * @param isStandard true when the files are at the paths of the installed agent.
 */
export function stepsHere(named: string, isStandard: boolean, hasCredential: boolean): readonly string[] {
  const program = isStandard ? "sudo robot-policy-agent" : "robot-policy-agent";
  if (isStandard && !hasCredential) {
    const instead = `with an API key instead: ${program} set-key, then --setup, and systemctl start robot-policy-agent`;
    return [`${program} check`, `${program} enroll  # also registers the robot and starts the agent; ${instead}`];
  }
  return [
    ...(hasCredential ? [] : [`${program} enroll${named}  # or, with an API key: ${program} set-key${named}`]),
    `${program} check${named}`,
    `${program} --setup${named}`,
    // `--setup` registers once; the service watches.
    ...(isStandard ? ["sudo systemctl start robot-policy-agent"] : []),
  ];
}

/** The same for an image. No step checks or registers this computer; the agent starts with the robot. */
export async function stepsInImage(files: Files, image: string, key: string): Promise<readonly string[]> {
  const hasKey = (await kindOf(files, join(image, key))) === "file";
  const setKey = `once the agent is installed there: sudo chroot ${shellWord(image)} robot-policy-agent set-key`;
  return [...(hasKey ? [] : [setKey]), "on a robot that runs this image: sudo robot-policy-agent status"];
}

/** What is at the path, links followed; null when nothing can be seen there. */
export async function kindOf(files: Files, path: string): Promise<FileStat["kind"] | null> {
  try {
    return (await files.stat(path)).kind;
  } catch {
    return null;
  }
}
