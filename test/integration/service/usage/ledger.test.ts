import { DatabaseSync } from "node:sqlite";
import { join } from "node:path";

import * as z from "zod";
import { describe, expect, it } from "vitest";

import { usageSummarySchema } from "../../../../src/api/usage.ts";
import { systemClock } from "../../../../src/platform/clock.ts";
import { systemRandom } from "../../../../src/platform/random.ts";
import { createIds } from "../../../../src/service/kernel/ids.ts";
import { beginWriting, type RunningService } from "../../../support/service/service.ts";
import { testService } from "../../../support/service/test-service.ts";

const HOUR_MS = 3_600_000;
const NOW_MS = Date.parse("2026-05-31T12:00:00Z");

/** A service whose ledger has an entry for each robot and each of the last hours, every `stepHours`. */
async function scene(robots: number, hours: number, stepHours: 1 | 24 = 1): Promise<RunningService> {
  const running = await testService({ clock: { ...systemClock, wallMs: () => NOW_MS } });
  using database = new DatabaseSync(join(running.dataDirectory, "service.db"));
  const organizationId = String(database.prepare("select id from organizations").get()?.["id"]);
  await beginWriting(database);
  database.exec(`insert into robots (id, organization_id, name, robot_type_id, region, configuration_digest, site, labels, contract, created_at, updated_at, refitted_at, changed_at, audit_id, made_by)
      values ('rob_1', '${organizationId}', 'r', 't', 'eu', 'd', null, '{}', null, '', '', '', '', '', '')`);
  database.exec(`insert into models (slug, display_name, default_checkpoint_id, created_at) values ('m', 'm', 'c', '');
    insert into checkpoints (id, model_slug, requirements, created_at) values ('c', 'm', '{}', '');
    insert into deployments (id, organization_id, robot_id, model_slug, checkpoint_id, region, status, generation_id, created_at, retired_at)
      values ('dep_1', '${organizationId}', 'rob_1', 'm', 'c', 'eu', 'retired', 'g', '', '')`);
  const insert = database.prepare(
    "insert into usage_records values (?, ?, 'dep_1', ?, ?, 't', 's', 3600, 'second', ?, ?, ?)",
  );
  for (let hour = hours; hour > 0; hour -= stepHours) {
    const startMs = NOW_MS - hour * HOUR_MS;
    const newId = createIds(
      { wallMs: () => startMs, monotonicMs: () => 0, sleep: () => Promise.resolve() },
      systemRandom,
    );
    const [start, end] = [new Date(startMs).toISOString(), new Date(startMs + HOUR_MS).toISOString()];
    for (let robot = 0; robot < robots; robot += 1) {
      insert.run(newId("use"), organizationId, `arm-${robot}`, robot % 2 === 0 ? "pi" : "act", start, end, start);
    }
  }
  database.exec("commit");
  return running;
}

const summary = async ({ send }: RunningService, query: string) =>
  usageSummarySchema.parse(await (await send("GET", `/v1/me/usage/summary${query}`)).json());

describe("GET /v1/me/usage and its summary", () => {
  it("no parameters → the last thirty days, by day; since, until, by → as requested", async () => {
    const running = await scene(3, 24 * 40);
    const month = await summary(running, "");
    expect(month).toMatchObject({
      since: "2026-05-01T12:00:00.000Z",
      until: "2026-05-31T12:00:00.000Z",
      by: "day",
      unit: "second",
      total: 3 * 30 * 24 * 3600,
    });
    expect(month.items).toHaveLength(31);
    expect(month.items[0]).toEqual({ day: "2026-05-01", robot: null, model_slug: null, quantity: 3 * 12 * 3600 });
    const query = "?since=2026-04-25T00:00:00Z&until=2026-04-25T01:30:00.9%2B00:00&by=model";
    expect((await summary(running, query)).items).toEqual([
      { day: null, robot: null, model_slug: "act", quantity: 5400 },
      { day: null, robot: null, model_slug: "pi", quantity: 2 * 5400 },
    ]);
    const everything = await summary(running, "?since=2026-01-01T00:00:00Z&by=robot");
    expect(everything.items.map(({ robot, quantity }) => [robot, quantity])).toEqual(
      ["arm-0", "arm-1", "arm-2"].map((robot) => [robot, 24 * 40 * 3600]),
    );
    const list = z.object({ items: z.array(z.object({ quantity: z.number() })) });
    const { items } = list.parse(await (await running.send("GET", "/v1/me/usage")).json());
    expect(everything.total).toBe(items.reduce((sum, { quantity }) => sum + quantity, 0));
  });

  it("list since and until a time → the periods that begin there, page by page", async () => {
    const running = await scene(3, 24 * 40);
    const read = async (target: string) => {
      const answer = await running.send("GET", target);
      expect(answer.status).toBe(200);
      const { items } = z.object({ items: z.array(z.object({ period_start: z.string() })) }).parse(await answer.json());
      return { starts: items.map((item) => item.period_start), link: answer.headers.get("link") };
    };
    const { starts } = await read("/v1/me/usage");
    const [since, until] = ["2026-04-25T00:00:00.000Z", "2026-04-25T02:00:00.000Z"];
    const begun = starts.filter((start) => since <= start && start < until);
    expect(begun).toHaveLength(6);
    const query = `since=2026-04-25T02:00:00%2B02:00&until=${until}`;
    expect(await read(`/v1/me/usage?${query}`)).toEqual({ starts: begun, link: null });
    const first = await read(`/v1/me/usage?${query}&limit=4`);
    const second = await read(/^<(.*)>; rel="next"$/.exec(first.link ?? "")?.[1] ?? "");
    expect([...first.starts, ...second.starts]).toEqual(begun);
    expect(second.link).toBe(null);
    expect((await running.send("GET", "/v1/me/usage?since=yesterday")).status).toBe(422);
  });

  it.each([
    ["?by=week", "by"],
    ["?by=robot,day", "by"],
    ["?since=yesterday", "since"],
    ["?since=2026-05-01T00:00:00", "since"],
    ["?until=2026-05-01T00:00:00Z&since=2026-05-01T00:00:00.5Z", "until"],
    ["?since=2020-01-01T00:00:00Z", "since"],
  ])("%s → 422 at %s", async (query, member) => {
    const running = await scene(1, 1);
    const answer = await running.send("GET", `/v1/me/usage/summary${query}`);
    expect(answer.status).toBe(422);
    expect(await answer.json()).toMatchObject({ detail: [{ loc: ["query", member] }] });
  });

  it("more than 10,000 sums → 422 with a remedy", async () => {
    const running = await scene(101, 101 * 24, 24);
    const answer = await running.send("GET", "/v1/me/usage/summary?by=day,robot&since=2026-02-20T00:00:00Z");
    expect(answer.status).toBe(422);
    expect(await answer.text()).toContain("there are more than 10000 sums; request a shorter time");
  });
});
