/** Younger calibrations beside a listed one, which LeRobot may use in its place. */
import { basename, dirname } from "node:path";

import { armOf, readCalibration } from "./calibration.ts";
import { newestFirst } from "./detection.ts";
import { type Entry, Search, type SearchOptions } from "./search.ts";

export interface StaleCalibration {
  /** As listed. */
  readonly path: string;
  readonly younger: string;
  readonly message: string;
}

const LIMITS = { folders: 100, namesInFolder: 200, readFiles: 200, durationMs: 2000 };

/**
 * For each listed calibration, the youngest of the same kind of arm beside it, if that is younger and of other content. LeRobot renamed
 * the folders of arms in 0.4.3, and uses another file for another `--robot.id`: robots/NAME/ID.json, by src/lerobot/robots/robot.py.
 *
 * @param paths absolute.
 */
export async function findStaleCalibrations(
  paths: readonly string[],
  options: Omit<SearchOptions, "limits">,
): Promise<readonly StaleCalibration[]> {
  const search = await Search.open({ ...options, limits: LIMITS });
  const stale: StaleCalibration[] = [];
  for (const path of paths.filter((each) => /\/robots\/[^/]+\/[^/]+\.json$/.test(each))) {
    const [listed] = await search.find(dirname(path), basename(path));
    if (listed === undefined) continue;
    const rivals = (await besides(search, path)).filter(({ modifiedMs }) => modifiedMs > listed.modifiedMs);
    const content = await search.read(path);
    for (const { path: younger } of rivals.filter((each) => !paths.includes(each.path)).toSorted(newestFirst)) {
      const text = await search.read(younger);
      if (text === content || jointsIn(text) !== jointsIn(content)) continue;
      stale.push({ path, younger, message: messageOf(path, younger) });
      break;
    }
  }
  return stale;
}

/** Other files for the same kind of arm, and the same side of a robot with two. */
async function besides(search: Search, path: string): Promise<readonly Entry[]> {
  const { key } = armOf(basename(dirname(path)));
  const found = await search.find(dirname(dirname(path)), "*/*.json");
  return found.filter((each) => {
    const isOfArm = armOf(basename(dirname(each.path))).key === key && sideOf(each.path) === sideOf(path);
    return isOfArm && each.kind === "file" && each.path !== path;
  });
}

function sideOf(path: string): string | undefined {
  return /_(left|right)\.json$/.exec(path)?.[1];
}

function jointsIn(text: string): string {
  const calibration = readCalibration(text);
  return calibration.kind === "current" ? Object.keys(calibration.motors).toSorted().join() : "none";
}

function messageOf(path: string, younger: string): string {
  const id = basename(younger, ".json");
  const isRenamed = basename(path) === basename(younger);
  const why = isRenamed ? "LeRobot renamed the folder in 0.4.3" : `LeRobot uses that one with --robot.id=${id}`;
  return `${younger} is younger than the listed calibration, which may be stale: ${why}`;
}
