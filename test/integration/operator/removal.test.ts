import { afterAll, beforeAll, expect, it } from "vitest";

import { type Enrolling, openEnrolling, steady } from "../../support/operator/enrolling.ts";
import { endedWith, openOperatorSite, type OperatorSite } from "../../support/operator/operator.ts";

let site: OperatorSite;
let enroll: Enrolling["enroll"];
beforeAll(async () => {
  site = await openOperatorSite();
  ({ enroll } = openEnrolling(site));
});
afterAll(() => site[Symbol.asyncDispose]());

it("remove: says what it does to computer, deployment and fleets, asks once, and frees the name", async () => {
  await site.register("arm-1");
  await site.register("arm-2", { site: "lab" });
  const { id } = await site.json("robots", "show", "arm-2");
  const { computer } = await enroll("arm-2");
  await site.run("deploy", "pi0.5", "--robot", "arm-2");
  await site.run("fleets", "create", "--name", "packing", "--model", "pi0.5", "--robot", "arm-2", "--peak", "1");
  await site.run("fleets", "create", "--name", "other", "--model", "pi0.5", "--robot", "arm-1", "--peak", "1");

  await site.run("fleets", "create", "--name", "lab", "--model", "pi0.5", "--site", "lab", "--peak", "1");

  const declined = await site.runWith({ answers: ["n"] }, "robots", "remove", "arm-2");
  expect(declined.exitCode).toBe(1);
  expect(steady(declined.err).replace(/\((?:active|preparing)[^)]*\)/, "(STATUS)")).toMatchInlineSnapshot(`
    "This removes arm-2 (offline: never seen) for good.
    Its computer loses its credential.
    pi0.5 does not serve it any more: its deployment is retired.
    It stays a member of lab, packing, as a blocked member, until the fleet is reconciled.
    Its history and usage stay, and its name is free for another robot.
    Remove it? [y/N] 
    error: nothing was changed [not-confirmed]
      → answer y to go on, or give --yes
    "
  `);
  expect((await computer.heartbeat()).status).toBe(200);

  const removed = await site.runWith({ answers: ["y"] }, "robots", "rm", "arm-2");
  expect([removed.exitCode, steady(removed.out)]).toEqual([0, "arm-2 is removed (rob_ID), and its name is free.\n"]);
  expect((await computer.heartbeat()).status).toBe(401);
  expect(await site.run("robots", "show", "arm-2")).toMatchObject(endedWith(6, "no robot has the name or id arm-2"));
  expect(await site.run("robots", "remove", "arm-2", "--yes")).toMatchObject(endedWith(6, "no robot has the name"));
  await enroll("arm-2");
  expect((await site.json("robots", "show", "arm-2")).id).not.toBe(id);
});

it("rename → the same robot and computer; a taken or invalid name → refused", async () => {
  const { computer } = await enroll("arm-10");
  await site.register("arm-11");
  const { id } = await site.json("robots", "show", "arm-10");
  expect(await site.run("robots", "rename", "arm-10", "arm-11")).toMatchObject(endedWith(7, "[conflict]"));
  const same = await site.runWith({ answers: [] }, "robots", "rename", "arm-10", "arm-10");
  expect([same.exitCode, steady(same.out), same.err]).toEqual([0, "arm-10 has this name already (rob_ID).\n", ""]);
  expect(await site.run("robots", "rename", "arm-10", "no name!")).toMatchObject(endedWith(6, 'NAME "no name!"'));
  for (const [name, consequence] of [
    ["arm-10", "Its agent learns the new name by itself"],
    ["arm-11", "Its agent registers under the old name"],
  ] as const) {
    const declined = await site.runWith({ answers: ["n"] }, "robots", "rename", name, "arm-12");
    expect([declined.exitCode, declined.err]).toEqual([1, expect.stringContaining(consequence)]);
  }
  expect(await site.run("robots", "rename", "arm-10", "arm-12")).toMatchObject({
    exitCode: 0,
    out: `arm-10 is arm-12 now (${id}).\n`,
  });
  expect((await computer.heartbeat()).status).toBe(200);
});

it("fleets remove: says what remains, asks once, and frees the name", async () => {
  await site.register("arm-20");
  const make = () =>
    site.run("fleets", "create", "--name", "night", "--model", "pi0.5", "--robot", "arm-20", "--peak", "1");
  expect((await make()).exitCode).toBe(0);
  const declined = await site.runWith({ answers: [""] }, "fleets", "remove", "night");
  expect([declined.exitCode, declined.err]).toEqual([
    1,
    expect.stringMatching(/^This deletes the fleet night \(\w+\)\.\nIts robot and its deployment stay/),
  ]);
  expect(await site.run("fleets", "remove", "night")).toMatchObject({
    exitCode: 0,
    out: expect.stringContaining("The fleet night is deleted"),
  });
  expect(await site.run("fleets", "show", "night")).toMatchObject({ exitCode: 6 });
  expect((await make()).exitCode).toBe(0);
});

it("remove, by a service without it → says so", async () => {
  await site.register("arm-30");
  expect(await site.eleven("robots", "remove", "arm-30")).toMatchObject(endedWith(6, "[not-offered]"));
});

it("line feeds in names of robots, fleets and keys → do not start a new line", async () => {
  const name = "arm-20\n→ forged";
  await site.register(name);
  const { id } = await site.json("robots", "show", name);
  const fleet = ["--name", "fleet\n→ forged", "--model", "pi0.5", "--robot", id, "--peak", "1"];
  const { id: keyId } = await site.json("keys", "create", "key\n→ forged", "--everything");
  const asked = { answers: ["n"] };
  for (const { out, err } of [
    await site.run("fleets", "create", ...fleet),
    await site.run("fleets", "show", "fleet\n→ forged"),
    await site.runWith(asked, "fleets", "update-model", "fleet\n→ forged", "smolvla"),
    await site.run("deploy", "pi0.5", "--robot", id),
    await site.runWith(asked, "deploy", "smolvla", "--robot", id),
    await site.runWith(asked, "deployments", "retire", id),
    await site.runWith(asked, "robots", "rename", id, "arm-21"),
    await site.runWith(asked, "robots", "remove", id),
    await site.run("deployments", "retire", id),
    await site.run("robots", "remove", id),
    await site.runWith(asked, "fleets", "remove", "fleet\n→ forged"),
    await site.run("fleets", "remove", "fleet\n→ forged"),
    await site.runWith(asked, "keys", "revoke", keyId),
  ]) {
    expect(out + err).toContain(" → forged");
    expect(out + err).not.toMatch(/^→/m);
  }
});
