import * as z from "zod";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { HISTORY_KEPT } from "../../../src/api/registrations.ts";
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
  it("who changed what, and what robots registered", async () => {
    await using site = await openSiteInTime();
    await site.run("keys", "create", "cell 9");
    expect((await site.run("audit")).out).toMatch(/^\S+Z +api_key\.create +cell 9 +bootstrap/m);
    expect(await audited(site, "--robot", "arm-1")).toMatchObject([{ kind: "registration", robot: "arm-1" }]);
    expect(await audited(site, "--since", "2020-01-01")).toEqual(await audited(site));
  });

  it("shows names; ids only with --columns and --json", async () => {
    await using site = await openSiteInTime();
    await site.run("fleets", "create", "--name", "line 4", "--model", "pi0.5", "--robot", "arm-1");
    const { id } = await site.json("fleets", "show", "line 4");
    await site.run("deploy", "pi0.5", "--robot", "arm-1");
    await site.run("deployments", "retire", "arm-1");
    const narrow = await site.runWith({ columns: 80 }, "audit");
    expect(narrow.out).toMatch(/^(?:now|\d+ s ago) +deployment\.retire +pi0\.5 on arm-1 +bootstrap/m);
    expect(narrow.out).toMatch(/^(?:now|\d+ s ago) +fleet\.create +line 4 +bootstrap/m);
    expect(narrow.out).not.toMatch(/(?:fleet|dep|rob|ckpt|key)_01/);
    expect(narrow.err).toContain("column hidden: id; --columns shows them");
    expect((await site.run("audit", "--columns", "what,id")).out).toContain(`fleet.create       ${id}\n`);
    expect(await audited(site)).toContainEqual(expect.objectContaining({ subject_id: id, subject_name: "line 4" }));
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

  it("--robot: longer history than the service shows, or no such robot → says what is missing", async () => {
    await using site = await openOperatorSite();
    for (let count = 0; count < HISTORY_KEPT; count += 1) await site.register("arm-1", { site: `bench ${count}` });
    const { out, err } = await site.run("audit", "--robot", "arm-1");
    expect(out.match(/robot\.setup/g)).toHaveLength(HISTORY_KEPT);
    expect(err).toBe(
      "The service shows no more than the newest 100 registrations of arm-1; there may be earlier ones.\n",
    );
    await site.run("robots", "remove", "arm-1");
    expect(await site.run("audit", "--robot", "arm-1")).toMatchObject({
      exitCode: 0,
      err: "No registration of arm-1 changed anything in this period. For a removed robot, give its id.\n",
    });
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
    expect((await used.run("usage")).out).toMatch(/^ROBOT +QUANTITY +SHARE\narm-1 +1\.5 h +█{20}$/m);
    const sums = await used.json("usage", "--by", "model", "--since", "1d");
    expect(sums).toMatchObject({
      by: "model",
      items: [{ name: "pi0.5", quantity: expect.any(Number), unit: "second", amount_cents: null }],
    });
    expect((await used.run("usage", "--csv")).out).toMatch(
      /^robot,quantity,unit,amount_cents\narm-1,54\d\d,second,\n$/,
    );
    expect((await used.run("usage", "--until", "2020-01-01")).err).toContain("Nothing was used");
    // The default period is the 30 days before --until, which lie in the future.
    expect((await used.run("usage", "--until", "2098-01-01")).err).toContain("Nothing was used");
    const whole = await used.json("usage", "--by", "model", "--since", "2d", "--until", "2098-01-01");
    expect(whole.items).toEqual(sums.items);
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
    expect(out).toMatch(/^pi0\.5 +1\.5 h +█{20}$/m);
    expect(err).toMatch(/^Used from \S+ \S+ to \S+ \S+, UTC\.$/m);
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
    ["usage --since yesterday", "--since 'yesterday' is neither a date"],
    ["usage --until 2026-02-30", "--until '2026-02-30' is neither a date"],
    ["keys create cell --expires 2030-02-30", "--expires '2030-02-30' is neither a date"],
    ["usage --since 1d --until 2d", "--since is not before --until"],
    ["usage --csv --json", "--csv and --json"],
    ["usage --by week", "Allowed choices are robot, model, day"],
  ])("%s → exit 2", async (commandLine, message) => {
    expect(await used.run(...commandLine.split(" "))).toMatchObject(endedWith(2, message));
  });
});
