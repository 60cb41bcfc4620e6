import { describe, expect, test } from "vitest";

import type { ServiceQuestion } from "../../../src/installer/plan-service.ts";
import { planService, unitsEnabledInImage } from "../../../src/installer/plan-service.ts";
import type { Step } from "../../../src/installer/step.ts";
import { describeStep } from "../../../src/installer/step.ts";

const switched: Step = {
  kind: "make-link",
  path: "/usr/local/lib/robot-policy-agent/current",
  target: "versions/2",
  was: "versions/1",
};
const absent = { load_state: "not-found", active_state: "inactive", unit_file_state: "" };
const running = { load_state: "loaded", active_state: "active", unit_file_state: "enabled" };
const question: ServiceQuestion = {
  steps: [switched],
  program: "2",
  service: absent,
  first_boot: absent,
  is_first: true,
  enables: true,
  starts: true,
  enables_first_boot: false,
  provisioned: { has_configuration: true, has_manifest: true, has_key: true },
};
const later = { is_first: false, service: running };

describe("planService", () => {
  const plan = (more: Partial<ServiceQuestion>) => planService({ ...question, ...more }).map(describeStep);
  const enable = "systemctl enable robot-policy-agent.service";
  const start = "systemctl start robot-policy-agent.service, if the configuration is valid";
  const restart = "systemctl restart robot-policy-agent.service";

  test.each<[string, Partial<ServiceQuestion>, readonly string[]]>([
    ["first, configured", {}, [enable, start]],
    ["first, without a manifest", { provisioned: { ...question.provisioned, has_manifest: false } }, [enable]],
    ["first, --no-enable", { enables: false }, [start]],
    ["first, --no-start", { starts: false }, [enable]],
    ["first, enabled by a person before", { service: { ...absent, unit_file_state: "enabled" } }, [start]],
    ["first, masked", { service: { ...absent, load_state: "masked" } }, []],
    ["upgrade of a running agent", later, [restart]],
    ["upgrade, --no-start", { ...later, starts: false }, []],
    ["nothing new", { ...later, steps: [] }, []],
    ["upgrade of one that is stopped", { ...later, service: { ...running, active_state: "inactive" } }, []],
    ["upgrade of one that is disabled", { ...later, service: { ...running, unit_file_state: "disabled" } }, [restart]],
    [
      "upgrade of one that is masked at run time",
      { ...later, service: { ...running, unit_file_state: "masked-runtime" } },
      [],
    ],
    ["upgrade of one that crashes", { ...later, service: { ...running, active_state: "activating" } }, [restart]],
    [
      "--first-boot",
      { ...later, steps: [], enables_first_boot: true },
      ["systemctl enable robot-policy-agent-setup.service"],
    ],
  ])("%s → %j", (_what, more, commands) => expect(plan(more)).toEqual(commands));

  test("a version that crashed before is no reason to take the new one back", () => {
    const wellness = (active_state: string) =>
      planService({ ...question, ...later, service: { ...running, active_state } }).map(
        (step) => "was_well" in step && step.was_well,
      );
    expect([wellness("active"), wellness("activating"), wellness("failed")]).toEqual([[true], [false], [false]]);
  });
});

test.each([
  [{}, ["robot-policy-agent.service"]],
  [{ is_first: false }, []],
  [{ enables: false, enables_first_boot: true }, ["robot-policy-agent-setup.service"]],
  [{ service: { ...absent, load_state: "masked" } }, []],
])("unitsEnabledInImage: %o → %j", (more, units) => {
  expect(unitsEnabledInImage({ ...question, ...more })).toEqual(units);
});
