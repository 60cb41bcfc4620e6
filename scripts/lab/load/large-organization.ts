/** One organization with very many robots: the costs of its lists and of the console's first screen. */
import http from "node:http";

import { sendRequest } from "../support/release.ts";
import type { Scene } from "./fleet-scenes.ts";
import type { LoadedService } from "./load-service.ts";
import { createSamples, meter, type Samples } from "./measurements.ts";

export interface LargePlan {
  readonly robots: number;
  /** How often each request is repeated. */
  readonly rounds: number;
  note(text: string): void;
}

interface Question {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly body?: object;
  readonly key?: string;
}

interface Answered {
  readonly status: number;
  readonly text: string;
  /** Path of the next page; null after the last. */
  readonly next: string | null;
}

type Ask = (kind: string | null, question: Question) => Promise<Answered>;

/** One key can add at most 20,000 robots. */
const ROBOTS_OF_KEY = 20_000;
const AT_ONCE = 64;
/**
 * A computer for each robot. Nine in ten stay online without heartbeats, because their last one is in the future: this scene does not measure
 * heartbeats.
 */
const INSTALL_ALL = `
insert into installations (id, organization_id, robot_id, public_key, state, generation, enrolled_at, approved_by, credential_expires_at,
  recoveries_remaining, recovery_until, readiness, last_seen_at)
select 'rinst_' || substr(id, 5), organization_id, id, id, 'active', 1, created_at, made_by, '2100-01-01T00:00:00.000Z', 5,
  '2100-01-01T00:00:00.000Z', 'ready', case when name like '%0' then '2000-01-01T00:00:00.000Z' else '2099-01-01T00:00:00.000Z' end
from robots;
update robots set installation_id = 'rinst_' || substr(id, 5)`;
const PAGE = 1000;

/** The requests of a browser that opens the console, after the files of the page. */
const FIRST_SCREEN = [
  "/v1/me/session",
  "/v1/robots",
  "/v1/me/registrations",
  "/v1/fleets",
  "/v1/me/fleet-needs",
  "/v1/me/deployments",
  "/v1/models",
  "/v1/endpoints",
  "/v1/me/api-keys",
] as const;

export async function playLarge(service: LoadedService, plan: LargePlan): Promise<Scene> {
  using samples = createSamples();
  using asker = createAsker(service, samples);
  const { ask } = asker;
  plan.note(`${service.store}: ${plan.robots} robots register …`);
  await register(ask, plan.robots);
  // So that the memory measured is that of the lists alone.
  await service.kill();
  await service.execute(INSTALL_ALL);
  await service.start();
  plan.note(`${service.store}: an organization of ${plan.robots} robots …`);
  samples.take();
  const end = await meter(service);
  const sinceMs = performance.now();
  let pages = 0;
  let megabytes = 0;
  for (let round = 0; round < plan.rounds; round += 1) {
    pages = await readPages(ask);
    await change(ask, round);
    megabytes = (await ask("whole list, after a change", get("/v1/robots"))).text.length / 1e6;
    await ask("whole list, again", get("/v1/robots"));
    await change(ask, round);
    await ask("robots offline, after a change", get("/v1/robots?status=offline"));
    await ask("page of robots online", get(`/v1/robots?status=online&limit=${PAGE}`));
    await ask("one robot by its name", get(`/v1/robots/large-${plan.robots - 1}`));
    await change(ask, round);
    await openConsole(ask, samples);
  }
  const seconds = (performance.now() - sinceMs) / 1000;
  const usage = await end();
  const { text } = await ask(null, get("/v1/robots"));
  const held = (JSON.parse(text) as readonly unknown[]).length;
  return {
    title: `${plan.robots} robots in one organization`,
    seconds,
    ...samples.take(),
    usage,
    lost: plan.robots - held,
    note: `${pages} pages; the whole list has ${megabytes.toFixed(1)} MB`,
  };
}

async function register(ask: Ask, count: number): Promise<void> {
  const keys: string[] = [];
  for (let made = 0; made * ROBOTS_OF_KEY < count; made += 1) {
    const created = await ask(null, { method: "POST", path: "/v1/me/api-keys", body: { label: `load ${made}` } });
    keys.push((JSON.parse(created.text) as { readonly api_key: string }).api_key);
  }
  const waiting = Array.from({ length: count }, (_, index) => index).values();
  const next = async () => {
    for (const index of waiting) {
      const { status, text } = await ask(null, setup(index, 0, keys[Math.floor(index / ROBOTS_OF_KEY)]));
      if (status !== 200) throw new Error(`Robot ${index} was not registered: ${status} ${text}`);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, next));
}

async function readPages(ask: Ask): Promise<number> {
  let pages = 0;
  for (let path: string | null = `/v1/robots?limit=${PAGE}`; path !== null; pages += 1) {
    path = (await ask(`page of ${PAGE}`, get(path))).next;
  }
  return pages;
}

/** Makes the service drop its cached lists. */
async function change(ask: Ask, round: number): Promise<void> {
  await ask("setup", setup(0, Date.now() + round));
}

async function openConsole(ask: Ask, samples: Samples): Promise<void> {
  const sinceMs = performance.now();
  await Promise.all(FIRST_SCREEN.map((path) => ask(null, get(path))));
  samples.answered("console, first screen", 200, performance.now() - sinceMs);
}

function get(path: string): Question {
  return { method: "GET", path };
}

function setup(index: number, version: number, key?: string): Question {
  const digest = (index * 1e13 + version).toString(16).padStart(64, "0");
  return {
    method: "POST",
    path: "/v1/robots/setup",
    body: {
      name: `large-${index}`,
      robot_type_id: "so101",
      region: "us-west-2",
      configuration_digest: `sha256:${digest}`,
      site: `plant-${index % 50}`,
      labels: { line: `${index % 20}` },
    },
    ...(key === undefined ? {} : { key }),
  };
}

function createAsker(service: LoadedService, samples: Samples): Disposable & { readonly ask: Ask } {
  const agent = new http.Agent({ keepAlive: true, maxSockets: AT_ONCE });
  let turn = 0;
  return {
    async ask(kind, { method, path, body, key = service.key }) {
      const url = new URL(path, service.urls[turn++ % service.urls.length]);
      const startedMs = performance.now();
      const json = body === undefined ? null : JSON.stringify(body);
      const { status, text, link } = await sendRequest(url, { agent, method, key, body: json });
      if (kind !== null) samples.answered(kind, status, performance.now() - startedMs);
      return { status, text, next: /<([^>]+)>; rel="next"/.exec(link)?.[1] ?? null };
    },
    [Symbol.dispose]: () => agent.destroy(),
  };
}
