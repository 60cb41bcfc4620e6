import { describe, expect, it, onTestFinished } from "vitest";

import { renewedSchema } from "../../../../src/api/installations.ts";
import { PATIENCE_MS } from "../../../support/run/patience.ts";
import { startReplicas } from "../../../support/service/replicas.ts";
import { RobotComputer } from "../../../support/service/robot-computer.ts";
import { usePostgres } from "../../../support/service/stores.ts";
import { WITHOUT_POSTGRES } from "../../../support/service/postgres.ts";

describe.skipIf(WITHOUT_POSTGRES)("robot with two replicas", { tags: "needs/postgres" }, () => {
  const { withSchema } = usePostgres();

  async function start() {
    const store = await withSchema();
    const replicas = await startReplicas({ store, count: 2, catalog: "models: []\n", organizations: 1 });
    onTestFinished(() => replicas[Symbol.asyncDispose]());
    return replicas;
  }

  it("concurrent renewals at both → one generation, all values work, not taken for a copy", async () => {
    const replicas = await start();
    const [key = ""] = replicas.keys;
    let turn = 0;
    const robot = new RobotComputer(() => replicas.urls[(turn += 1) % 2] ?? "");
    const started = await robot.start();
    expect((await robot.send("POST", "/v1/robots/approve", { user_code: started.user_code }, key)).status).toBe(200);
    await robot.poll(started);
    await robot.heartbeat();
    for (let generation = 2; generation <= 6; generation += 1) {
      const answers = await Promise.all([robot.requestRenewal(), robot.requestRenewal(), robot.requestRenewal()]);
      const renewed = await Promise.all(answers.map(async (answer) => renewedSchema.parse(await answer.json())));
      expect(renewed.map((each) => each.generation)).toEqual([generation, generation, generation]);
      for (const { installation_token: token } of renewed) {
        expect((await robot.heartbeat({}, token)).status).toBe(200);
        robot.token = token;
      }
    }
  });

  it("heartbeat at one → the other one shows the report", async () => {
    const replicas = await start();
    const [[one = "", other = ""], [key = ""]] = [replicas.urls, replicas.keys];
    let url = one;
    const robot = new RobotComputer(() => url);
    const started = await robot.start();
    await robot.send("POST", "/v1/robots/approve", { user_code: started.user_code }, key);
    await robot.poll(started);
    await robot.heartbeat({ readiness: "not_ready", reason: "warming up" });
    const shownAt = async (url: string) => {
      const answer = await fetch(`${url}/v1/robots/arm-1/installation`, {
        headers: { authorization: `Bearer ${key}` },
      });
      return answer.json();
    };
    expect(await shownAt(one)).toMatchObject({ reason: "warming up" });
    await expect.poll(() => shownAt(other), { timeout: PATIENCE_MS }).toMatchObject({ reason: "warming up" });
    url = other;
    await robot.heartbeat({ readiness: "not_ready", reason: "no camera" });
    await expect.poll(() => shownAt(one), { timeout: PATIENCE_MS }).toMatchObject({ reason: "no camera" });
  });
});
