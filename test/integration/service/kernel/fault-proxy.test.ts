/** @module-tag needs/night */
import { describe, expect, it, onTestFinished } from "vitest";

import { robotSetupAnswerSchema } from "../../../../src/api/robot-views.ts";
import { startFaultProxy } from "../../../support/service/fault-proxy.ts";
import { testService } from "../../../support/service/test-service.ts";

const setup = { name: "r1", robot_type_id: "t", region: "x", configuration_digest: `sha256:${"0".repeat(64)}` };

async function startScene() {
  const service = await testService();
  const proxy = await startFaultProxy(service.url);
  onTestFinished(() => proxy[Symbol.asyncDispose]());
  const register = () =>
    fetch(`${proxy.url}/v1/robots/setup`, {
      method: "POST",
      headers: { authorization: `Bearer ${service.key}`, "content-type": "application/json" },
      body: JSON.stringify(setup),
    });
  return { service, proxy, register };
}

describe("startFaultProxy", () => {
  it("forwards requests, and records them", async () => {
    const { service, proxy, register } = await startScene();
    expect((await register()).status).toBe(200);
    expect(proxy.requests).toMatchObject([{ method: "POST", path: "/v1/robots/setup", body: JSON.stringify(setup) }]);
    expect(proxy.requests[0]?.headers.authorization).toBe(`Bearer ${service.key}`);
  });

  it("answer → the service never sees the request", async () => {
    const { service, proxy, register } = await startScene();
    proxy.inject({ kind: "answer", status: 503, headers: { "retry-after": "7" }, body: "busy" }, 2);
    const first = await register();
    expect([first.status, first.headers.get("retry-after"), await first.text()]).toEqual([503, "7", "busy"]);
    expect((await register()).status).toBe(503);
    expect(await service.robots()).toEqual([]);
    expect((await register()).status).toBe(200);
  });

  it("drop-before → the service never sees the request", async () => {
    const { service, proxy, register } = await startScene();
    proxy.inject({ kind: "drop-before" });
    await expect(register()).rejects.toThrow("fetch failed");
    expect(await service.robots()).toEqual([]);
  });

  it.each(["drop-after", "truncate"] as const)("scenario 9: %s, then again → one robot", async (kind) => {
    const { service, proxy, register } = await startScene();
    proxy.inject({ kind });
    await expect(register().then((answer) => answer.json())).rejects.toThrow();
    const [robot] = await service.robots();
    expect(robotSetupAnswerSchema.parse(await (await register()).json()).robot.id).toBe(robot?.id);
    expect(await service.robots()).toHaveLength(1);
  });

  it("hold → the service handles the request; its answer arrives after the release", async () => {
    const { service, proxy, register } = await startScene();
    proxy.inject({ kind: "hold" });
    const answer = register();
    await proxy.arrived(1);
    await expect.poll(() => service.robots()).toHaveLength(1);
    proxy.release();
    expect((await answer).status).toBe(200);
  });

  it("delay → the answer arrives late", async () => {
    const { proxy, register } = await startScene();
    proxy.inject({ kind: "delay", delayMs: 150 });
    const begin = performance.now();
    expect((await register()).status).toBe(200);
    expect(performance.now() - begin).toBeGreaterThan(140);
  });

  it("refuse, then listen → unreachable, then reachable at the same address", async () => {
    const { proxy, register } = await startScene();
    await proxy.refuse();
    await expect(register()).rejects.toThrow("fetch failed");
    await proxy.listen();
    expect((await register()).status).toBe(200);
  });
});
