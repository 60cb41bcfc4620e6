import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

import { describe, expect, it } from "vitest";

import { type Clock, systemClock } from "../../../../src/platform/clock.ts";
import { FIGURES_FRESH_MS, ROBOTS_FRESH_MS } from "../../../../src/service/figures.ts";
import type { ServiceConfiguration } from "../../../../src/service/service.ts";
import { beginWriting, type RunningService } from "../../../support/service/service.ts";
import { testService } from "../../../support/service/test-service.ts";

const setup = {
  name: "secret-robot-name",
  robot_type_id: "so101",
  region: "us-west-2",
  configuration_digest: `sha256:${"0".repeat(64)}`,
};

async function service(
  configuration: Partial<ServiceConfiguration> = {},
  clock: Clock = systemClock,
): Promise<RunningService> {
  return testService({ configuration, clock });
}

const metricsOf = async ({ url }: RunningService) => (await fetch(`${url}/metrics`)).text();

/** Values of a metric by its labels, as printed. */
function samplesOf(text: string, name: string): Readonly<Record<string, number>> {
  const lines = text.split("\n").filter((line) => line.startsWith(name) && "{ ".includes(line.charAt(name.length)));
  return Object.fromEntries(
    lines.map((line) => line.slice(name.length).split(" ")).map(([labels, value]) => [labels, Number(value)]),
  );
}

describe("GET /metrics", () => {
  it("requests → counted by route, method and status; client input never becomes a label", async () => {
    const running = await service();
    const { send, url } = running;
    await send("POST", "/v1/robots/setup", setup);
    await send("GET", "/v1/robots/secret-robot-name");
    await send("GET", "/v1/robots/nobody-of-that-name");
    await fetch(`${url}/v1/robots`, { headers: { authorization: "Bearer secret-key" } });
    for (const path of ["/a", "/b", "/v1/c"]) await fetch(url + path, { method: "PROPFIND" });
    const counts = () =>
      metricsOf(running).then((text) => samplesOf(text, "robot_policy_service_http_request_duration_seconds_count"));
    await expect.poll(counts).toMatchObject({
      '{method="POST",route="/v1/robots/setup",status="200"}': 1,
      '{method="GET",route="/v1/robots/{robot}",status="200"}': 1,
      '{method="GET",route="/v1/robots/{robot}",status="404"}': 1,
      '{method="GET",route="/v1/robots",status="401"}': 1,
      '{method="other",route="none",status="404"}': 3,
    });
    const text = await metricsOf(running);
    expect(text).toMatch(/^process_resident_memory_bytes \d+$/m);
    expect(text).not.toContain("secret");
    expect(text).not.toContain("PROPFIND");
  });

  it("writes and tasks → durations and outcomes", async () => {
    const running = await service();
    await running.send("POST", "/v1/robots/setup", setup);
    const text = await metricsOf(running);
    const writes = samplesOf(text, "robot_policy_service_store_write_duration_seconds_count");
    expect(writes['{outcome="committed"}']).toBeGreaterThan(0);
    const waiting = async () => samplesOf(await metricsOf(running), "robot_policy_service_store_writes_waiting");
    await expect.poll(waiting).toEqual({ "": 0 });
    const runs = async () => samplesOf(await metricsOf(running), "robot_policy_service_task_runs_total");
    await expect.poll(runs).toMatchObject({ '{task="prune-audit",outcome="succeeded"}': expect.any(Number) });
  });

  it("rate-limited requests → counted by limit", async () => {
    const few = { per_second: 0.001, burst: 1 };
    const running = await service({ rateLimit: { credential: few, address: few } });
    for (let count = 0; count < 3; count += 1) await running.send("GET", "/v1/robots");
    const limited = samplesOf(await metricsOf(running), "robot_policy_service_limits_met_total");
    expect(limited).toEqual({ '{limit="rate_limit.credential"}': 2 });
  });

  it("metrics: false → 404", async () => {
    const { url } = await service({ metrics: false });
    expect((await fetch(`${url}/metrics`)).status).toBe(404);
  });

  it("figures of the store → cached for FIGURES_FRESH_MS", async () => {
    let nowMs = 0;
    const running = await service({}, { ...systemClock, monotonicMs: () => nowMs });
    using database = new DatabaseSync(join(running.dataDirectory, "service.db"), {
      enableForeignKeyConstraints: false,
    });
    await beginWriting(database);
    database.exec(`insert into checkpoints (id, model_slug, requirements, created_at) values ('ckpt_a', '', '{}', '')`);
    database.exec("commit");
    const insert = database.prepare(`
      insert into endpoints (checkpoint_id, region, url, health_url, health, contrary_probes, next_probe_at)
      values ('ckpt_a', ?, '', '', 'healthy', 0, ?)`);
    const later = new Date(Date.now() + 200_000).toISOString();
    const add = async (region: string) => {
      await beginWriting(database);
      insert.run(region, later);
      database.exec("commit");
    };
    const healthy = async () =>
      samplesOf(await metricsOf(running), "robot_policy_service_endpoints")['{health="healthy"}'];
    await add("eu");
    expect(await healthy()).toBe(1);
    await add("us");
    expect(await healthy()).toBe(1);
    nowMs = FIGURES_FRESH_MS;
    expect(await healthy()).toBe(2);
  });

  it("robots → counted by status", async () => {
    let nowMs = 0;
    const running = await service({}, { ...systemClock, monotonicMs: () => nowMs });
    const statuses = async () => {
      nowMs += ROBOTS_FRESH_MS;
      return samplesOf(await metricsOf(running), "robot_policy_service_robots");
    };
    const counted = (online: number, notReady: number, offline: number, frozen: number, notMonitored: number) => ({
      '{status="online"}': online,
      '{status="not_ready"}': notReady,
      '{status="offline"}': offline,
      '{status="frozen"}': frozen,
      '{status="not_monitored"}': notMonitored,
    });
    expect(await statuses()).toEqual(counted(0, 0, 0, 0, 0));
    for (const name of ["a", "b", "c", "d", "e", "f"])
      await running.send("POST", "/v1/robots/setup", { ...setup, name });
    using database = new DatabaseSync(join(running.dataDirectory, "service.db"));
    await beginWriting(database);
    const seen = new Date().toISOString();
    const insert = (state: string) => `
      insert into installations (id, organization_id, robot_id, public_key, state, generation, enrolled_at, approved_by,
        credential_expires_at, recoveries_remaining, recovery_until, last_seen_at)
      select id || '${state}', organization_id, id, id || '${state}', '${state}', 1, '', '', '', 0, '',
        case name when 'd' then null else '${seen}' end from robots`;
    database.exec(`${insert("active")}; ${insert("revoked")};
      update installations set state = 'frozen' where state = 'active' and robot_id in (select id from robots where name = 'c');
      update installations set readiness = 'not_ready' where robot_id in (select id from robots where name in ('d', 'e'));
      update robots set installation_id = id || 'active' where name <> 'f';
      commit`);
    expect(await statuses()).toEqual(counted(2, 1, 1, 1, 1));
  });

  it("store fails → 200 with the other metrics", async () => {
    const running = await service();
    using database = new DatabaseSync(join(running.dataDirectory, "service.db"));
    await beginWriting(database);
    database.exec("alter table endpoints rename to elsewhere; commit");
    const answer = await fetch(`${running.url}/metrics`);
    expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining("http_request_duration")]);
  });
});
