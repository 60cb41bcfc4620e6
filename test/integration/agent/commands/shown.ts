/** What commands of the agent show, without what differs between runs. */
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";

import type { CommandResult } from "../../../support/robot/robot.ts";
import type { Scene } from "../../../support/service/scene.ts";

/** The output and exit code, without what differs between runs. */
export function shownBy(
  { code, stdout, stderr }: CommandResult,
  { robot, proxy }: Pick<Scene, "robot" | "proxy">,
): string {
  const text = `${stdout}${stderr === "" ? "" : `--- stderr\n${stderr}`}--- exit ${code}\n`;
  return text
    .replaceAll(robot.folder, "/robot")
    .replaceAll(proxy.url, "http://service")
    .replaceAll(/rob_[0-9a-z]{26}/g, "rob_…")
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "<time>")
    .replaceAll(/(?<=sha256:[0-9a-f]{6})[0-9a-f]{58}|(?<=\b[0-9a-f]{6})[0-9a-f]{58}\b/g, "…")
    .replaceAll(/SHA256 +/g, "SHA256  ");
}

export async function showOn(scene: Scene, args: readonly string[]): Promise<string> {
  return shownBy(await scene.robot.run(args), scene);
}

/** Every entry below a folder, with size, mtime, inode and mode. */
export function treeOf(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .toSorted()
    .map((name) => {
      const { size, mtimeNs, ino, mode } = statSync(join(folder, name), { bigint: true });
      return `${name} ${size} ${mtimeNs} ${ino} ${mode}`;
    });
}
