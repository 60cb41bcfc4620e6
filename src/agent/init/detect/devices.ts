/** Cameras and adapters for the manifest: those of the robot, and what of this computer's devices is not. */
import { LIST_LIMIT_MS, type Listed, listHardware } from "../../../hardware/list.ts";
import { within } from "../../../platform/clock.ts";
import type { LeftOut } from "./detection.ts";
import type { SearchOptions } from "./search.ts";

export interface ProposedDevice {
  /** The entry of `configuration_files`. */
  readonly entry: string;
  /** What it is, and what tells it from others. */
  readonly reason: string;
  /** What only a person can say; null for a device of the robot. */
  readonly question: string | null;
}

/** Whether it is listed unless a person objects. */
export const isSure = ({ question }: ProposedDevice): boolean => question === null;

export interface FoundDevices {
  readonly devices: readonly ProposedDevice[];
  readonly leftOut: readonly LeftOut[];
}

/** What no policy sees or moves, by role. */
const LEFT_OUT: ReadonlyMap<string, string> = new Map([
  ["metadata", "the metadata of a picture"],
  ["infrared camera", "infrared beside the picture; list it if the policy sees it"],
  ["camera, further stream", "a further stream of a camera; list it if the policy sees it"],
  ["serial port", "built in: it changes only with the computer"],
]);

/**
 * @param arms how many arms the robot has: leader arms have adapters of the same kind.
 * @returns null when the system does not answer.
 * @throws the signal's reason.
 */
export async function findDevices(
  arms: number,
  { files, clock, signal }: Pick<SearchOptions, "files" | "clock" | "signal">,
): Promise<FoundDevices | null> {
  const all = await within(listHardware(files, signal), LIST_LIMIT_MS, clock, signal);
  if (all === null) return null;
  const unused = all.flatMap(({ name, role }) => ({ path: name, reason: LEFT_OUT.get(role) ?? "" }));
  const devices = all.filter(({ role }) => !LEFT_OUT.has(role));
  return {
    leftOut: unused.filter(({ reason }) => reason !== ""),
    devices: devices.map((each) => {
      const { entry, role, what, twins, facts, by } = each;
      const isBySerial = by === "serial" && facts.serial !== undefined;
      const told = isBySerial
        ? "its serial number"
        : twins.length === 0
          ? "its port"
          : "its port alone: mark the cables";
      return { entry, reason: `${role}, ${what}, told by ${told}`, question: questionOf(each, devices, arms) };
    }),
  };
}

function questionOf({ role, isBuiltIn }: Listed, all: readonly Listed[], arms: number): string | null {
  if (isBuiltIn) return "built into this computer: is it the robot's?";
  if (role === "serial adapter") return "is it the robot's? Its chip is on boards of all kinds";
  if (role !== "servo adapter" && role !== "CAN interface") return null;
  const count = all.filter((other) => other.role === role).length;
  return count > arms ? `one of ${count}: does the policy move what hangs on it?` : null;
}
