import { afterAll, beforeAll, expect, it } from "vitest";

import { REGION, ROBOT_TYPE } from "../../conformance/api/catalog.ts";
import { type Enrolling, openEnrolling, steady } from "../../support/operator/enrolling.ts";
import { endedWith, openSiteAtOneTime, type OperatorSite } from "../../support/operator/operator.ts";

let site: OperatorSite;
let enroll: Enrolling["enroll"];
let enrollOnline: Enrolling["enrollOnline"];
beforeAll(async () => {
  site = await openSiteAtOneTime();
  ({ enroll, enrollOnline } = openEnrolling(site));
});
afterAll(() => site[Symbol.asyncDispose]());

it("show: the computer, its state, when it was last seen, and its credential", async () => {
  const { computer } = await enroll("arm-50");
  await computer.heartbeat({ readiness: "not_ready", reason: "no registration", runtime_version: "1.2.3" });
  const { exitCode, out } = await site.run("robots", "show", "arm-50");
  expect(exitCode).toBe(0);
  expect(steady(out.slice(out.indexOf("computer\n")))).toMatchInlineSnapshot(`
    "computer
    state            active
    last seen        TIME
    address          127.0.0.1
    reports          not ready: no registration
    agent            1.2.3
    enrolled         TIME
    approved with    key_ID
    key              SHA256:FINGERPRINT
    generation       1
    credential ends  TIME
    recoveries       5 left
    recovers until   TIME
    "
  `);
  expect(await site.json("robots", "show", "arm-50")).toMatchObject({
    installation: { state: "active", generation: 1 },
  });
});

it("thaw: never enrolled → the command for the robot; unknown robot → not found", async () => {
  await site.register("arm-51");
  expect(await site.run("robots", "thaw", "arm-51")).toMatchObject(
    endedWith(6, /^error: no computer was ever enrolled as arm-51 \[never-enrolled\]\n {2}→ run this on the robot/),
  );
  expect(await site.run("robots", "thaw", "nobody")).toMatchObject(endedWith(6, "no robot has the name"));
});

it("thaw: a frozen robot → works again after a question; another robot → unchanged", async () => {
  const { computer } = await enroll("arm-52");
  expect(await site.run("robots", "thaw", "arm-52")).toMatchObject({
    exitCode: 0,
    out: "arm-52 is not frozen; its computer works with its credential.\n",
  });
  await computer.heartbeat();
  const copy = computer.copy();
  await computer.renew();
  await computer.heartbeat();
  await copy.renew();
  await copy.heartbeat();
  expect((await computer.heartbeat()).status).toBe(403);
  expect((await site.run("robots", "show", "arm-52")).out).toMatch(
    /^needs +Frozen: two computers used this identity\n.*look the same\.\n +→ .* thaw it: robot-policy robots thaw arm-52$/m,
  );
  const declined = await site.runWith({ answers: ["n"] }, "robots", "thaw", "arm-52");
  expect(declined.exitCode).toBe(1);
  expect(steady(declined.err)).toMatchInlineSnapshot(`
    "arm-52 is frozen, because two computers used its identity, seen TIME from 127.0.0.1.
    Two agents on one computer, and a disk that was set back and then forward again, look the same.
    Its computer works again within minutes. If two computers really have its key, it freezes again: enroll the right one again instead.
    Thaw it? [y/N] 
    error: nothing was changed [not-confirmed]
      → answer y to go on, or give --yes
    "
  `);
  expect(await site.json("robots", "thaw", "arm-52")).toMatchObject({ state: "active" });
  expect((await copy.heartbeat()).status).toBe(200);
});

it("allow-recovery: a number from 0 to 100 → the recoveries left; anything else → exit 2", async () => {
  await enroll("arm-53");
  expect(await site.run("robots", "allow-recovery", "arm-53", "--times", "7")).toEqual({
    exitCode: 0,
    out: "arm-53 may renew an expired credential 7 times; its computer tries by itself, within minutes.\n",
    err: "",
  });
  expect(await site.json("robots", "show", "arm-53")).toMatchObject({ installation: { recoveries_remaining: 7 } });
  for (const times of ["101", "-1", "many", "1.5"]) {
    expect(await site.run("robots", "allow-recovery", "arm-53", `--times=${times}`)).toMatchObject(
      endedWith(2, "is not a number from 0 to 100"),
    );
  }
  expect(await site.json("robots", "show", "arm-53")).toMatchObject({ installation: { recoveries_remaining: 7 } });
});

it("list and show: which robots are online, which offline, and which have no computer", async () => {
  const { computer } = await enrollOnline("arm-54");
  await enroll("arm-55");
  await site.register("arm-56");
  const listed = await site.run("robots", "list", "--columns", "name,state,reason", "--sort", "name");
  expect(listed.out).toMatch(/^arm-54 +online +-\narm-55 +offline +-\narm-56 +not monitored +-$/m);
  const names = async (...args: string[]) =>
    (await site.json("robots", "list", ...args)).map(({ name }: { name: string }) => name);
  expect(await names("--state", "online")).toContain("arm-54");
  expect(await names("--state", "offline")).toContain("arm-55");
  expect(await names("--state", "offline")).not.toContain("arm-56");
  expect(await names("--state", "not_monitored")).toContain("arm-56");
  expect((await site.run("robots", "list", "--state", "offline")).err).toMatch(
    /^[12] not monitored, because no computer is enrolled: /m,
  );
  expect((await site.run("robots", "show", "arm-54")).out).toMatch(/^state +online$/m);
  expect((await site.run("robots", "show", "arm-56")).out).toMatch(/^state +not monitored: no computer is enrolled$/m);
  await computer.heartbeat({ readiness: "not_ready", reason: "a file is missing" });
  expect((await site.run("robots", "list", "--columns", "name,state,reason")).out).toMatch(
    /^arm-54 +not ready +a file is missing$/m,
  );
  expect((await site.run("robots", "show", "arm-54")).out).toMatch(/^state +not ready: a file is missing$/m);
  expect(await names("--state", "not_ready")).toContain("arm-54");
});

it("setup: a computer is enrolled as the robot, online or not → refused", async () => {
  const { computer } = await enrollOnline("arm-57");
  await enroll("arm-58");
  const digest = ["--configuration-digest", `sha256:${"1".repeat(64)}`];
  const full = ["--type", ROBOT_TYPE, "--region", REGION, ...digest];
  for (const robot of ["arm-57", "arm-58"]) {
    const args = ["robots", "setup", "--name", robot];
    for (const run of [site.run, site.eleven])
      for (const more of [[], ["--site", "yard"], full, [...full, "--yes"], [...full, "--dry-run"]])
        expect(await run(...args, ...more), `${robot} ${more.join(" ")}`).toMatchObject(
          endedWith(7, /\[robot-enrolled\]\n {2}→ change the configuration on that computer; .* robots remove/),
        );
    expect(await site.runWith({ answers: ["y"] }, ...args, ...full)).toMatchObject({ exitCode: 7 });
  }
  expect((await computer.heartbeat()).status).toBe(200);
});

it("BY: a robot's own computer → the robot's name, in its history", async () => {
  const { computer } = await enroll("arm-60");
  await computer.heartbeat();
  const body = {
    name: "arm-60",
    robot_type_id: ROBOT_TYPE,
    region: REGION,
    configuration_digest: `sha256:${"6".repeat(64)}`,
  };
  expect((await computer.send("POST", "/v1/robots/setup", body)).status).toBe(200);
  const history = await site.run("robots", "history", "arm-60");
  expect(history.out).toMatch(/^\S+Z +first .* sha256:666666666666 +arm-60 +127\.0\.0\.1 +aud_/m);
});
