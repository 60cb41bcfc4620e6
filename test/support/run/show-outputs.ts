/** Setup of every test file: prints the output of the test's programs when the test fails. */
import { afterEach } from "vitest";

import { describeOutputs, forgetEnded } from "./outputs.ts";

afterEach(({ task }) => {
  const outputs = task.result?.state === "fail" ? describeOutputs() : "";
  if (outputs !== "") console.error(outputs);
  forgetEnded();
});
