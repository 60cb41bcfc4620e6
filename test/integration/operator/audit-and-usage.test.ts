import * as z from "zod";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { apiKeyCreatedSchema } from "../../../src/api/keys.ts";
import { HISTORY_SHOWN } from "../../../src/api/registrations.ts";
import { type Clock, systemClock } from "../../../src/platform/clock.ts";
import { endedWith, openOperatorSite, type OperatorSite } from "../../support/operator/operator.ts";

const DIGEST = `sha256:${"0".repeat(64)}`;

interface SiteInTime extends OperatorSite {
  /** Lets time pass, for the service and its commands. */
  pass(durationMs: number): void;
}

/** A site with one robot, `arm-1`, for a test that looks at all there is or lets time pass. */
async function openSiteInTime(): Promise<SiteInTime> {
  let aheadMs = 0;
  const clock: Clock = {
    ...systemClock,
    wallMs: () => systemClock.wallMs() + aheadMs,
    monotonicMs: () => systemClock.monotonicMs() + aheadMs,
  };
  const own = await openOperatorSite({ clock, commandClock: clock });
  await own.register("arm-1");
  return { ...own, pass: (durationMs) => void (aheadMs += durationMs) };
}

let refits = 0;
/** Refusals are written down every few seconds, by a task that wakes when a robot is fitted otherwise. */
async function passPeriod(own: SiteInTime): Promise<void> {
  own.pass(5000);
  refits += 1;
  await own.register("refitted", { region: `region-${refits}` });
}

describe("audit", () => {
  const setup = async ({ service }: OperatorSite, key: string, body: object) => {
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
    const sent = { method: "POST", headers, body: JSON.stringify(body) };
    return (await fetch(`${service.url}/v1/robots/setup`, sent)).status;
  };

  it("tells who changed what, and why a robot does not register", async () => {
    await using own = await openSiteInTime();
    expect(await setup(own, own.service.key, { name: "cell-9", robot_type_id: "arm" })).toBe(422);
    await own.run("keys", "create", "cell 9");
    await refusalIsTold(own);
    const { out } = await own.run("audit");
    expect(out).toMatch(/^(?:now|\d+ (?:s|min) ago) +api_key\.create +cell 9 +bootstrap/m);
    expect(out).toMatch(
      /^(?:now|\d+ (?:s|min) ago) +refused +cell-9 +bootstrap +127\.0\.0\.1 +region: Field required; .*\(422\)$/m,
    );
    expect(await audited(own, "--robot", "cell-9")).toMatchObject([{ kind: "refusal", robot: "cell-9", status: 422 }]);
    expect(await audited(own, "--robot", "arm-1")).toMatchObject([{ kind: "registration", robot: "arm-1" }]);
    expect(await audited(own, "--robot", "arm-1", "--refused")).toEqual([]);
    expect(await audited(own, "--since", "2020-01-01")).toEqual(expect.arrayContaining(await audited(own)));
    const unknown = await own.run("robots", "show", "cell-9");
    expect([unknown.exitCode, unknown.err]).toEqual([6, expect.stringContaining("was refused: region: Field req")]);
  });

  it("names what was changed, and keeps ids for --wide and --json", async () => {
    await using own = await openSiteInTime();
    expect(await setup(own, own.service.key, { name: "cell-9", robot_type_id: "arm" })).toBe(422);
    await refusalIsTold(own);
    await own.run("fleets", "create", "--name", "line 4", "--model", "pi0.5", "--robot", "arm-1");
    const { id } = await own.json("fleets", "show", "line 4");
    await own.run("deploy", "pi0.5", "--robot", "arm-1");
    await own.run("deployments", "retire", "arm-1");
    const narrow = await own.runWith({ columns: 80 }, "audit");
    expect(narrow.out).toMatch(/^(?:now|\d+ s ago) +deployment\.retire +pi0\.5 on arm-1 +bootstrap/m);
    expect(narrow.out).toMatch(/^(?:now|\d+ s ago) +fleet\.create +line 4 +bootstrap/m);
    expect(narrow.out).not.toMatch(/(?:fleet|dep|rob|ckpt|key)_01/);
    expect(narrow.err).toContain("columns hidden: from, id; --wide or --columns");
    expect((await own.run("audit", "--wide")).out).toMatch(new RegExp(`fleet\\.create +line 4 +.* ${id}$`, "m"));
    expect(await audited(own)).toContainEqual(expect.objectContaining({ subject_id: id, subject_name: "line 4" }));
  });

  it("robots show tells what was refused since the robot registered last", async () => {
    await using own = await openSiteInTime();
    const { out: made } = await own.run("keys", "create", "cell 8", "--json");
    const { api_key: apiKey, id } = apiKeyCreatedSchema.parse(JSON.parse(made));
    const { name, ...robot } = { name: "cell-8", robot_type_id: "arm", region: "eu", configuration_digest: DIGEST };
    expect(await setup(own, apiKey, { name, ...robot })).toBe(200);
    expect((await own.service.send("DELETE", `/v1/me/api-keys/${id}`)).status).toBe(200);
    for (let attempt = 0; attempt < 3; attempt += 1) expect(await setup(own, apiKey, { name, ...robot })).toBe(401);
    const told = async () => (await own.run("robots", "show", name)).out;
    const toldLater = async () => {
      await passPeriod(own);
      return told();
    };
    await expect
      .poll(toldLater)
      .toMatch(
        /^refused since .*\nWHEN .*\n(?:now|\d+ (?:s|min) ago) +cell 8 +127\.0\.0\.1 +API key has been revoked \(401, 3 times\)$/m,
      );
    await own.register(name);
    expect(await told()).not.toContain("refused");
  });

  async function refusalIsTold(own: SiteInTime): Promise<void> {
    const refused = async () => {
      await passPeriod(own);
      return audited(own, "--refused");
    };
    await expect.poll(refused).toHaveLength(1);
  }

  it("--robot: says what it cannot show, where the history is long and where nothing has the name", async () => {
    await using own = await openOperatorSite();
    for (let count = 0; count < HISTORY_SHOWN.maximum; count += 1) await own.register("arm-1");
    const { out, err } = await own.run("audit", "--robot", "arm-1");
    expect(out.match(/robot\.setup/g)).toHaveLength(HISTORY_SHOWN.maximum);
    expect(err).toBe(
      "The service shows no more than the newest 200 registrations of arm-1; there may be earlier ones.\n",
    );
    await own.run("robots", "remove", "arm-1");
    expect(await own.run("audit", "--robot", "arm-1")).toMatchObject({
      exitCode: 0,
      err: "No registration of arm-1 was accepted or refused in this period. A removed robot has its history under its id.\n",
    });
  });

  async function audited(own: OperatorSite, ...words: string[]): Promise<unknown[]> {
    const { items } = z.object({ items: z.array(z.unknown()) }).parse(await own.json("audit", ...words));
    return items;
  }
});

describe("usage", () => {
  /** One robot was in use for an hour and a half. */
  let used: SiteInTime;
  beforeAll(async () => {
    used = await openSiteInTime();
    await used.service.send("POST", "/v1/me/deployments", { model: "pi0.5", robot: "arm-1" });
    used.pass(5_400_000);
    await used.run("deployments", "retire", "arm-1");
  });
  afterAll(() => used[Symbol.asyncDispose]());

  it("is the ledger, its sums, and comma-separated values", async () => {
    const { items } = await used.json("usage");
    expect(items.length).toBeGreaterThan(0);
    expect((await used.run("usage", "--by", "robot")).out).toMatch(/^arm-1 +1\.5 h +█{20}$/m);
    const sums = await used.json("usage", "--by", "model", "--since", "1d");
    expect(sums).toMatchObject({ by: "model", items: [{ name: "pi0.5", unit: "second", amount_cents: null }] });
    const total = items.reduce((sum: number, { quantity }: { quantity: number }) => sum + quantity, 0);
    expect(sums.items[0].quantity).toBe(total);
    expect((await used.run("usage", "--csv")).out.split("\n")[0]).toBe(
      "id,created_at,usage_type,sku,quantity,unit,amount_cents,deployment_id,robot,model_slug,period_start,period_end",
    );
    expect((await used.run("usage", "--until", "2020-01-01")).err).toContain("Nothing was used");
    // The last 30 days of a time that is still to come.
    expect((await used.run("usage", "--until", "2098-01-01")).err).toContain("--since sets an earlier start");
    expect((await used.json("usage", "--since", "2d", "--until", "2098-01-01")).items).toEqual(items);
  });

  it.each([
    ["is summed up by the service", ["--since", "30d"], ["GET /v1/me/usage/summary"]],
    ["is of the last 30 days where nothing is said", [], ["GET /v1/me/usage/summary"]],
    [
      "is summed up here for longer than the service does",
      ["--since", "900d"],
      ["GET /v1/me/usage/summary", "GET /v1/me/usage"],
    ],
  ])("--by: %s", async (_case, words, paths) => {
    const before = used.service.requests.length;
    const { out, err } = await used.run("usage", "--by", "model", ...words);
    expect(used.service.requests.slice(before).map(({ method, path }) => `${method} ${path}`)).toEqual(paths);
    expect(out).toMatch(/^pi0\.5 +1\.5 h +█{20}$/m);
    expect(err).toMatch(/^Used from \S+ \S+ to \S+ \S+, UTC\.$/m);
  });

  it("is summed up by day from the documented ledger, too", async () => {
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
    ["robots allow --keys keys.txt --expires 2030-02-30", "--expires '2030-02-30' is neither a date"],
    ["usage --since 1d --until 2d", "--since is not before --until"],
    ["usage --csv --json", "--csv and --json"],
    ["usage --by week", "Allowed choices are robot, model, day"],
  ])("%s is a mistake of usage", async (words, told) => {
    expect(await used.run(...words.split(" "))).toMatchObject(endedWith(2, told));
  });
});
