import { createWorld } from "../world.ts";
import { HOSTNAME } from "./robot-files.ts";

let loaded: Promise<void> | null = null;

/**
 * Runs a daemon once with real time to spare, because it loads some modules on first use. Loading takes real time, during which the
 * simulated world would continue without the program.
 */
export function preload(): Promise<void> {
  loaded ??= warmUp();
  return loaded;
}

/** Real time that a module may take to load; a pause of this length after each step keeps the program in step. */
const PAUSE_MS = 1;
const STEPS_LIMIT = 2000;

async function warmUp(): Promise<void> {
  // Modules that no daemon needs on its first day.
  await Promise.all([
    import("yaml"),
    import("../../../src/manifest/catalog/rows.ts"),
    import("../../../src/client/client.ts"),
    import("../../../src/agent/identity/machine.ts"),
  ]);
  const world = createWorld(0);
  world.network.weather = () => ({ kind: world.counts.posts < 2 ? "answer-lost" : "fair" });
  world.start();
  for (let steps = 0; steps < STEPS_LIMIT && !isSaved(); steps += 1) {
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    await world.scheduler.step();
  }
  if (!isSaved()) throw new Error("The daemon does not register on a working network");
  world.supervised = false;
  world.kill();

  function isSaved(): boolean {
    const status = world.daemon?.agent?.status();
    return status?.robot.name === HOSTNAME && status.state === "registered";
  }
}
