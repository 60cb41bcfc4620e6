/**
 * Hardware: what a device or a network interface is, as one line of canonical JSON that the configuration digest covers.
 *
 * The line holds what stays while the hardware stays: bus, vendor, product, serial number or port. Numbers that the kernel gives anew at each
 * boot are not in it, nor texts and revisions that come with firmware and drivers. Section 2.6 of src/manifest/SPECIFICATION.md is the
 * definition. `identify.ts` finds the facts in /sys, `memory.ts` looks again and again at little cost, `list.ts` finds what is there, `twins.ts` what cannot be told apart.
 */
import canonicalize from "canonicalize";

/** A device by a path that leads to its node, or a network interface by its name. */
export type HardwareRequest = { readonly device: string } | { readonly interface: string };

/** How to tell a device from its twin: by its serial number if it has one, or by the port it hangs on. */
export type By = "serial" | "port";

/** A device or interface of the manifest's list. */
export interface ListedHardware {
  readonly request: HardwareRequest;
  readonly by: By;
}

/** What a device is. Members that it does not have are undefined. */
export interface Facts {
  /** The kernel's name of the bus: `usb`, `pci`, `platform`, `spi`. */
  readonly bus: string;
  readonly vendor?: string | undefined;
  readonly product?: string | undefined;
  readonly serial?: string | undefined;
  /** Stable path of the controller, and the way from there. */
  readonly port: string;
  /** Number of the USB interface. */
  readonly interface?: number | undefined;
  /** Of a video node among those of its interface. */
  readonly index?: number | undefined;
  /** Of a CAN interface or serial port among those of its adapter. */
  readonly channel?: number | undefined;
  /** The name that the device tree has for a chip. */
  readonly compatible?: string | undefined;
  /** Name and sensor of a camera that is built in (CSI). */
  readonly name?: string | undefined;
  readonly sensor?: string | undefined;
}

export type Hardware = Present | Absent;

export interface Present {
  readonly kind: "present";
  readonly facts: Facts;
  /** Where the kernel describes it, below /sys/devices. */
  readonly folder: string;
}

export type Absent =
  /** The system refused, for example with `ENOENT`, or `ELOOP` for links without end. `path` is where, in /dev or /sys. */
  | { readonly kind: "failed"; readonly code: string; readonly path: string }
  /** The path leads to a file or a folder. */
  | { readonly kind: "not-a-device" }
  /** Software alone: a pseudo terminal, a loop device, /dev/null, a camera or CAN bus that a program feeds. */
  | { readonly kind: "no-hardware" }
  /** The system did not answer in time. */
  | { readonly kind: "timed-out" };

/** The line that is hashed. @see src/manifest/SPECIFICATION.md section 2.6 */
export function hardwareLine(facts: Facts, by: By): string {
  const { port, serial, ...rest } = facts;
  const own = by === "serial" && serial !== undefined ? { ...rest, serial } : { ...rest, port };
  const line = canonicalize(own);
  if (line === undefined) throw new TypeError("Facts are always an object");
  return line;
}
