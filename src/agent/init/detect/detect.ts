/**
 * Detection: which robot this computer drives and which files configure it, by what robot people keep in their homes. It only proposes: a
 * person decides, or `--yes` where nothing is open.
 */
import { FILE_COUNT } from "../../../manifest/configuration-files.ts";
import { type Candidate, type Environment, findProjects, leftOut, type LeftOut } from "./detection.ts";
import { findDevices, type ProposedDevice } from "./devices.ts";
import { findKnown } from "./known.ts";
import { findLerobot } from "./lerobot.ts";
import { findRos } from "./ros.ts";
import { Search, type SearchOptions } from "./search.ts";

export interface DetectOptions extends SearchOptions {
  readonly environment: Environment;
  /** The folder with etc and opt; "/" by default. */
  readonly root?: string;
}

export interface Detection {
  /** Robots that there is evidence for. */
  readonly candidates: readonly Candidate[];
  /** The only one, when nothing about it is open. */
  readonly decided: Candidate | null;
  /** What a person has to say. */
  readonly questions: readonly string[];
  /** Whatever the robot is. Those with a question are listed only by a person. */
  readonly devices: readonly ProposedDevice[];
  readonly leftOutDevices: readonly LeftOut[];
  readonly looked: readonly string[];
  readonly skipped: readonly LeftOut[];
}

/** @throws the signal's reason. */
export async function detect({ environment, root = "/", ...options }: DetectOptions): Promise<Detection> {
  const { homes } = options;
  const search = await Search.open(options);
  const projects = await findProjects(search, homes, root);
  const around = { homes, projects, root, environment };
  const specific = [...(await findLerobot(search, around)), ...(await findKnown(search, around))];
  const candidates = merged(withoutDescription(specific, await findRos(search, around))).map(fitting);
  const [first, second] = candidates;
  const all = candidates.map(({ robot, reason }) => `${robot} (${reason})`).join(", ");
  const questions =
    second === undefined ? [...(first?.questions ?? [])] : [`which robot does this computer drive? ${all}`];
  if (first !== undefined && search.isCut) questions.push("is that all? The search ended at its limits");
  const found = await findDevices(Math.max(1, first?.ranges.length ?? 1), options);
  if (found === null) search.skipped.set("/sys/class", "the system does not answer what is plugged in");
  const { devices, leftOut: leftOutDevices } = found ?? { devices: [], leftOut: [] };
  const looked = [...homes, ...projects.map(({ path }) => path)];
  const skipped = [...search.skipped].map(([path, reason]) => ({ path, reason }));
  const decided = questions.length === 0 ? (first ?? null) : null;
  return { candidates, decided, questions, devices, leftOutDevices, looked, skipped };
}

/** The description in a workspace is of the robot that was found otherwise, or of none that runs here: a person lists it, if wanted. */
function withoutDescription(specific: readonly Candidate[], ros: readonly Candidate[]): readonly Candidate[] {
  const [first, ...rest] = specific;
  const described = ros.find(({ key }) => key === "ros");
  if (first === undefined || described === undefined) return [...specific, ...ros];
  const unused = leftOut(described.files, "of a ROS workspace; list it if this robot runs with it");
  return [{ ...first, leftOut: [...first.leftOut, ...unused] }, ...rest];
}

/** One candidate for each robot, with all evidence for it. */
function merged(candidates: readonly Candidate[]): readonly Candidate[] {
  const byKey = new Map<string, Candidate>();
  for (const each of candidates) {
    const before = byKey.get(each.key);
    byKey.set(each.key, before === undefined ? each : both(before, each));
  }
  return [...byKey.values()];
}

function both(one: Candidate, other: Candidate): Candidate {
  return {
    ...one,
    questions: [`which files are this robot's? ${one.reason}, or ${other.reason}`, ...one.questions],
    leftOut: [...one.leftOut, ...leftOut(other.files, "the same robot's in another place"), ...other.leftOut],
  };
}

function fitting(each: Candidate): Candidate {
  const beyond = leftOut(each.files.slice(FILE_COUNT.maximum), `a manifest lists at most ${FILE_COUNT.maximum} files`);
  return { ...each, files: each.files.slice(0, FILE_COUNT.maximum), leftOut: [...each.leftOut, ...beyond] };
}
