import { existsSync } from "node:fs";
import { chmod, readFile } from "node:fs/promises";
import { join } from "node:path";

import { expect } from "vitest";

import { writeHold } from "../../../src/agent/hold.ts";
import { systemClock } from "../../../src/platform/clock.ts";
import { systemFiles } from "../../../src/platform/files/files.ts";
import { writeAtOnce } from "../../support/robot/robot.ts";
import { test } from "../../support/service/scene-test.ts";
import { createScene } from "../../support/service/scene.ts";

test("hold beside the running agent → nothing is registered until release, then once; status says who, why and what changed", async () => {
  await using scene = await createScene();
  const { robot, proxy } = scene;
  await using daemon = await robot.start();
  await daemon.until(({ state }) => state === "registered");
  const posts = () => proxy.requests.filter(({ method }) => method === "POST").length;
  expect(posts()).toBe(1);

  const held = await robot.run(["hold", "--for", "10m", "--reason", "both arms"]);
  expect([held.code, held.stderr]).toEqual([0, expect.stringContaining("Nothing is registered for 10 min")]);
  const [left = "", right = ""] = robot.paths;
  await writeAtOnce(left, "left: calibrated\n");
  await daemon.until(({ state }) => state === "held");
  await writeAtOnce(right, '{"calibrated": true}');
  await daemon.until(({ changes }) => changes?.files.length === 2);
  const shown = await robot.run(["status"]);
  expect(shown.stdout).toMatch(/held +by \S+ until \S+: both arms/);
  expect(shown.stdout).toMatch(new RegExp(`changed {2}${left} \\d\\d:\\d\\d`));
  expect((await robot.run(["check"])).code).toBe(0);
  const refused = await robot.run(["--setup"]);
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("(both arms)")]);
  expect(posts()).toBe(1);

  expect((await robot.run(["release"])).stdout).toMatch(/^Released what \S+ held\.\n$/);
  const { registered_changes: changes } = await daemon.until(({ state }) => state === "registered");
  expect(posts()).toBe(2);
  expect(changes?.files.map(({ path }) => path)).toEqual([left, right]);
});

test("hold -- COMMAND → held while it runs, its exit code passed on", async ({ scene: { robot } }) => {
  const path = join(robot.runtime_directory, "hold.json");
  const ran = await robot.run(["hold", "--", "sh", "-c", `test -f '${path}' && exit 7`]);
  expect([ran.code, existsSync(path)]).toEqual([7, false]);
  const killed = await robot.run(["hold", "--", "sh", "-c", "kill -9 $$"]);
  expect([killed.code, existsSync(path)]).toEqual([137, false]);
  const missing = await robot.run(["hold", "--", "/no/such/program"]);
  expect([missing.code, missing.stderr]).toEqual([1, expect.stringContaining("cannot be started (ENOENT)")]);
  expect(existsSync(path)).toBe(false);
});

test("a hold of somebody else → refused, with who, until when and why; released by name", async ({
  scene: { robot },
}) => {
  const path = join(robot.runtime_directory, "hold.json");
  const sinceMs = systemClock.monotonicMs();
  await writeHold(systemFiles, path, { heldBy: "bob", reason: "wrist", sinceMs, untilMs: sinceMs + 60_000 });
  const refused = await robot.run(["hold"]);
  expect([refused.code, refused.stderr]).toEqual([
    1,
    expect.stringMatching(/bob holds registrations until \S+: wrist/),
  ]);
  expect((await robot.run(["release"])).stdout).toBe("Released what bob held.\n");
});

test("hold -- COMMAND inside a hold → that one goes on", async ({ scene: { robot } }) => {
  const path = join(robot.runtime_directory, "hold.json");
  await robot.run(["hold", "--for", "2h", "--reason", "both arms"]);
  const outer = await readFile(path, "utf8");
  expect((await robot.run(["hold", "--", "grep", "-qv", "both arms", path])).code).toBe(0);
  expect(await readFile(path, "utf8")).toBe(outer);
  expect((await robot.run(["hold", "--", "rm", path])).stderr).toContain("The hold had ended before");
  expect(existsSync(path)).toBe(false);
});

test("a hold that the agent would ignore → exit 1, and none is left", async ({ scene: { robot } }) => {
  await chmod(robot.runtime_directory, 0o1777);
  const { code, stderr } = await robot.run(["hold", "--", "sh", "-c", "echo ran >&2"]);
  expect([code, stderr]).toEqual([1, expect.stringContaining("can be written by every user")]);
  expect(stderr).not.toContain("ran");
  expect(existsSync(join(robot.runtime_directory, "hold.json"))).toBe(false);
});

test("hold with a reason that is longer than is kept → exit 2", async ({ scene: { robot } }) => {
  expect((await robot.run(["hold", "--reason", "x".repeat(200)])).code).toBe(0);
  const { code, stderr } = await robot.run(["hold", "--reason", "x".repeat(201)]);
  expect([code, stderr]).toEqual([2, expect.stringContaining("201 characters")]);
});

test.for(["0s", "9h", "1d", "soon", "-5m"])("hold --for %s → exit 2", async (time, { scene: { robot } }) => {
  const { code, stderr } = await robot.run(["hold", `--for=${time}`]);
  expect([code, stderr]).toEqual([2, expect.stringContaining("at most 8h")]);
});

test("release of nothing → says so", async ({ scene: { robot } }) => {
  const { code, stdout } = await robot.run(["release"]);
  expect([code, stdout]).toEqual([0, "Nothing was held.\n"]);
});
