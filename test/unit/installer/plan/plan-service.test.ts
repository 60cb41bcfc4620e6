import { describe, expect, test } from "vitest";

import { planStart, planUnits, type ServiceQuestion } from "../../../../src/installer/plan/plan-service.ts";
import { describeStep } from "../../../../src/installer/plan/step.ts";

const absent = { loadState: "not-found", activeState: "inactive", unitFileState: "" };
const running = { loadState: "loaded", activeState: "active", unitFileState: "enabled" };
const question: ServiceQuestion = {
  system: { isRunning: true },
  service: absent,
  firstBoot: absent,
  isFirst: true,
  enables: true,
  starts: true,
  enablesFirstBoot: false,
  provisioned: { hasConfiguration: true, hasManifest: true, hasCredential: true },
  changesUnits: false,
  changesService: true,
};
const later = { isFirst: false, service: running };
const image = { system: { isRunning: false }, changesUnits: true };

const reload = "systemctl daemon-reload";
const enable = "systemctl enable robot-policy-agent.service";
const enableFirstBoot = "systemctl enable robot-policy-agent-setup.service";
const start = "systemctl start robot-policy-agent.service, if the configuration is valid";
const restart = "systemctl restart robot-policy-agent.service";

describe("planUnits and planStart", () => {
  test.each<[string, Partial<ServiceQuestion>, readonly string[]]>([
    ["first, configured", {}, [enable, start]],
    ["first, without a manifest", { provisioned: { ...question.provisioned, hasManifest: false } }, [enable]],
    ["first, --no-enable", { enables: false }, [start]],
    ["first, --no-start", { starts: false }, [enable]],
    ["first, already enabled by the administrator", { service: { ...absent, unitFileState: "enabled" } }, [start]],
    ["first, masked", { service: { ...absent, loadState: "masked" } }, []],
    ["first, in an image", image, [enable]],
    ["later, in an image", { ...image, ...later }, []],
    ["in an image, masked", { ...image, service: { ...absent, loadState: "masked" } }, []],
    ["in an image, the first boot alone", { ...image, enables: false, enablesFirstBoot: true }, [enableFirstBoot]],
    ["upgrade of a running agent", later, [restart]],
    ["upgrade with other units", { ...later, changesUnits: true }, [reload, restart]],
    ["upgrade, --no-start", { ...later, starts: false }, []],
    ["nothing new", { ...later, changesService: false }, []],
    ["upgrade of one that is stopped", { ...later, service: { ...running, activeState: "inactive" } }, []],
    ["upgrade of one that is disabled", { ...later, service: { ...running, unitFileState: "disabled" } }, [restart]],
    ["upgrade of one masked at run time", { ...later, service: { ...running, unitFileState: "masked-runtime" } }, []],
    ["upgrade of one that crashes", { ...later, service: { ...running, activeState: "activating" } }, [restart]],
    ["--first-boot", { ...later, changesService: false, enablesFirstBoot: true }, [enableFirstBoot]],
  ])("%s → %j", (_what, more, commands) => {
    const options = { ...question, ...more };
    expect([...planUnits(options), ...planStart(options)].map(describeStep)).toEqual(commands);
  });

  test("wasWell: true only for a service that was active", () => {
    const wellness = (activeState: string) =>
      planStart({ ...question, ...later, service: { ...running, activeState } }).map(
        (step) => "wasWell" in step && step.wasWell,
      );
    expect([wellness("active"), wellness("activating"), wellness("failed")]).toEqual([[true], [false], [false]]);
  });
});
