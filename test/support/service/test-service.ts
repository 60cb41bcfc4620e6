import { onTestFinished } from "vitest";

import { type RunningService, type ServiceOptions, startService } from "./service.ts";

/** A service that stops when the current test ends. */
export async function testService(options?: ServiceOptions): Promise<RunningService> {
  const running = await startService(options);
  onTestFinished(() => running[Symbol.asyncDispose]());
  return running;
}
