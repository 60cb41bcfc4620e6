import { dirname, join } from "node:path";

import type { Files, FileStat } from "../../platform/files/files.ts";
import { shellWord } from "../../platform/text/shell-word.ts";

/** The paths of the files that `init` writes, and of the key. */
export interface Paths {
  readonly configuration: string;
  readonly manifest: string;
  /** The path on the robot. */
  readonly key: string;
}

/**
 * @param configuration its path, if the flags of `init` do not name it as the other commands do.
 * @param isStandard true when the files are at the paths of the installed agent.
 */
export function stepsHere(configuration: string | null, isStandard: boolean, hasKey: boolean): readonly string[] {
  const program = isStandard ? "sudo robot-policy-agent" : "robot-policy-agent";
  const named = configuration === null ? "" : ` --config ${shellWord(configuration)}`;
  if (isStandard && !hasKey) {
    const instead = `with an API key instead: ${program} set-key, then --setup, and systemctl start robot-policy-agent`;
    return [`${program} check`, `${program} enroll  # also registers the robot and starts the agent; ${instead}`];
  }
  return [
    ...(hasKey ? [] : [`${program} enroll${named}  # or, with an API key: ${program} set-key${named}`]),
    `${program} check${named}`,
    `${program} --setup${named}`,
    // `--setup` registers once; the service watches.
    ...(isStandard ? ["sudo systemctl start robot-policy-agent"] : []),
  ];
}

/** Steps for an image: none checks or registers this computer. The agent starts with the robot. */
export async function stepsInImage(
  files: Files,
  { configuration, key }: Paths,
  image: string,
  program: string,
): Promise<readonly string[]> {
  const root = shellWord(image);
  const keyPath = join(image, key);
  // `install` uses one path for the key, and does not change an image with the Debian package.
  const isForInstall =
    keyPath === join(dirname(configuration), "api-key") &&
    !(await isFile(files, join(image, "usr/bin/robot-policy-agent")));
  const putting = isForInstall
    ? `sudo ${program} install --root ${root} --key-file FILE`
    : `sudo chroot ${root} robot-policy-agent set-key`;
  return [
    ...((await isFile(files, keyPath)) ? [] : [putting]),
    "on a robot that runs this image: sudo robot-policy-agent status",
  ];
}

export async function isFile(files: Files, path: string): Promise<boolean> {
  return (await kindOf(files, path)) === "file";
}

/** What is at the path, links followed; null when nothing can be seen there. */
export async function kindOf(files: Files, path: string): Promise<FileStat["kind"] | null> {
  try {
    return (await files.stat(path)).kind;
  } catch {
    return null;
  }
}
