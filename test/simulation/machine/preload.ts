import { createWorld } from "../world.ts";
import { HOSTNAME } from "./robot-files.ts";

let loaded: Promise<void> | null = null;

/**
 * Lets a daemon run once with real time to spare: modules that the program loads when it first needs them would otherwise take real
 * time in the middle of a simulated moment, and the simulated world would go on without it.
 */
export function preload(): Promise<void> {
  loaded ??= warmUp();
  return loaded;
}

/** Real time that a module may take to load: with this after each step, the program is never left behind. */
const PAUSE_MS = 1;
const STEPS_LIMIT = 2000;

async function warmUp(): Promise<void> {
  // What no daemon needs on its first day.
  await Promise.all([
    import("yaml"),
    import("../../../src/manifest/catalog/rows.ts"),
    import("../../../src/client/robot-answers.ts"),
    import("../../../src/agent/identity/open.ts"),
  ]);
  const world = createWorld(0);
  world.network.weather = () => ({ kind: world.counts.posts < 2 ? "answer-lost" : "fair" });
  world.start();
  for (let steps = 0; steps < STEPS_LIMIT && !isSaved(); steps += 1) {
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    await world.scheduler.step();
  }
  if (!isSaved()) throw new Error("The daemon does not even register in fair weather");
  world.supervised = false;
  world.kill();

  function isSaved(): boolean {
    const status = world.daemon?.agent?.status();
    return status?.robot.name === HOSTNAME && status.state === "registered";
  }
}
