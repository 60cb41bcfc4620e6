import { systemClock } from "../../platform/clock.ts";
import { systemFiles } from "../../platform/files/files.ts";
import { systemRandom } from "../../platform/random.ts";
import { createLog } from "../kernel/log.ts";
import type { ServiceMachine } from "../kernel/machine.ts";

/** The machine of a command that does one thing and ends: what it has to say it says on the terminal, the log keeps silent. */
export function commandMachine(): ServiceMachine {
  const log = createLog("silent", { write() {} });
  return { clock: systemClock, files: systemFiles, random: systemRandom, log };
}
