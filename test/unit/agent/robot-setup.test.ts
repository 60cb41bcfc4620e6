import { expect, test } from "vitest";

import type { AgentConfiguration } from "../../../src/agent/configuration.ts";
import { checkCommonName } from "../../../src/agent/robot-setup.ts";

test.each([
  ["{hostname}", "raspberrypi", "name_common"],
  ["{hostname}", "Ubuntu", "name_common"],
  ["{hostname}", "cell-4", undefined],
  ["{hostname}-{machine_id}", "raspberrypi", undefined],
  ["arm-7", "localhost", undefined],
])("checkCommonName: %s on a machine called %s: %s", (name, hostname, id) => {
  const configuration = { robot: { name } } as AgentConfiguration;
  expect(checkCommonName(configuration, hostname)?.id).toBe(id);
});
