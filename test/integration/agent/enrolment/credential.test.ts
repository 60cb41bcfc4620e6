/** A robot's credential: renewed, expired, copied, with a wrong clock, and from another machine. */
import { cp, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { expect, test } from "vitest";

import { checksum } from "../../../../src/agent/registration/state-file.ts";
import type { StatusDocument } from "../../../../src/agent/status.ts";
import type { Daemon } from "../../../support/robot/daemon.ts";
import { createScene } from "../../../support/service/scene.ts";
import {
  advanceUntil,
  enroll,
  ENROLLED,
  enrollAndStop,
  hasBeaten,
  installation,
  openScene,
  readIdentityFile,
  startScene,
} from "./scene.ts";

const HOUR_MS = 60 * 60_000;
const DAY_MS = 24 * HOUR_MS;

function paths(requests: readonly { readonly path: string }[]): readonly string[] {
  return requests.map(({ path }) => path);
}

test("renewal is due → a new credential on the disk, generation 2", async () => {
  await using scene = await startScene();
  const { clock, serviceClock, daemon, until } = scene;
  const before = await enroll(scene, daemon, clock);
  const old = await readIdentityFile(scene, "credential");
  serviceClock.aheadMs = 17 * HOUR_MS;
  await until(({ identity }) => identity?.credential_expires_at !== before.identity?.credential_expires_at);
  const renewed = await readIdentityFile(scene, "credential");
  expect(renewed["installation_token"]).not.toBe(old["installation_token"]);
  expect(await installation(scene)).toMatchObject({ state: "active", generation: 2 });
});

test("renewal put off for an hour by the service, credential expires → renewed when a person asks to register", async () => {
  await using scene = await startScene();
  const { clock, serviceClock, daemon, until } = scene;
  await enroll(scene, daemon, clock);
  const before = await until(hasBeaten);
  serviceClock.aheadMs = 25 * HOUR_MS;
  // The next heartbeat is refused, and so a renewal follows.
  scene.proxy.inject({ kind: "delay", delayMs: 0 });
  scene.proxy.inject({ kind: "answer", status: 503, headers: { "retry-after": "3600" } });
  await until(({ identity }) => identity?.problem?.includes("503") ?? false);
  const requestCount = scene.proxy.requests.length;
  clock.push(10 * 60_000);
  await daemon.lookAgain();
  expect(paths(scene.proxy.requests.slice(requestCount))).not.toContain("/v1/robot-agent/credential/renew");

  await daemon.ask("POST", "/register");
  const renewed = ({ identity }: StatusDocument) =>
    identity?.credential_expires_at !== before.identity?.credential_expires_at;
  await daemon.until((status) => renewed(status) && status.state === "registered");
});

test("off for 60 days → recovers without an operator", async () => {
  await using scene = await openScene();
  const { clock, serviceClock } = scene;
  await enrollAndStop(scene, clock);
  serviceClock.aheadMs = 60 * DAY_MS;
  await using daemon = await scene.robot.start({}, clock);
  await advanceUntil(daemon, clock, hasBeaten);
  await daemon.untilLogged("credential-recovered");
  // The first look at the files may still be under way: the credential does not wait for it.
  await advanceUntil(daemon, clock, ({ state }) => state === "registered");
});

test("off for longer than the recovery window → says so, and each --setup asks until an operator allows it", async () => {
  await using scene = await openScene();
  const { clock, serviceClock } = scene;
  await enrollAndStop(scene, clock);
  serviceClock.aheadMs = 100 * DAY_MS;
  await using daemon = await scene.robot.start({}, clock);
  const lapsed = await advanceUntil(daemon, clock, ({ state }) => state === "lapsed");
  expect(lapsed).toMatchObject({ healthy: false, identity: { state: "lapsed" } });
  expect((await scene.robot.run(["status"])).code).toBe(5);
  expect((await scene.robot.run(["doctor"])).stdout).toMatch(/^fail {2}key/m);

  const renewals = () => paths(scene.proxy.requests).filter((path) => path.endsWith("/renew")).length;
  const count = renewals();
  expect((await scene.robot.run(["--setup"])).code).toBe(5);
  expect(renewals() - count).toBe(1);

  await scene.service.send("PATCH", "/v1/robots/arm-7/installation", { recoveries_remaining: 2 });
  expect((await scene.robot.run(["--setup"])).code).toBe(0);
});

test("a copied state directory → both agents are frozen and say so; thawed → registered again", async () => {
  await using scene = await startScene();
  const { clock, serviceClock, daemon, until } = scene;
  await enroll(scene, daemon, clock);
  await using copy = await createScene({ service_url: scene.service.url, ...ENROLLED });
  await cp(scene.robot.state_directory, copy.robot.state_directory, { recursive: true });
  // A copied disk also has the same configuration.
  await cp(scene.robot.config_path, copy.robot.config_path);
  await using copied = await copy.robot.start({}, clock);
  const untilFrozen = (each: Daemon) =>
    each.until(({ state }) => {
      clock.push(30_000);
      serviceClock.aheadMs += HOUR_MS;
      return state === "frozen";
    });
  await copied.until(hasBeaten);
  const [first, second] = await Promise.all([untilFrozen(daemon), untilFrozen(copied)]);
  for (const { summary } of [first, second]) expect(summary).toContain("Frozen by the service");
  await copied.stop();

  await scene.service.send("PATCH", "/v1/robots/arm-7/installation", { frozen: false });
  clock.push(10 * 60_000);
  await until(({ state, identity }) => state === "registered" && identity?.problem === null);
});

test("identity files of another machine → set aside; enrolls with a new key", async () => {
  await using scene = await openScene();
  const { clock } = scene;
  await enrollAndStop(scene, clock);
  const path = join(scene.robot.state_directory, "identity-key.json");
  const { public_key: old } = await readIdentityFile(scene, "key");
  await ofOtherMachine(path);
  await using daemon = await scene.robot.start({}, clock);
  await daemon.untilLogged("identity-of-other-machine");
  await daemon.until(({ identity }) => (identity?.user_code ?? null) !== null);
  expect((await readIdentityFile(scene, "key"))["public_key"]).not.toBe(old);
  expect(await readFile(`${path}.foreign`, "utf8")).toContain(old);
});

/** Rewrites the file as a computer with another machine id would have. */
async function ofOtherMachine(path: string): Promise<void> {
  const { content } = JSON.parse(await readFile(path, "utf8"));
  const moved = { ...content, machine: "ab".repeat(32) };
  const envelope = { schema_version: 1, checksum: checksum(1, moved), content: moved };
  await writeFile(path, JSON.stringify(envelope));
}
