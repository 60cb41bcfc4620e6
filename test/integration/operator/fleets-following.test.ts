import { writeFile } from "node:fs/promises";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { STEADY } from "../../conformance/api/catalog.ts";
import { endedWith, openOperatorSite, type OperatorSite } from "../../support/operator/operator.ts";

let site: OperatorSite;
beforeAll(async () => {
  site = await openOperatorSite();
  await site.register("arm-1", { site: "lab" });
});
afterAll(() => site[Symbol.asyncDispose]());

const create = (name: string, ...args: string[]) =>
  site.run("fleets", "create", "--name", name, "--model", STEADY.slug, "--peak", "1", ...args);
const update = (name: string, ...args: string[]) => site.run("fleets", "update", name, ...args);
const FOLLOW = ["--membership", "follow"] as const;
const membersIn = (name: string) => async () => (await site.run("fleets", "show", name)).out;

describe("fleets create --membership follow", () => {
  it("no robot matches yet → says so; show lists who joined and left, and why", async () => {
    const { exitCode, err } = await create("yard", "--site", "yard", ...FOLLOW);
    expect([exitCode, err]).toEqual([
      0,
      expect.stringMatching(/^No robot matches yet; robots join as they come to match\.\nThe fleet yard is created/),
    ]);
    expect(await membersIn("yard")()).toContain("! No robot matches the selector of this fleet.\n");
    await site.register("cart", { site: "yard" });
    await expect.poll(membersIn("yard")).toMatch(/^cart +joined +(now|\d+ s ago) +it matches the selector$/m);
    await site.register("cart", { site: "street" });
    await expect.poll(membersIn("yard")).toMatch(/^cart +left +(now|\d+ s ago) +its site is street$/m);
    expect(await membersIn("yard")()).toMatch(/^members +site=yard, joining and leaving as they match$/m);
    expect((await site.run("audit")).out).toMatch(/ fleet\.leave +yard .*robot=cart reason=its site is street/);
  });

  it("membership in a file, and a flag over the file → the flag wins", async () => {
    const bodyOf = async (text: string, ...args: string[]) => {
      const from = join(site.home, "fleet.yaml");
      await writeFile(from, `name: f\nsubject: ${STEADY.slug}\npeak_active_robots: 1\nselection: ${text}\n`);
      const { out } = await site.run("fleets", "create", "--from", from, "--dry-run", "--json", ...args);
      return JSON.parse(out).body.selection;
    };
    const selector = { site: "lab" };
    expect(await bodyOf("{selector: {site: lab}}")).toEqual({ selector });
    expect(await bodyOf("{selector: {site: lab}}", ...FOLLOW)).toEqual({ selector, membership: "follow" });
    expect(await bodyOf("{selector: {site: lab}, membership: follow}")).toEqual({ selector, membership: "follow" });
  });

  it("named robots, which have no selector to follow → the service's error at the flag", async () => {
    const error = endedWith(6, 'error: --membership "follow": a fleet of named robots has no selector to follow');
    expect(await create("named", "--robot", "arm-1", ...FOLLOW)).toMatchObject(error);
    const from = join(site.home, "named.yaml");
    await writeFile(from, `name: named\nsubject: ${STEADY.slug}\nselection: {robots: [arm-1]}\n`);
    expect(await site.run("fleets", "create", "--from", from, ...FOLLOW)).toMatchObject(error);
  });
});

describe("fleets update --membership", () => {
  beforeAll(async () => void (await create("lab", "--site", "lab")));

  it("follow, then snapshot → says what each means", async () => {
    await site.register("arm-2", { site: "lab" });
    expect(await membersIn("lab")()).toMatch(/^members +site=lab, as of its creation$/m);
    expect(await update("lab", ...FOLLOW)).toMatchObject({
      exitCode: 0,
      out: "Robots that come to match the selector of lab join it, and leave when they no longer match.\n",
    });
    await expect.poll(membersIn("lab")).toMatch(/^arm-2 +joined /m);
    expect((await update("lab", "--membership", "snapshot")).out).toBe("lab keeps the 2 robots that it has.\n");
    expect(await membersIn("lab")()).toMatch(/^members +site=lab, as of when it stopped following them$/m);
  });

  it("no --membership, a fleet of named robots, an unknown fleet → refused", async () => {
    expect(await update("lab")).toMatchObject(endedWith(2, "give --membership follow or --membership snapshot"));
    expect(await update("lab", "--membership", "live")).toMatchObject(endedWith(2, "--membership"));
    await create("ids", "--robot", "arm-1");
    expect(await update("ids", ...FOLLOW)).toMatchObject(endedWith(6, "has no selector to follow"));
    expect(await update("nobody", ...FOLLOW)).toMatchObject(endedWith(6, "[not-found]"));
  });

  it("--dry-run → sends nothing", async () => {
    const { out } = await update("lab", ...FOLLOW, "--dry-run", "--json");
    expect(JSON.parse(out)).toMatchObject({ method: "PATCH", body: { membership: "follow" } });
  });
});
