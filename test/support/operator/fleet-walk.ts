/** The life of a fleet, step by step, on the real service with two small real inference servers. */
import { once } from "node:events";
import { createServer } from "node:http";

import * as z from "zod";

import { type FleetView, fleetViewSchema } from "../../../src/api/fleets.ts";
import type { StoreLocation } from "../../../src/service/kernel/store/store.ts";
import { PATIENCE_MS } from "../run/patience.ts";
import { keepPort } from "../service/keep-port.ts";
import { QUICK, startReplicas } from "../service/replicas.ts";

/** A step, and the fleet after it. */
export interface WalkStep {
  readonly title: string;
  readonly view: FleetView;
}

/** An inference server of one region, with a health URL for each model. */
interface InferenceServer extends AsyncDisposable {
  readonly url: string;
  /** From now on this model's health URL answers 200; before, 503. */
  load(model: string): void;
  /** The next probe of this model is answered by 503. */
  hiccup(model: string): void;
  /** Number of answered probes of this model. */
  probes(model: string): number;
  /** Stops listening, as after a power failure. */
  die(): Promise<void>;
  revive(): Promise<void>;
}

const EU = "eu-central-1";
const US = "us-west-2";
const ARM = "walk.arm.v1";
const LOOK_MS = 10;
const DIGEST = `sha256:${"0".repeat(64)}`;

/** @param store empty. */
export async function* walkFleet(store: StoreLocation): AsyncGenerator<WalkStep> {
  await using resources = new AsyncDisposableStack();
  const eu = resources.use(await startInferenceServer());
  const us = resources.use(await startInferenceServer());
  const options = { store, count: 1, organizations: 1, catalog: catalogOf(eu, us), readiness: QUICK };
  const { urls, keys } = resources.use(await startReplicas(options));
  const client = createClient(urls[0] ?? "", keys[0] ?? "");

  for (const [name, region] of Object.entries({ "arm-1": EU, "arm-2": EU, "arm-3": US })) {
    await client.register(name, region, ARM);
  }
  const fleet = await client.create({
    name: "pick and place",
    subject: "pi0.5",
    selection: { robots: ["arm-1", "arm-2", "arm-3"] },
    peak_active_robots: 3,
    readiness_mode: "always_ready",
  });
  yield { title: "created while both servers still load pi0.5", view: fleet };

  eu.load("pi0.5");
  const half = await client.until(fleet, ({ robots }) => robots.ready === 2);
  yield { title: `${EU} has it loaded, ${US} has not`, view: half };

  us.load("pi0.5");
  const ready = await client.until(fleet, ({ status }) => status === "ready");
  yield { title: "both have it loaded", view: ready };

  const probes = us.probes("pi0.5");
  us.hiccup("pi0.5");
  const statuses = new Set<string>();
  const after = await client.until(fleet, ({ status }) => {
    statuses.add(status);
    return us.probes("pi0.5") >= probes + 5;
  });
  if (statuses.size !== 1) throw new Error(`One lost probe made the fleet flap: ${[...statuses].join(", ")}`);
  yield { title: `one probe of ${US} was lost, four more were answered: nothing to see`, view: after };

  await us.die();
  const degraded = await client.until(fleet, ({ status }) => status === "degraded");
  yield { title: `${US} is dead`, view: degraded };

  await us.revive();
  const revived = await client.until(fleet, ({ status }) => status === "ready");
  yield { title: `${US} is back`, view: revived };

  const updating = await client.update(fleet, "pi1");
  yield { title: "update to pi1, which neither server has loaded", view: updating };

  const preparing = await client.until(fleet, ({ update }) => update?.status === "preparing");
  yield { title: "both were asked: pi0.5 serves on while pi1 is prepared", view: preparing };

  eu.load("pi1");
  us.load("pi1");
  const updated = await client.until(fleet, ({ update }) => update === null);
  yield { title: "both have pi1 loaded: the new generation is active", view: updated };

  await client.register("arm-3", US, "walk.wheelbarrow.v1");
  const incompatible = await client.until(fleet, ({ status }) => status === "degraded");
  yield { title: "arm-3 registered again, as a type that pi1 cannot drive", view: incompatible };

  await client.register("arm-1", EU, "walk.wheelbarrow.v1");
  await client.register("arm-2", "the-moon", ARM);
  const blocked = await client.until(fleet, ({ status }) => status === "blocked");
  yield { title: "arm-1 too, and arm-2 moved where pi1 has no endpoint", view: blocked };
}

function catalogOf(eu: InferenceServer, us: InferenceServer): string {
  const endpoint = (region: string, { url }: InferenceServer, slug: string) => ({
    region,
    url: `${url}/${slug}`,
    health_url: `${url}/${slug}/health`,
  });
  const model = (slug: string, checkpoint: string, requirements: Readonly<Record<string, unknown>>) => ({
    slug,
    checkpoints: [
      {
        id: checkpoint,
        created_at: "2026-01-01T00:00:00Z",
        requirements,
        endpoints: [endpoint(EU, eu, slug), endpoint(US, us, slug)],
      },
    ],
  });
  return JSON.stringify({
    models: [model("pi0.5", "ckpt_pi05", {}), model("pi1", "ckpt_pi1", { robot_types: [ARM] })],
  });
}

async function startInferenceServer(): Promise<InferenceServer> {
  const loaded = new Set<string>();
  const hiccups = new Set<string>();
  const probes = new Map<string, number>();
  const server = createServer(({ url = "" }, response) => {
    const model = url.split("/")[1] ?? "";
    probes.set(model, (probes.get(model) ?? 0) + 1);
    const isLost = hiccups.delete(model);
    response.writeHead(loaded.has(model) && !isLost ? 200 : 503).end();
  });
  const listen = async (port: number) => {
    server.listen(port, "127.0.0.1");
    await once(server, "listening");
    const address = server.address();
    if (address === null || typeof address === "string") throw new Error("no port");
    return address.port;
  };
  let kept: Disposable | null = null;
  const close = async () => {
    const closed = once(server, "close");
    server.close();
    server.closeAllConnections();
    await closed;
  };
  const port = await listen(0);
  return {
    url: `http://127.0.0.1:${port}`,
    load: (model) => void loaded.add(model),
    hiccup: (model) => void hiccups.add(model),
    probes: (model) => probes.get(model) ?? 0,
    async die() {
      kept = await keepPort(port, close);
    },
    async revive() {
      await listen(port);
      kept?.[Symbol.dispose]();
      kept = null;
    },
    async [Symbol.asyncDispose]() {
      kept?.[Symbol.dispose]();
      if (server.listening) await close();
    },
  };
}

function createClient(url: string, key: string) {
  async function send(method: string, path: string, body?: unknown): Promise<unknown> {
    const response = await fetch(url + path, {
      method,
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const answer: unknown = await response.json();
    if (!response.ok) throw new Error(`${method} ${path} → ${response.status} ${JSON.stringify(answer)}`);
    return answer;
  }
  const view = async (answer: Promise<unknown>) => z.strictObject(fleetViewSchema.shape).parse(await answer);
  return {
    register: (name: string, region: string, robotTypeId: string) =>
      send("POST", "/v1/robots/setup", { name, region, robot_type_id: robotTypeId, configuration_digest: DIGEST }),
    create: (fleet: unknown) => view(send("POST", "/v1/fleets", fleet)),
    update: ({ id }: FleetView, subject: string) => view(send("POST", `/v1/fleets/${id}/model`, { subject })),
    /** Polls until the fleet meets the condition. */
    async until({ id }: FleetView, isAwaited: (fleet: FleetView) => boolean): Promise<FleetView> {
      const deadlineMs = performance.now() + PATIENCE_MS;
      for (;;) {
        const fleet = await view(send("GET", `/v1/fleets/${id}`));
        if (isAwaited(fleet)) return fleet;
        if (performance.now() > deadlineMs)
          throw new Error(`The fleet did not reach the expected state: ${JSON.stringify(fleet)}`);
        await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
      }
    },
  };
}
