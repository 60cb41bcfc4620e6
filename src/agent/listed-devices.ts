/** What is behind the devices that a manifest lists, for `check` and `doctor`. */
import type { TwinFinding } from "../hardware/twins.ts";
import { codeOf } from "../look/devices.ts";
import type { ConfigurationFile } from "../look/snapshot.ts";
import { within } from "../platform/clock.ts";
import type { Machine } from "../platform/machine.ts";

export interface ListedDevices {
  /** Of those listed. */
  readonly present: number;
  readonly absent: readonly { readonly path: string; readonly code: string }[];
  /** None also where the system does not answer what else is plugged in. */
  readonly twins: readonly TwinFinding[];
}

const NONE: ListedDevices = { present: 0, absent: [], twins: [] };

/** @throws the signal's reason. */
export async function examineDevices(
  listed: readonly ConfigurationFile[],
  { files, clock }: Pick<Machine, "files" | "clock">,
  signal: AbortSignal,
): Promise<ListedDevices> {
  const devices = listed.flatMap(({ path, hardware }) => (hardware === undefined ? [] : [{ path, ...hardware }]));
  if (devices.length === 0) return NONE;
  // Most robots list none.
  const { identify } = await import("../hardware/identify.ts");
  const { LIST_LIMIT_MS, listHardware } = await import("../hardware/list.ts");
  const { findTwins } = await import("../hardware/twins.ts");
  const looks = Promise.all(
    devices.map(async (device) => ({ ...device, hardware: await identify(device.request, files) })),
  );
  const found = await within(looks, LIST_LIMIT_MS, clock, signal);
  if (found === null) return { ...NONE, absent: devices.map(({ path }) => ({ path, code: "ETIMEDOUT" })) };
  const present = found.flatMap(({ path: name, by, hardware }) =>
    hardware.kind === "present" ? [{ name, by, facts: hardware.facts }] : [],
  );
  const absent = found.flatMap(({ path, hardware }) =>
    hardware.kind === "present" ? [] : [{ path, code: codeOf(hardware) }],
  );
  const others = await within(listHardware(files, signal), LIST_LIMIT_MS, clock, signal);
  return { present: present.length, absent, twins: others === null ? [] : findTwins(present, others) };
}
