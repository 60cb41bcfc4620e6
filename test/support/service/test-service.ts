import { onTestFinished } from "vitest";

import { type RunningService, type ServiceOptions, startService } from "./service.ts";

/** A service for the test that runs, stopped with it. */
export async function testService(options?: ServiceOptions): Promise<RunningService> {
  const running = await startService(options);
  onTestFinished(() => running[Symbol.asyncDispose]());
  return running;
}
