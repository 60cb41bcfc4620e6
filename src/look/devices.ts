/** Devices as files of a look: the content of such a file is the line that says what the hardware is. */
import type { Hardware, ListedHardware } from "../hardware/hardware.ts";
import type { HardwareMemory } from "../hardware/memory.ts";
import type { Clock } from "../platform/clock.ts";
import { sha256Hex } from "../platform/crypto.ts";
import type { Files, FileStat, ReadableFile } from "../platform/files/files.ts";

/** What a look does with files. */
export type LookFiles = Pick<Files, "stat" | "openForReading">;

/** There is no line. `code` is that of the system, or `NOT_A_DEVICE`, `NO_HARDWARE` or `ETIMEDOUT`. */
class NoLine extends Error {
  readonly code: string;
  constructor(code: string) {
    super(`There is no hardware to describe (${code})`);
    this.code = code;
  }
}

/**
 * Files in which the paths of devices have a line as content. Their stat changes exactly when the line does, so the rules for files hold:
 * a device that appears or changes must hold still, one that is gone may come back.
 */
export function createDeviceFiles({ files, clock }: { readonly files: Files; readonly clock: Clock }) {
  let memory: HardwareMemory | null = null;
  const listed = new Map<string, ListedHardware>();
  const lines = new Map<string, string>();

  async function lineAt(path: string, { request, by }: ListedHardware): Promise<string> {
    lines.delete(path);
    // Loaded with the first device, because most robots list none; again if the program's own files cannot be read for a while (EMFILE).
    const { createHardwareMemory } = await import("../hardware/memory.ts");
    const { hardwareLine } = await import("../hardware/hardware.ts");
    memory ??= createHardwareMemory({ files, clock });
    const hardware = await memory.identify(request);
    if (hardware.kind !== "present") throw new NoLine(codeOf(hardware));
    const line = hardwareLine(hardware.facts, by);
    lines.set(path, line);
    return line;
  }

  const disk: LookFiles = {
    async stat(path) {
      const device = listed.get(path);
      return device === undefined ? files.stat(path) : statOf(await lineAt(path, device));
    },
    async openForReading(path) {
      const device = listed.get(path);
      return device === undefined ? files.openForReading(path) : readable(await lineAt(path, device));
    },
  };

  return {
    disk,
    /** What is at a path from now on; undefined for a file. */
    list(path: string, hardware: ListedHardware | undefined) {
      lines.delete(path);
      if (hardware === undefined) listed.delete(path);
      else listed.set(path, hardware);
    },
    isListed: (path: string): boolean => listed.has(path),
    /** The line that was found last; null for a file. */
    lineOf: (path: string): string | null => lines.get(path) ?? null,
  };
}

/** As an error of the system. */
export function codeOf(hardware: Exclude<Hardware, { kind: "present" }>): string {
  switch (hardware.kind) {
    case "failed":
      return hardware.code;
    case "not-a-device":
      return "NOT_A_DEVICE";
    case "no-hardware":
      return "NO_HARDWARE";
    case "timed-out":
      return "ETIMEDOUT";
  }
}

/** Times that say nothing, and in place of an inode 48 bits of the line's hash. */
function statOf(line: string): FileStat {
  const inode = BigInt(`0x${sha256Hex(line).slice(0, 12)}`);
  const nowhere = { device: 0n, mtimeNs: 1n, ctimeNs: 1n, mode: 0, userId: 0, groupId: 0 };
  return { kind: "file", inode, sizeBytes: Buffer.byteLength(line), ...nowhere };
}

function readable(line: string): ReadableFile {
  const bytes = Buffer.from(line);
  return {
    stat: async () => statOf(line),
    async read(buffer, position) {
      const part = bytes.subarray(position, position + buffer.byteLength);
      buffer.set(part);
      return part.byteLength;
    },
    close: async () => {},
  };
}
