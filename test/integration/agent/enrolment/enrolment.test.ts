/** A robot gets its own credential from the real service. */
import { appendFile, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { expect, test } from "vitest";

import { replaceIn } from "../../../support/robot/robot.ts";
import { createScene } from "../../../support/service/scene.ts";
import {
  advanceUntil,
  approve,
  enroll,
  enrollAndStop,
  hasBeaten,
  installation,
  openScene,
  readIdentityFile,
  shownCode,
  startScene,
} from "./scene.ts";

test("a robot without an API key → enrolls, registers with its own credential, and reports readiness", async () => {
  await using scene = await startScene();
  const { clock, daemon } = scene;
  const code = await shownCode(daemon);
  expect((await daemon.status()).healthy).toBe(false);
  const request = await (await scene.service.send("GET", `/v1/robot-enrollments/${code}`)).json();
  expect(request).toMatchObject({ configuration_digest: await scene.robot.digest() });
  const registered = await enroll(scene, daemon, clock);
  expect(registered.identity).toMatchObject({ state: "enrolled", user_code: null, robot: { name: "arm-7" } });
  const digest = await scene.robot.digest();
  await expect
    .poll(async () => {
      clock.push(1000);
      return installation(scene);
    })
    .toMatchObject({ state: "active", readiness: "ready", manifest_digest: digest });

  const credential = join(scene.robot.state_directory, "identity-credential.json");
  expect((await stat(credential)).mode & 0o777).toBe(0o600);
  const output = daemon.output() + JSON.stringify(await daemon.status()) + scene.service.log();
  expect(output).not.toContain((await readIdentityFile(scene, "credential"))["installation_token"]);
  expect(output).not.toContain((await readIdentityFile(scene, "key"))["seed"]);
  expect(scene.proxy.requests.every(({ headers }) => headers.authorization !== `Bearer ${scene.service.key}`)).toBe(
    true,
  );
});

test("a comment edited, and the agent restarted → polls with the same code; later starts with its credential", async () => {
  await using scene = await openScene();
  const { clock } = scene;
  const first = await scene.robot.start();
  const code = await shownCode(first);
  // Nothing that an operator approves.
  await appendFile(scene.robot.config_path, "# checked\n");
  await first.stop();
  await approve(scene, code);
  const second = await scene.robot.start({}, clock);
  const { identity } = await advanceUntil(second, clock, ({ state }) => state === "registered");
  await second.stop();
  expect(scene.proxy.requests.filter(({ path }) => path === "/v1/robot-agent/enrollment")).toHaveLength(1);
  const before = scene.proxy.requests.length;

  await using third = await scene.robot.start();
  const restarted = await third.until(hasBeaten);
  expect(restarted.identity).toMatchObject({ installation_id: identity?.installation_id });
  // Neither a renewal nor a registration is due. It asks once for its current name.
  const others = () =>
    scene.proxy.requests.slice(before).flatMap(({ path }) => (path === "/v1/robot-agent/heartbeat" ? [] : [path]));
  await expect.poll(others).toEqual([`/v1/robots/${identity?.robot?.id}`]);
  await third.lookAgain();
  expect(others()).toHaveLength(1);
});

test("denied → no request until `enroll`; approved with another name → has that name", async () => {
  await using scene = await startScene();
  const { clock, daemon, until } = scene;
  const denied = await shownCode(daemon);
  await scene.service.send("POST", "/v1/robots/deny", { user_code: denied });
  const refused = await until(({ state }) => state === "unenrolled");
  expect(refused.summary).toContain("denied");
  const requestCount = scene.proxy.requests.length;
  clock.push(24 * 60 * 60_000);
  await daemon.lookAgain();
  expect(scene.proxy.requests).toHaveLength(requestCount);

  await daemon.ask("POST", "/enroll");
  await approve(scene, await shownCode(daemon, denied), { name: "picker-2" });
  const { robot } = await until(({ state }) => state === "registered");
  expect(robot).toMatchObject({ name: "picker-2", view: { name: "picker-2" } });
});

test("approved with another region → registers it, until the robot's configuration names another one", async () => {
  await using scene = await startScene();
  const { robot, service, daemon, until } = scene;
  await approve(scene, await shownCode(daemon), { region: "us-west-2" });
  await until(({ state }) => state === "registered");
  const region = async () =>
    ((await (await service.send("GET", "/v1/robots/arm-7")).json()) as { region: string }).region;
  expect(await region()).toBe("us-west-2");
  const dry = await robot.run(["--setup", "--dry-run", "--json"]);
  expect(JSON.parse(dry.stdout)).toMatchObject({ request: { region: "us-west-2" } });
  await replaceIn(robot.config_path, "eu-central-1", "eu-west-1");
  await until(({ robot: { view } }) => view?.region === "eu-west-1");
  expect(await region()).toBe("eu-west-1");
});

test("the service refuses to enroll the robot, its configuration is corrected → enrolls at once", async () => {
  await using scene = await openScene();
  const { robot, proxy, clock } = scene;
  proxy.inject({ kind: "answer", status: 422, body: JSON.stringify({ detail: "no such region" }) });
  await using daemon = await robot.start({}, clock);
  await daemon.until(({ identity }) => (identity?.problem ?? null) !== null);
  await replaceIn(robot.config_path, "eu-central-1", "eu-west-1");
  await daemon.ask("POST", "/reload");
  await shownCode(daemon);
});

test("a corrected service address → enrolls there at once with a new key", async () => {
  await using scene = await openScene();
  const { clock } = scene;
  await using other = await createScene();
  await replaceIn(scene.robot.config_path, scene.proxy.url, other.proxy.url);
  await using daemon = await scene.robot.start({}, clock);
  const wrong = await shownCode(daemon);
  await replaceIn(scene.robot.config_path, other.proxy.url, scene.proxy.url);
  await daemon.ask("POST", "/reload");
  await approve(scene, await shownCode(daemon, wrong));
  await advanceUntil(daemon, clock, ({ state }) => state === "registered");

  // An enrolled robot sends nothing to another service, and continues once the address is correct again.
  await replaceIn(scene.robot.config_path, scene.proxy.url, other.proxy.url);
  await daemon.ask("POST", "/reload");
  const requestCount = other.proxy.requests.length;
  await daemon.until(({ state, identity }) => state === "unenrolled" && identity?.state === "unenrolled");
  await replaceIn(scene.robot.config_path, other.proxy.url, scene.proxy.url);
  await daemon.ask("POST", "/reload");
  await daemon.until(({ state }) => state === "registered");
  expect(other.proxy.requests).toHaveLength(requestCount);
});

test("torn identity files → set aside; enrolls again", async () => {
  await using scene = await openScene();
  const { clock } = scene;
  await enrollAndStop(scene, clock);
  for (const name of ["key", "credential"]) {
    const path = join(scene.robot.state_directory, `identity-${name}.json`);
    await writeFile(path, (await readFile(path, "utf8")).slice(0, -40));
  }
  await using daemon = await scene.robot.start({}, clock);
  await daemon.untilLogged("identity-file-set-aside");
  await approve(scene, await shownCode(daemon), { confirm_replace: true });
  await advanceUntil(daemon, clock, ({ state }) => state === "registered");
});
