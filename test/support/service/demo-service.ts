/** A service with the data of a lab after a year, created through its API: a thousand robots, fleets in every state, keys, deployments. */
import { hash } from "node:crypto";
import { readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import type { FleetView } from "../../../src/api/fleets.ts";
import { BUILT_CONSOLE } from "../programs/programs-built.ts";
import { PATIENCE_MS } from "../run/patience.ts";
import { type InferenceServers, startInferenceServers } from "./demo-catalog.ts";
import { type RunningService, startService } from "./service.ts";

export interface DemoOptions {
  readonly robots: number;
  readonly fleets: number;
  /** Include the robots that the examples of src/operator/README.md name. */
  readonly examples?: true;
  readonly port?: number;
  /** Folder of another console build than the tests' one. */
  readonly consoleFolder?: string;
}

export interface DemoService extends AsyncDisposable {
  readonly service: RunningService;
  readonly servers: InferenceServers;
}

const HOUR_MS = 3_600_000;
/** Concurrent requests. */
const LANES = 16;

/** One site for every eight robots, in turn; some occur more often. */
const SITES = [
  "hall-1",
  "hall-2",
  "hall-1",
  "hall-3",
  "hall-1",
  "lab north",
  "hall-2",
  "lab south",
  "hall-1",
  "Werk Süd",
];
const REGIONS: Readonly<Record<string, string>> = {
  "lab north": "us-west-2",
  "lab south": "us-west-2",
  "Werk Süd": "ap-northeast-1",
};
const TYPES = [
  "yam.bimanual-joint-position.v1",
  "lerobot.so101-follower.v1",
  "droid.franka-panda.v1",
  "trossen.aloha-bimanual.v1",
  "acme.so101-cell.v1",
];
const KINDS = ["yam", "so", "panda", "aloha", "cell"];

/** Line 4 of plant-1, where the operator of src/operator/README.md works. */
const EXAMPLES = ["cell-1", "cell-2", "cell-3", "cell-4"].map((name) => ({
  name,
  robot_type_id: "lerobot.so101-follower.v1",
  region: "eu-central-1",
  site: "plant-1",
  configuration_digest: digestOf(name),
  labels: { line: "4" },
}));

/** A contract in the form that robots of a custom type send. */
const CONTRACT: unknown = JSON.parse(
  readFileSync(join(import.meta.dirname, "../../golden/robot-manifest/examples/so101.contract.json"), "utf8"),
);

export async function startDemo(options: DemoOptions): Promise<DemoService> {
  await using stack = new AsyncDisposableStack();
  const servers = stack.use(await startInferenceServers());
  const folder = await mkdtemp(join(tmpdir(), "robot-policy-demo-"));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const modelsFile = join(folder, "models.yaml");
  await writeFile(modelsFile, servers.catalog);
  const service = stack.use(
    await startService({
      ...(options.port === undefined ? {} : { port: options.port }),
      configuration: {
        modelsFile,
        rateLimit: null,
        consoleFolder: options.consoleFolder ?? BUILT_CONSOLE,
        readiness: { expectedMs: 1000, idleMs: 5000, repeatMs: 200, tickMs: 250 },
      },
    }),
  );
  await fill(service, options);
  if (options.fleets > 0) {
    await until(service, (fleets) => fleets.some(({ status }) => status === "ready"));
    servers.wearOut();
    await until(service, (fleets) => fleets.some(({ status }) => status === "degraded"));
  }
  const owned = stack.move();
  return { service, servers, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

async function fill(service: RunningService, { robots, fleets, examples }: DemoOptions): Promise<void> {
  const names = Array.from({ length: robots }, (_, index) => robotOf(index));
  await inLanes(names, (robot) => accept(service, "POST", "/v1/robots/setup", robot));
  // Some were calibrated again since.
  await inLanes(
    names.filter((_, index) => index % 37 === 0),
    (robot) =>
      accept(service, "POST", "/v1/robots/setup", { ...robot, configuration_digest: digestOf(`${robot.name} again`) }),
  );
  if (examples === true) for (const robot of EXAMPLES) await accept(service, "POST", "/v1/robots/setup", robot);
  for (let index = 0; index < fleets; index += 1) {
    await accept(service, "POST", "/v1/fleets", fleetOf(index, robots));
  }
  const keys = ["line a, robots", "line b, robots", "CI of the policy team", "Zoë's notebook", "hall-3 cell"];
  if (fleets > 0) for (const label of keys) await accept(service, "POST", "/v1/me/api-keys", { label });
  const deployed = fleets === 0 ? [] : names.filter((_, index) => index % 11 === 0);
  await inLanes(deployed, ({ name }) => accept(service, "POST", "/v1/me/deployments", { model: "pi0.5", robot: name }));
  if (fleets > 2) await updateSome(service);
}

function robotOf(index: number) {
  const kind = (index * 7 + Math.floor(index / 5)) % TYPES.length;
  const robotTypeId = TYPES[kind]!;
  const site = SITES[Math.floor(index / 8) % SITES.length]!;
  const name = `${KINDS[kind]}-${String(index + 1).padStart(4, "0")}`;
  return {
    name,
    robot_type_id: robotTypeId,
    region: REGIONS[site] ?? "eu-central-1",
    site: index % 50 === 49 ? null : site,
    configuration_digest: digestOf(name),
    labels: {
      line: "abcdef".charAt(index % 6),
      ...(index % 3 === 0 ? { shift: index % 2 === 0 ? "day" : "night" } : {}),
      ...(index % 10 === 0 ? { owner: "perception" } : {}),
    },
    contract: robotTypeId.startsWith("acme.") ? CONTRACT : null,
  };
}

/** By index: cells with listed robots, scheduled fleets, and fleets by selector for several models. */
function fleetOf(index: number, robots: number) {
  const number = String(index + 1).padStart(2, "0");
  const nowMs = Date.now();
  if (index % 10 === 3) {
    const windows = Array.from({ length: 5 }, (_, day) => ({
      starts_at: new Date(nowMs + (day * 24 - 2) * HOUR_MS).toISOString(),
      ends_at: new Date(nowMs + (day * 24 + 6) * HOUR_MS).toISOString(),
    }));
    return {
      name: `Night shift ${number}`,
      subject: "pi0.5",
      selection: { selector: { robot_type_id: TYPES[0] } },
      peak_active_robots: 2,
      readiness_mode: "scheduled",
      operating_windows: index % 20 === 3 ? windows : windows.slice(1),
    };
  }
  if (index % 10 === 6) return fleetBy(`Aloha cells ${number}`, "smolvla", { robot_type_id: TYPES[3] });
  if (index % 10 === 5) return fleetBy(`Franka bench ${number}`, "ckpt_pi05_droid", { region: "eu-central-1" });
  if (index % 10 === 8)
    return fleetBy(`Bin picking ${number}`, "diffusion-pick", { site: SITES[index % SITES.length] });
  if (index % 10 === 9)
    return fleetBy(`Packing ${number}`, "act-aloha", { robot_type_id: TYPES[3], region: "eu-central-1" });
  const members = Array.from({ length: Math.min(12, robots) }, (_, at) => robotOf((index * 13 + at) % robots).name);
  return {
    name: `Cell ${number}`,
    subject: "pi0.5",
    selection: { robots: [...new Set(members)] },
    peak_active_robots: 4,
    readiness_mode: index % 4 === 0 ? "on_demand" : "always_ready",
  };
}

function fleetBy(name: string, subject: string, selector: Readonly<Record<string, unknown>>) {
  return { name, subject, selection: { selector }, peak_active_robots: 1, readiness_mode: "always_ready" };
}

/** Two fleets are moving to another model: one can complete, one cannot. */
async function updateSome(service: RunningService): Promise<void> {
  const fleets = (await (await service.send("GET", "/v1/fleets")).json()) as FleetView[];
  const cells = fleets.filter(({ name }) => name.startsWith("Cell"));
  for (const [index, subject] of ["diffusion-pick", "smolvla"].entries()) {
    const fleet = cells[index];
    if (fleet !== undefined) await accept(service, "POST", `/v1/fleets/${fleet.id}/model`, { subject });
  }
}

function digestOf(text: string): string {
  return `sha256:${hash("sha256", text)}`;
}

async function inLanes<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const rest = [...items];
  const lane = async () => {
    for (let item = rest.shift(); item !== undefined; item = rest.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: LANES }, lane));
}

async function accept(service: RunningService, method: string, path: string, body: unknown): Promise<void> {
  const answer = await service.send(method, path, body);
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${method} ${path} ${JSON.stringify(body)}: ${answer.status} ${text}`);
}

async function until(service: RunningService, holds: (fleets: readonly FleetView[]) => boolean): Promise<void> {
  const endMs = Date.now() + PATIENCE_MS;
  while (Date.now() < endMs) {
    if (holds((await (await service.send("GET", "/v1/fleets")).json()) as FleetView[])) return;
    await sleep(100);
  }
  throw new Error("the demonstration's fleets do not reach their expected states");
}
