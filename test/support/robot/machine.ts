import { systemClock } from "../../../src/platform/clock.ts";
import { systemFiles } from "../../../src/platform/files/files.ts";
import { systemRandom } from "../../../src/platform/random.ts";
import type { StoreMachine } from "../../../src/service/kernel/store/store.ts";

/** Machine for tests that open stores themselves. */
export const testMachine: StoreMachine = {
  clock: systemClock,
  files: systemFiles,
  random: systemRandom,
  log: { debug() {}, info() {}, notice() {}, warn() {}, error() {} },
};
