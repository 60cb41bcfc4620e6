import { expect } from "vitest";

import { eventually } from "../eventually.ts";
import { RobotComputer } from "../service/robot-computer.ts";
import type { OperatorSite } from "./operator.ts";

/** A computer that asks to enroll as a robot. */
export interface Asking {
  readonly computer: RobotComputer;
  readonly code: string;
  /** Polls once and keeps the credential of an approval. @returns the status. */
  poll(): Promise<string>;
}

export interface Enrolling {
  start(name: string, members?: object): Promise<Asking>;
  /** An enrolled robot. */
  enroll(name: string): Promise<Asking>;
  /** An online robot, and the code of another computer that asks to enroll as the same robot. */
  enrollOnline(name: string): Promise<Asking>;
}

/** Robot computers that enroll at an operator's service. */
export function openEnrolling(site: OperatorSite): Enrolling {
  const start: Enrolling["start"] = async (name, members = {}) => {
    const computer = new RobotComputer(() => site.urls.whole);
    const started = await computer.start({ requested_name: name, ...members });
    return { computer, code: started.user_code, poll: async () => (await computer.poll(started)).status };
  };
  const enroll: Enrolling["enroll"] = async (name) => {
    const asking = await start(name);
    expect(await site.run("robots", "approve", asking.code)).toMatchObject({ exitCode: 0 });
    expect(await asking.poll()).toBe("approved");
    return asking;
  };
  return {
    start,
    enroll,
    async enrollOnline(name) {
      const enrolled = await enroll(name);
      expect((await enrolled.computer.heartbeat()).status).toBe(200);
      const { code } = await start(name);
      await eventually(async () => {
        const shown = await site.service.send("GET", `/v1/robot-enrollments/${code}`);
        const { robot }: { robot: { status: string } } = JSON.parse(await shown.text());
        return robot.status === "online" ? robot : undefined;
      }, `${name} online`);
      return { ...enrolled, code };
    },
  };
}

/** Replaces parts of the output that differ between runs. */
export function steady(text: string): string {
  return text
    .replaceAll(/\b[A-Z2-9]{4}-[A-Z2-9]{4}\b/g, "WXYZ-2345")
    .replaceAll(/SHA256:[\w+/]{43}/g, "SHA256:FINGERPRINT")
    .replaceAll(/\b(rob|rinst|key)_[0-9a-z]{26}\b/g, "$1_ID")
    .replaceAll(/\b20\d\d-\d\d-\d\dT[\d:]+Z/g, "TIME")
    .replaceAll(/\b20\d\d-\d\d-\d\d\b/g, "DATE");
}
