/** Setup of every test file: its programs share a compile cache, and their output is printed when a test fails. */
import { afterEach } from "vitest";

import { COMPILE_CACHE } from "../programs/programs-built.ts";
import { describeOutputs, forgetEnded } from "./outputs.ts";

// Not set before the worker starts: on its exit it would write its own cache while the teardown removes the folder.
Object.assign(process.env, COMPILE_CACHE);

afterEach(({ task }) => {
  const outputs = task.result?.state === "fail" ? describeOutputs() : "";
  if (outputs !== "") console.error(outputs);
  forgetEnded();
});
