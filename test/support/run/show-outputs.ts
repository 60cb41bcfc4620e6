/** Runs in every test file: shows with a failure what the programs of the test wrote. */
import { afterEach } from "vitest";

import { describeOutputs, forgetEnded } from "./outputs.ts";

afterEach(({ task }) => {
  const outputs = task.result?.state === "fail" ? describeOutputs() : "";
  if (outputs !== "") console.error(outputs);
  forgetEnded();
});
