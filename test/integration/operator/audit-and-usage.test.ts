import * as z from "zod";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { type Clock, systemClock } from "../../../src/platform/clock.ts";
import { endedWith, openOperatorSite, type OperatorSite } from "../../support/operator/operator.ts";

interface SiteInTime extends OperatorSite {
  /** Advances the clock of the service and of its commands. */
  pass(durationMs: number): void;
}

/** A site of its site with one robot, `arm-1`, for tests that list everything or advance the clock. */
async function openSiteInTime(): Promise<SiteInTime> {
  let aheadMs = 0;
  const clock: Clock = {
    ...systemClock,
    wallMs: () => systemClock.wallMs() + aheadMs,
    monotonicMs: () => systemClock.monotonicMs() + aheadMs,
  };
  const site = await openOperatorSite({ clock, commandClock: clock });
  await site.register("arm-1");
  return { ...site, pass: (durationMs) => void (aheadMs += durationMs) };
}

describe("audit", () => {
  it("who changed what", async () => {
    await using site = await openSiteInTime();
    await site.run("keys", "create", "cell 9", "--everything");
    expect((await site.run("audit")).out).toMatch(/^\S+Z +bootstrap created the key cell 9 {2}/m);
    expect(await audited(site, "--since", "2020-01-01")).toEqual(await audited(site));
  });

  it("shows names; ids only with --columns and --json", async () => {
    await using site = await openSiteInTime();
    await site.run("fleets", "create", "--name", "line 4", "--model", "pi0.5", "--robot", "arm-1");
    const { id } = await site.json("fleets", "show", "line 4");
    await site.run("deploy", "pi0.5", "--robot", "arm-1");
    await site.run("deployments", "retire", "arm-1");
    const narrow = await site.runWith({ columns: 80 }, "audit");
    expect(narrow.out).toMatch(/^(?:now|\d+ s ago) +bootstrap retired pi0\.5 on arm-1/m);
    expect(narrow.out).toMatch(/^(?:now|\d+ s ago) +bootstrap created the fleet line 4/m);
    expect(narrow.out).not.toMatch(/(?:fleet|dep|rob|ckpt|key)_01/);
    expect((await site.run("audit", "--columns", "action,id")).out).toContain(`fleet.create       ${id}\n`);
    expect(await audited(site)).toContainEqual(expect.objectContaining({ subject_id: id, subject_name: "line 4" }));
  });

  it("--by, --until, --csv: one actor, in a period, in full", async () => {
    await using site = await openSiteInTime();
    const { api_key: key } = await site.json("keys", "create", "line 4", "--everything");
    const environment = { ROBOT_POLICY_URL: site.urls.whole, ROBOT_POLICY_API_KEY: String(key) };
    await site.runWith({ environment }, "keys", "create", "cell, 9", "--scope", "robots:setup");
    const { out } = await site.run("audit", "--by", "line 4", "--csv");
    expect(out.split("\n")).toEqual([
      "when,what,from,details,by,action,subject,id",
      expect.stringMatching(
        /^\d{4}-\S+Z,"line 4 created the key cell, 9",,"?[^"]*"?[^,]*,line 4,api_key\.create,"cell, 9",key_\w+$/,
      ),
      "",
    ]);
    expect((await site.run("audit", "--since", "2d", "--until", "1d")).err).toBe(
      "Nothing was changed in this period.\n",
    );
  });

  it("more than a page → to the beginning; before: the changes before one", async () => {
    await using site = await openSiteInTime();
    for (let count = 0; count < 5; count += 1) await site.run("keys", "create", `key ${count}`, "--everything");
    const listed = z.object({ items: z.array(z.object({ id: z.string() })) });
    const ask = async (query: string) =>
      listed.parse(await (await site.service.send("GET", `/v1/me/audit?${query}`)).json()).items.map(({ id }) => id);
    const all = await ask("limit=1000");
    expect(await ask(`limit=2&before=${all[1]}`)).toEqual(all.slice(2, 4));
    expect(await ask(`before=${all.at(-1)}`)).toEqual([]);
  });

  it("robots show: the refusal since the last registration; none after the next one", async () => {
    await using site = await openSiteInTime();
    const headers = { authorization: `Bearer ${site.service.key}`, "content-type": "application/json" };
    const sent = { method: "POST", headers, body: JSON.stringify({ name: "arm-1", robot_type_id: "arm" }) };
    expect((await fetch(`${site.service.url}/v1/robots/setup`, sent)).status).toBe(422);
    let moves = 0;
    const shownLater = async () => {
      // A task writes refusals every few seconds, and wakes when a robot's region changes.
      site.pass(5000);
      moves += 1;
      await site.register("moved", { region: `region-${moves}` });
      return (await site.run("robots", "show", "arm-1")).out;
    };
    await expect
      .poll(shownLater)
      .toMatch(
        /^needs +The newest registration was refused, since .*\n +From 127\.0\.0\.1 \(bootstrap\): region: Field required; .* \(422\)$/m,
      );
    await site.register("arm-1");
    expect((await site.run("robots", "show", "arm-1")).out).not.toContain("needs");
  });

  async function audited(site: OperatorSite, ...args: string[]): Promise<unknown[]> {
    const { items } = z.object({ items: z.array(z.unknown()) }).parse(await site.json("audit", ...args));
    return items;
  }
});

describe("usage", () => {
  /** A site whose robot used a model for 1.5 hours. */
  let used: SiteInTime;
  beforeAll(async () => {
    used = await openSiteInTime();
    await used.service.send("POST", "/v1/me/deployments", { model: "pi0.5", robot: "arm-1" });
    used.pass(5_400_000);
    await used.run("deployments", "retire", "arm-1");
  });
  afterAll(() => used[Symbol.asyncDispose]());

  it("--json, --by and --csv: the sums of a period", async () => {
    expect((await used.run("usage")).out).toMatch(/^ROBOT +USED +SHARE\narm-1 +1\.5 h +100 %$/m);
    const sums = await used.json("usage", "--by", "model", "--since", "2d");
    expect(sums).toMatchObject({
      by: "model",
      items: [{ name: "pi0.5", quantity: expect.any(Number), unit: "second", amount_cents: null }],
    });
    expect((await used.run("usage", "--csv")).out).toMatch(
      /^robot,quantity,unit,hours,amount_cents\narm-1,54\d\d,second,1\.50,\n$/,
    );
    expect((await used.run("usage", "--until", "2020-01-01")).err).toContain("Nothing was used");
    // The default period is the 30 days before --until, which lie in the future.
    expect((await used.run("usage", "--until", "2098-01-01")).err).toContain("Nothing was used");
    const whole = await used.json("usage", "--by", "model", "--since", "2020-01-01", "--until", "2098-01-01");
    expect(whole.items).toEqual(sums.items);
  });

  it("--month: whole days in UTC, as the console sums them", async () => {
    const { err } = await used.run("usage", "--month", "2026-02");
    expect(err).toBe("Nothing was used from 2026-02-01 to 2026-02-28, in whole days (UTC).\n");
    const { since, until } = await used.json("usage", "--month", "2026-02");
    expect([since, until].map((time) => new Date(String(time)).toISOString())).toEqual([
      "2026-02-01T00:00:00.000Z",
      "2026-03-01T00:00:00.000Z",
    ]);
    expect((await used.run("usage", "--month", "last")).exitCode).toBe(0);
  });

  it.each([
    ["at most 30 days → the service sums up", ["--since", "30d"], ["GET /v1/me/usage/summary"]],
    ["no period → the last 30 days", [], ["GET /v1/me/usage/summary"]],
    [
      "longer than the service sums up → the command sums up the ledger",
      ["--since", "900d"],
      ["GET /v1/me/usage/summary", "GET /v1/me/usage"],
    ],
  ])("--by: %s", async (_case, args, paths) => {
    const before = used.service.requests.length;
    const { out, err } = await used.run("usage", "--by", "model", ...args);
    expect(used.service.requests.slice(before).map(({ method, path }) => `${method} ${path}`)).toEqual(paths);
    expect(out).toMatch(/^pi0\.5 +1\.5 h +100 %$/m);
    expect(err).toMatch(/^Used from \S+ to \S+, in whole days \(UTC\)\.$/m);
  });

  it("--by day on the documented service → sums up the ledger", async () => {
    expect(await used.eleven("usage", "--by", "day")).toMatchObject({
      exitCode: 0,
      out: expect.stringMatching(/^DAY /),
    });
  });

  it.each([
    ["audit --since 2026-02-30", "--since '2026-02-30' is neither a date nor a duration"],
    ["audit --columns whn", "did you mean when?"],
    ["audit --since 1d --until 2d", "--since is not before --until"],
    ["usage --since yesterday", "--since 'yesterday' is not a day"],
    ["usage --until 2026-02-30", "--until '2026-02-30' is not a day"],
    ["usage --month 2026-13", "--month '2026-13' is not a month"],
    ["usage --month 2026-01 --since 7d", "--month and --since exclude each other"],
    ["keys create cell --everything --expires 2030-02-30", "--expires '2030-02-30' is neither a date"],
    ["usage --since 2026-01-02 --until 2026-01-02", "--since is not before --until"],
    ["usage --csv --json", "--csv and --json"],
    ["usage --by week", "Allowed choices are robot, model, day"],
  ])("%s → exit 2", async (commandLine, message) => {
    expect(await used.run(...commandLine.split(" "))).toMatchObject(endedWith(2, message));
  });
});
