import * as os from "node:os";

import { hmacSha256Hex } from "./crypto.ts";
import { readBounded } from "./files/durable-file.ts";
import type { Files } from "./files/files.ts";

/** The identity of this machine. */
export interface Identity {
  hostname(): string;
  /**
   * An identifier of this installation of the operating system, the same at every boot, different on every machine; never the raw
   * machine id, which machine-id(5) asks programs to keep to themselves. 64 hex characters.
   *
   * @returns null when the machine has no id yet (an image before its first boot).
   */
  machine(): Promise<string | null>;
}

/** The application id of the derivation: identifiers of different programs cannot be linked. */
const APPLICATION = "robot-policy-agent/v1";
const MACHINE_ID = "/etc/machine-id";
const MACHINE_ID_LIMIT_BYTES = 256;

export function createIdentity(files: Files, path: string = MACHINE_ID): Identity {
  return {
    hostname: () => os.hostname(),
    async machine() {
      const id = await readMachineId(files, path);
      // As sd_id128_get_machine_app_specific(3): HMAC-SHA256 keyed by the machine id.
      return id === null ? null : hmacSha256Hex(Buffer.from(id, "hex"), APPLICATION);
    },
  };
}

async function readMachineId(files: Files, path: string): Promise<string | null> {
  try {
    const bytes = await readBounded(files, path, MACHINE_ID_LIMIT_BYTES);
    if (bytes === "too-large") return null;
    const id = Buffer.from(bytes).toString("latin1").trim();
    // The file says "uninitialized" during the first boot; broken image builders leave all zeroes.
    return /^[0-9a-f]{32}$/.test(id) && !/^0+$/.test(id) ? id : null;
  } catch {
    return null;
  }
}
