import type { Clock } from "../../platform/clock.ts";
import type { Files } from "../../platform/files/files.ts";
import type { Log } from "../../platform/log/log.ts";
import type { Random } from "../../platform/random.ts";

/** The platform interfaces of the service. Store and network are not among them: they are real in every test. */
export interface ServiceMachine {
  readonly clock: Clock;
  readonly files: Files;
  readonly random: Random;
  readonly log: Log;
}
