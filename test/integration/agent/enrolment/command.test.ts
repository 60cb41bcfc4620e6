/** `enroll`: with and without a running agent, and in place of an API key. */
import { existsSync } from "node:fs";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";

import { expect, test } from "vitest";

import type { StatusDocument } from "../../../../src/agent/status.ts";
import { runAgentProgram } from "../../../../src/agent/program.ts";
import { startCommand, startOnTerminal } from "../../../support/programs/command.ts";
import { runInProcess } from "../../../support/programs/in-process.ts";
import { hasProgram } from "../../../support/programs/programs.ts";
import { PushedClock } from "../../../support/pushed-clock.ts";
import { replaceIn } from "../../../support/robot/robot.ts";
import { openBackstage } from "../../../support/service/organizations.ts";
import { createScene, type Scene } from "../../../support/service/scene.ts";
import {
  advanceUntil,
  approve,
  beginEnrolment,
  enroll,
  ENROLLED,
  enrollAndStop,
  hasBeaten,
  installation,
  openScene,
  putEnrolmentKey,
  readIdentityFile,
  shownCode,
  startScene,
} from "./scene.ts";

test("enroll without the agent → shows code and key; run again → continues with the same code", async () => {
  await using scene = await createScene(ENROLLED);
  const { robot } = scene;
  const begun = await robot.run(["enroll", "--no-wait", "--json"]);
  expect(begun.code).toBe(0);
  const started = JSON.parse(begun.stdout);
  expect(started).toMatchObject({ enrolled: false, robot: null, installation_id: null, api_key: null });
  expect(started.user_code).toMatch(/^[A-Z2-9]{4}-[A-Z2-9]{4}$/);
  expect(started.key_fingerprint).toMatch(/^SHA256:[A-Za-z0-9+/]{43}$/);

  await writeFile(robot.path("stick"), "sk_test_0123456789abcdefghijklm", { mode: 0o600 });
  expect((await robot.run(["set-key", "--from", robot.path("stick")])).stdout).toContain(
    "It is not used: this robot has, or is to get, a credential of its own.",
  );

  await approve(scene, started.user_code);
  const ended = await robot.run(["enroll"]);
  expect([ended.code, ended.stderr]).toEqual([0, ""]);
  expect(ended.stdout).toMatch(/^Enrolled as arm-7 \(rob_\w+\), installation rinst_\w+\n$/);
  expect(await readIdentityFile(scene, "credential")).toMatchObject({ robot_name: "arm-7" });
  const registered = await robot.run(["--setup"]);
  expect([registered.code, registered.stderr]).toEqual([0, ""]);
});

test("enroll on a serial console of 40 columns → code, key, who may approve, and the command of the operator in one piece", async () => {
  await using scene = await createScene(ENROLLED);
  const [, ...folders] = scene.robot.program.split(" ");
  const argv = ["enroll", "--no-wait", ...folders];
  const { out, err } = await runInProcess("enroll", (own) => runAgentProgram(argv, own), { columns: 40 });
  const { user_code: userCode } = await readIdentityFile(scene, "enrolment");
  expect(err).toContain("No agent runs: once the code is approved, start it");
  const shown = stripVTControlCharacters(out);
  expect(shown).toContain(`code     ${userCode}`);
  expect(shown).toContain("SHA256:");
  expect(shown).toContain(`robot-policy robots approve ${userCode}`);
});

test("enroll --no-wait without the agent, robot with an API key → status and doctor show the code until it is enrolled", async () => {
  await using scene = await createScene();
  const { robot } = scene;
  const begun = await beginEnrolment(scene);
  const { user_code: code, key_fingerprint: key, code_expires_at: expiresAt } = begun;
  const status = await robot.run(["status"]);
  expect([status.code, status.stdout]).toEqual([
    1,
    expect.stringContaining(`waiting for approval of the code ${code}, key ${key}\n`),
  ]);
  const { identity } = JSON.parse((await robot.run(["status", "--json"])).stdout);
  expect(identity).toMatchObject({
    state: "waiting-for-approval",
    user_code: code,
    key_fingerprint: key,
    code_expires_at: expiresAt,
  });
  expect((await robot.run(["doctor"])).stdout).toContain(`waits for approval of the code ${code}, key ${key}`);

  // Until then the agent registers with the API key.
  const clock = new PushedClock();
  await using daemon = await robot.start({}, clock);
  await daemon.until(({ state }) => state === "registered");
  expect((await robot.run(["status"])).stdout).toContain(`waiting for approval of the code ${code}, key ${key}\n`);
  await approve(scene, code);
  await advanceUntil(daemon, clock, (current) => current.identity?.state === "enrolled");
  await daemon.stop();
  expect(JSON.parse((await robot.run(["status", "--json"])).stdout).identity).toBeNull();
});

test("--setup of a robot without a key → says how to enroll, and which code is pending", async () => {
  await using scene = await createScene();
  const { robot } = scene;
  await rm(robot.keyPath);
  const before = await robot.run(["--setup"]);
  expect([before.code, before.stderr]).toEqual([5, expect.stringContaining(`sudo ${robot.program} enroll; or store`)]);
  const { user_code: code } = await beginEnrolment(scene);
  const waiting = await robot.run(["--setup"]);
  expect([waiting.code, waiting.stderr.replaceAll(/\s+/g, " ")]).toEqual([
    5,
    expect.stringContaining(`robot-policy robots approve ${code}; then: sudo ${robot.program}`),
  ]);
});

test("enroll with the running agent → the agent enrolls, and status shows the code", async () => {
  await using scene = await startScene();
  const { daemon, until } = scene;
  const code = await shownCode(daemon);
  await daemon.until(({ state }) => state === "waiting-for-approval");
  const status = await scene.robot.run(["status"]);
  expect(status.code).toBe(5);
  expect(status.stdout).toContain(`Waiting for approval of the code ${code}`);
  expect(status.stderr.replaceAll(/\s+/g, " ")).toContain(`robots approve ${code}`);
  const shown = await scene.robot.run(["enroll", "--no-wait", "--json"]);
  expect(JSON.parse(shown.stdout)).toMatchObject({ user_code: code });
  await approve(scene, code);
  const enrolling = scene.robot.run(["enroll", "--json"]);
  await until(({ state }) => state === "registered");
  expect(JSON.parse((await enrolling).stdout)).toMatchObject({ enrolled: true, robot: { name: "arm-7" } });
});

test("enroll into one of several organizations → no other can approve it", async () => {
  await using scene = await openScene();
  const { robot, service } = scene;
  await using backstage = await openBackstage({ kind: "sqlite", dataDirectory: service.dataDirectory });
  const otherKey = await backstage.organization();
  const { organization } = JSON.parse(await (await service.send("GET", "/v1/me/account")).text());
  const text = await readFile(robot.config_path, "utf8");
  const setting = `${ENROLLED.service}\n  organization_id: ${organization.id}`;
  await writeFile(robot.config_path, text.replace(ENROLLED.service, setting));
  const { user_code: code } = JSON.parse((await robot.run(["enroll", "--no-wait", "--json"])).stdout);
  const byOther = await fetch(`${service.url}/v1/robots/approve`, {
    method: "POST",
    headers: { authorization: `Bearer ${otherKey}`, "content-type": "application/json" },
    body: JSON.stringify({ user_code: code }),
  });
  expect(byOther.status).toBe(404);
  await approve(scene, code);
  const ended = await robot.run(["enroll"]);
  expect([ended.code, ended.stdout]).toEqual([0, expect.stringContaining("Enrolled as arm-7")]);
});

test(
  "enroll, the service refuses the start → its message is shown while the command waits",
  { tags: "needs/program" },
  async () => {
    await using scene = await createScene(ENROLLED);
    const detail = "Ask the office for another address.";
    const body = JSON.stringify({ detail, message: detail, code: "Forbidden" });
    scene.proxy.inject({ kind: "answer", status: 403, body }, 1000);
    await using command = startCommand(scene.robot, ["enroll"]);
    await command.wrote(detail);
    command.child.kill("SIGINT");
    expect(await command.ended()).toBe(130);
    expect(command.output().split(detail)).toHaveLength(2);
  },
);

test.each([
  ["unreachable", 4, { kind: "drop-before" }],
  ["a captive portal", 4, { kind: "answer", status: 200, body: "<html></html>" }],
  ["refuses the bearer", 5, { kind: "answer", status: 403, body: "{}" }],
  ["refuses the content", 6, { kind: "answer", status: 422, body: "{}" }],
  ["no robot policy service", 6, { kind: "answer", status: 404, body: "{}" }],
] as const)("enroll --no-wait, status and --setup, the service: %s → exit %i", async (_what, exitCode, fault) => {
  await using scene = await createScene(ENROLLED);
  const { robot, proxy } = scene;
  proxy.inject(fault, 1000);
  const codeOf = async (...args: string[]) => (await robot.run(args)).code;
  const alone = await robot.run(["enroll", "--no-wait"]);
  // Nothing tries again by itself.
  expect([alone.code, proxy.requests.length]).toEqual([exitCode, 1]);
  expect(alone.stderr).toContain(`then run ${robot.program} enroll again`);
  await using daemon = await robot.start();
  await daemon.until(({ state, identity }) => state === "waiting-for-approval" && (identity?.problem ?? null) !== null);
  const beside = [await codeOf("enroll", "--no-wait"), await codeOf("status"), await codeOf("--setup")];
  expect(beside).toEqual([exitCode, exitCode, exitCode]);
});

test("enroll --no-wait, the key cannot be written → exit 1", async () => {
  await using scene = await createScene(ENROLLED);
  await mkdir(join(scene.robot.state_directory, "identity-key.json.new"));
  const { code, stderr } = await scene.robot.run(["enroll", "--no-wait"]);
  expect([code, stderr]).toEqual([1, expect.stringContaining("the key of this robot cannot be written")]);
  expect(scene.proxy.requests).toEqual([]);
});

test("enroll, denied → says so", async () => {
  await using scene = await createScene(ENROLLED);
  const { robot, service } = scene;
  const { user_code: code } = await beginEnrolment(scene);
  await service.send("POST", "/v1/robots/deny", { user_code: code });
  const ended = await robot.run(["enroll"]);
  expect(ended.code).toBe(5);
  expect(ended.stderr).toContain("the enrolment of this robot was denied");
});

test("enroll --migrate --no-wait → refused: the key is removed only by a command that sees the approval", async () => {
  await using scene = await createScene();
  const { code, stderr } = await scene.robot.run(["enroll", "--migrate", "--no-wait"]);
  expect([code, stderr]).toEqual([2, expect.stringContaining("--migrate and --no-wait exclude each other")]);
  expect(scene.proxy.requests).toEqual([]);
});

test("enroll --migrate → the robot keeps its id, and its API key is removed", async () => {
  await using scene = await createScene();
  const { robot, service, proxy } = scene;
  const clock = new PushedClock();
  await using daemon = await robot.start({}, clock);
  const before = await daemon.until(({ state }) => state === "registered");
  const { user_code: code } = await beginEnrolment(scene);
  expect([existsSync(robot.keyPath), (await daemon.status()).state]).toEqual([true, "registered"]);
  await approve(scene, code);
  await advanceUntil(daemon, clock, ({ identity }) => identity?.state === "enrolled");
  const migrated = await robot.run(["enroll", "--migrate"]);
  expect([migrated.code, migrated.stderr]).toEqual([0, ""]);
  expect(migrated.stdout.replaceAll(/\s+/g, " ")).toContain(
    `The API key that ends in ${service.key.slice(-4)} is no longer used`,
  );
  expect(existsSync(robot.keyPath)).toBe(false);
  await daemon.ask("POST", "/register");
  const after = await daemon.until(({ state }) => state === "registered");
  expect(after.robot.view?.id).toBe(before.robot.view?.id);
  const bearers = proxy.requests
    .filter(({ path }) => path.endsWith("/setup"))
    .map(({ headers }) => headers.authorization);
  expect(bearers.map((bearer) => bearer === `Bearer ${service.key}`)).toEqual([true, false]);
});

test("enroll, revoked robot → says so; enrolls again with a fresh key only on command", async () => {
  await using scene = await startScene();
  const { robot, service, clock, daemon, until } = scene;
  await enroll(scene, daemon, clock);
  await until(hasBeaten);
  const { public_key: old } = await readIdentityFile(scene, "key");
  // A second computer takes over the robot, which revokes this one's credential.
  const keyPath = join(robot.state_directory, "identity-key.json");
  const other = await createScene({ service_url: service.url, ...ENROLLED });
  await using _other = other;
  const begun = await other.robot.run(["enroll", "--no-wait", "--json"]);
  await approve(scene, JSON.parse(begun.stdout).user_code, { confirm_replace: true });
  expect((await other.robot.run(["enroll"])).code).toBe(0);
  const revoked = await until(({ state }) => state === "unenrolled");
  expect(revoked.healthy).toBe(false);
  // A request to the control socket alone does not discard the old key.
  await daemon.ask("POST", "/enroll");
  expect(await readIdentityFile(scene, "key")).toMatchObject({ public_key: old });

  const again = await beginEnrolment(scene);
  expect((await readIdentityFile(scene, "key"))["public_key"]).not.toBe(old);
  expect(existsSync(`${keyPath}.old`)).toBe(true);
  await approve(scene, again.user_code, { confirm_replace: true });
  await until(({ state }) => state === "registered");
  // The service has no report of the new installation, although the agent has reported its version before.
  const report = { runtime_version: expect.any(String), manifest_digest: await robot.digest() };
  await expect
    .poll(async () => {
      clock.push(1000);
      return installation(scene);
    })
    .toMatchObject({ state: "active", ...report });
});

test("enroll, removed robot → the robot that takes its name is registered at once", async () => {
  await using scene = await startScene();
  const { robot, service, clock, daemon, until } = scene;
  const before = await enroll(scene, daemon, clock);
  await until(hasBeaten);
  expect((await service.send("DELETE", "/v1/robots/arm-7")).status).toBe(200);
  await until(({ state }) => state === "unenrolled");
  const begun = await robot.run(["enroll", "--no-wait", "--json"]);
  await approve(scene, JSON.parse(begun.stdout).user_code);
  await until(({ identity }) => identity?.state === "enrolled");
  const { robot: after } = await until(
    ({ state, robot: { view } }) => state === "registered" && view?.id !== before.robot.view?.id,
  );
  const held = await (await service.send("GET", "/v1/robots/arm-7")).json();
  expect(held).toMatchObject({ id: after.view?.id, robot_type_id: before.robot.robot_type_id });
});

test("enroll without the agent, removed robot → a code for a fresh key, and its next start registers the robot that takes the name at once", async () => {
  await using scene = await openScene();
  const { robot, service, clock } = scene;
  await enrollAndStop(scene, clock);
  const { public_key: old } = await readIdentityFile(scene, "key");
  const good = await robot.run(["enroll", "--json"]);
  expect([good.code, JSON.parse(good.stdout)]).toMatchObject([0, { enrolled: true }]);
  expect(await readIdentityFile(scene, "key")).toMatchObject({ public_key: old });

  expect((await service.send("DELETE", "/v1/robots/arm-7")).status).toBe(200);
  const begun = await robot.run(["enroll", "--no-wait", "--json"]);
  expect([begun.code, JSON.parse(begun.stdout)]).toMatchObject([0, { enrolled: false, robot: null }]);
  expect((await readIdentityFile(scene, "key"))["public_key"]).not.toBe(old);
  await approve(scene, JSON.parse(begun.stdout).user_code);
  expect((await robot.run(["enroll"])).code).toBe(0);

  const held = async () => (await service.send("GET", "/v1/robots/arm-7")).json();
  const { id } = (await held()) as { readonly id: string };
  await using daemon = await robot.start({}, clock);
  const startedMs = clock.monotonicMs();
  const isLate = () => clock.monotonicMs() - startedMs > 60_000;
  const isRegistered = ({ state, robot: { view } }: StatusDocument) => state === "registered" && view?.id === id;
  const after = await advanceUntil(daemon, clock, (status) => isRegistered(status) || isLate());
  expect(isRegistered(after)).toBe(true);
  expect(await held()).toMatchObject({ robot_type_id: after.robot.robot_type_id });
});

test("an enrolment key file → enrolls without an operator, and is removed", async () => {
  await using scene = await createScene(ENROLLED);
  const { robot } = scene;
  const { key, path: bulkKeyPath } = await putEnrolmentKey(scene);
  const first = await robot.start();
  await first.until(({ state }) => state === "registered");
  await first.stop();
  expect(existsSync(bulkKeyPath)).toBe(false);
  expect(first.output()).not.toContain(key);

  // As if a power cut had undone the removal.
  await writeFile(bulkKeyPath, `${key}\n`, { mode: 0o600 });
  const second = await robot.start();
  await second.untilLogged("enrolment-key-removed");
  await second.stop();
  expect(existsSync(bulkKeyPath)).toBe(false);

  await rm(robot.state_directory, { recursive: true });
  await mkdir(robot.state_directory);
  await using third = await robot.start();
  expect(await shownCode(third)).toMatch(/-/);
});

test("--setup and enroll --no-wait with an enrolment key → no code is shown, and both wait for the enrolment", async () => {
  await using scene = await createScene(ENROLLED);
  const { robot, proxy } = scene;
  await putEnrolmentKey(scene);
  proxy.inject({ kind: "hold" }, 2);
  await using daemon = await robot.start();
  await daemon.until(({ state }) => state === "waiting-for-approval");
  // During the start of the enrolment, and after it.
  const setup = robot.run(["--setup", "--if-changed"]);
  await daemon.until(({ daemon: counts }) => (counts?.runs ?? 0) > 1);
  proxy.release();
  await proxy.arrived(2);
  const { identity } = await daemon.status();
  expect(identity).toMatchObject({ state: "waiting-for-approval", user_code: null, code_expires_at: null });
  const enrolling = robot.run(["enroll", "--no-wait"]);
  proxy.release();
  const registered = await setup;
  expect([registered.code, registered.stderr]).toEqual([0, ""]);
  expect(registered.stdout).toMatch(/^Registered arm-7 as rob_/);
  expect((await enrolling).stdout).toMatch(/^Enrolled as arm-7 /);
  expect(daemon.logged("enrolment-waits")).toEqual([]);
});

test.each<[what: string, wrong: (scene: Scene) => [from: string, to: string]]>([
  ["address", ({ proxy }) => [proxy.url, "http://127.0.0.1:1"]],
  ["proxy", ({ proxy }) => [`url: ${proxy.url}`, `url: ${proxy.url}\n  proxy: "http://127.0.0.1:1"`]],
])(
  "--setup after a wrong %s is corrected, robot without a credential → its code, not the old failure",
  async (_what, wrong) => {
    await using scene = await createScene(ENROLLED);
    const { robot } = scene;
    const [right, changed] = wrong(scene);
    await replaceIn(robot.config_path, right, changed);
    await using daemon = await robot.start();
    await daemon.until(({ identity }) => (identity?.problem ?? null) !== null);
    for (let times = 0; times < 2; times += 1) expect((await robot.run(["--setup"])).stderr).toContain("127.0.0.1:1");
    await replaceIn(robot.config_path, changed, right);
    const { code, stderr } = await robot.run(["--setup"]);
    expect(stderr).not.toContain("127.0.0.1:1");
    expect([code, stderr]).toEqual([5, expect.stringMatching(/approve [A-Z0-9]{4}-[A-Z0-9]{4}/)]);
  },
);

test("--setup and --setup --if-changed after a wrong address is corrected, enrolled robot → registered", async () => {
  await using scene = await startScene();
  const { robot, proxy, clock, daemon } = scene;
  await enroll(scene, daemon, clock);
  for (const option of [[], ["--if-changed"]]) {
    await replaceIn(robot.config_path, proxy.url, "http://127.0.0.1:1");
    await daemon.ask("POST", "/reload");
    await daemon.until(({ state }) => state === "unenrolled");
    expect((await robot.run(["--setup", ...option])).code).toBe(5);
    await replaceIn(robot.config_path, "http://127.0.0.1:1", proxy.url);
    const { code, stdout, stderr } = await robot.run(["--setup", ...option]);
    expect([code, stderr, stdout]).toEqual([0, "", expect.stringMatching(/egistered:? arm-7 as rob_/)]);
  }
});

/** The arguments of `init` for another folder, with all answers. */
function initArgs({ robot, proxy }: Scene): string[] {
  const files = robot.paths.flatMap((path) => ["--file", path]);
  const type = ["--type", "yam.bimanual-joint-position.v1", "--region", "eu-central-1"];
  return ["init", "--url", proxy.url, "--name", "arm-7", ...type, ...files, "--dir", robot.path("etc")];
}

async function approveWhenAsked(scene: Scene): Promise<void> {
  const code = async () => (await readIdentityFile(scene, "enrolment").catch(() => null))?.["user_code"] ?? null;
  await expect.poll(code).not.toBeNull();
  await approve(scene, (await code()) ?? "");
}

test("init --enroll → writes the files, then shows the code", { tags: "needs/program" }, async () => {
  await using scene = await createScene();
  await using command = startCommand(scene.robot, [...initArgs(scene), "--enroll"]);
  await command.wrote("Waiting for the approval");
  const { user_code: code } = await readIdentityFile(scene, "enrolment");
  expect(command.output()).toMatch(new RegExp(`^Wrote .*robot-manifest\\.yaml\n[^]*^code +${code}\n`, "m"));
  expect(command.output()).not.toContain("Next:");
  // Not by this command: it would refuse to replace the files.
  expect(command.output()).toMatch(/After an interruption it goes on with robot-policy-agent .*enroll, or/);
  command.child.kill("SIGINT");
  expect(await command.ended()).toBe(130);
});

test("init --enroll with placeholders, or into an image → does not enroll, and says why", async () => {
  await using scene = await createScene();
  const { robot } = scene;
  const open = await robot.run(["init", "--enroll", "--no-test", "--url", scene.proxy.url, "--dir", robot.path("etc")]);
  expect([open.code, open.stderr]).toEqual([3, expect.stringContaining("the two files are not complete")]);
  expect(open.stdout).toContain("1. replace the 2 <…> in both files");
  const custom = await robot.run([
    ...initArgs(scene),
    "--force",
    "--enroll",
    "--no-test",
    "--type",
    "lerobot.lekiwi.v1",
  ]);
  expect([custom.code, custom.stderr]).toEqual([3, expect.stringContaining("the two files are not complete")]);
  expect(custom.stdout).toContain("1. replace the 7 <…> in both files");
  const inImage = robot.path("image/etc/robot-policy-agent");
  const image = await robot.run([...initArgs(scene).slice(0, -1), inImage, "--enroll"]);
  expect([image.code, image.stderr]).toEqual([2, expect.stringContaining("not for an image")]);
  expect(scene.proxy.requests).toEqual([]);
});

test.skipIf(!hasProgram("script"))(
  "init on a terminal, no API key → offers to enroll",
  { tags: "needs/program" },
  async () => {
    await using scene = await createScene();
    const { robot } = scene;
    const args = initArgs(scene).filter((word, index, all) => ![word, all[index - 1]].includes("--region"));
    await using command = startOnTerminal(robot, args);
    await command.wrote("Cloud region nearest to the robot");
    command.child.stdin?.write("eu-central-1\r");
    await command.wrote("How the robot proves who it is");
    command.child.stdin?.write("\r");
    await approveWhenAsked(scene);
    expect(await command.ended()).toBe(0);
    expect(command.output()).toMatch(/^Enrolled as arm-7 /m);
  },
);
