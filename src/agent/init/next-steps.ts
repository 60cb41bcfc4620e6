import { dirname, join } from "node:path";

import type { Files } from "../../platform/files/files.ts";
import { shellWord } from "../../platform/text/shell-word.ts";

/** The files that `init` writes, and where the key belongs. */
export interface Paths {
  readonly configuration: string;
  readonly manifest: string;
  /** As the agent will see it. */
  readonly key: string;
}

/** @param isStandard the files are where the installed agent looks. */
export function stepsHere(paths: Paths, isStandard: boolean, hasKey: boolean): readonly string[] {
  const program = isStandard ? "sudo robot-policy-agent" : "robot-policy-agent";
  const named = isStandard ? "" : ` --config ${paths.configuration}`;
  return [
    ...(hasKey ? [] : [`${program} set-key${named}`]),
    `${program} check${named}`,
    `${program} --setup${named}`,
    // Registered once is not watched.
    ...(isStandard ? ["sudo systemctl start robot-policy-agent"] : []),
  ];
}

/** Nothing that looks at this computer, or would register it: the agent of the image comes up with its robot. */
export async function stepsInImage(
  files: Files,
  { configuration, key }: Paths,
  image: string,
): Promise<readonly string[]> {
  const root = shellWord(image);
  const keyPath = join(image, key);
  // `install` has one place for the key, and leaves an image with the Debian package alone.
  const isForInstall =
    keyPath === join(dirname(configuration), "api-key") &&
    !(await isFile(files, join(image, "usr/bin/robot-policy-agent")));
  const putting = isForInstall
    ? `sudo robot-policy-agent install --root ${root} --key-file FILE`
    : `sudo chroot ${root} robot-policy-agent set-key`;
  return [
    ...((await isFile(files, keyPath)) ? [] : [putting]),
    "on a robot that runs this image: sudo robot-policy-agent status",
  ];
}

export async function isFile(files: Files, path: string): Promise<boolean> {
  try {
    return (await files.stat(path)).kind === "file";
  } catch {
    return false;
  }
}
