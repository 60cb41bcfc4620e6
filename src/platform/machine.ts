import { type Clock, systemClock } from "./clock.ts";
import { type FileEvents, systemFileEvents } from "./files/file-events.ts";
import { type Files, systemFiles } from "./files/files.ts";
import { createIdentity, type Identity } from "./identity.ts";
import { type Random, systemRandom } from "./random.ts";
import { createNotify, type Notify, type NotifyEnvironment } from "./systemd/notify.ts";

/**
 * The robot computer. All access of the agent to the operating system goes through this interface, so that test/simulation can run the
 * whole daemon on a simulated machine with a seed.
 */
export interface Machine {
  readonly clock: Clock;
  readonly random: Random;
  readonly files: Files;
  readonly events: FileEvents;
  readonly identity: Identity;
  readonly notify: Notify;
}

export function systemMachine(environment: NotifyEnvironment, processId: number): Machine {
  return {
    clock: systemClock,
    random: systemRandom,
    files: systemFiles,
    events: systemFileEvents,
    identity: createIdentity(systemFiles),
    notify: createNotify(environment, processId),
  };
}
