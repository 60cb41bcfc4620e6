import type { Clock } from "../../platform/clock.ts";
import type { Files } from "../../platform/files/files.ts";
import type { Log } from "../../platform/log/log.ts";
import type { Random } from "../../platform/random.ts";

/** The computer as the service sees it. The store and the network are its own; they are real in every test. */
export interface ServiceMachine {
  readonly clock: Clock;
  readonly files: Files;
  readonly random: Random;
  readonly log: Log;
}
