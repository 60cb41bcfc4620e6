/** Checkpoints that say what they were trained on: what is refused, what is said, and how the catalog finds the registrations. */
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";

import { expect, it, onTestFinished } from "vitest";
import * as z from "zod";

import type { RobotContract } from "../../../../src/api/contract.ts";
import { deploymentViewSchema } from "../../../../src/api/deployments.ts";
import { fleetDetailsSchema, fleetPreviewedSchema } from "../../../../src/api/fleet-details.ts";
import { fleetViewSchema } from "../../../../src/api/fleets.ts";
import { systemFiles } from "../../../../src/platform/files/files.ts";
import { applyCatalogFile } from "../../../../src/service/models/apply.ts";
import { readCatalogFile } from "../../../../src/service/models/catalog.ts";
import { NO_REQUIREMENTS, printRequirements } from "../../../../src/service/models/requirements.ts";
import { listModels } from "../../../../src/service/models/operations.ts";
import { putRegistrationParts } from "../../../../src/service/robots/parts.ts";
import { setupRobot } from "../../../../src/service/robots/setup.ts";
import { testFolder } from "../../../support/folder.ts";
import { PATIENCE_MS } from "../../../support/run/patience.ts";
import {
  calibration,
  camera,
  contractOfSo101,
  digestOf,
  type Entry,
  file,
  register,
  setUp,
  tell,
} from "../../../support/service/registered-parts.ts";
import { QUICK } from "../../../support/service/replicas.ts";
import type { RunningService } from "../../../support/service/service.ts";
import { openServiceParts, PRINCIPAL } from "../../../support/service/service-parts.ts";
import { describeOnEachStore, type NewStore } from "../../../support/service/stores.ts";
import { testService } from "../../../support/service/test-service.ts";

const SOON = { timeout: PATIENCE_MS, interval: 20 } as const;
const ENTRIES = [file("right arm", calibration(1024)), camera("top camera", "4F3A"), camera("wrist camera", "58FA")];
/** Of another robot. */
const CAMERAS = [camera("top camera", "1"), camera("wrist camera", "2")];
const ON_CELL_4 = `m was trained on cell-4 (${digestOf(ENTRIES).slice(0, 15)}…), `;

/** A server that is healthy. */
async function healthyServer(): Promise<string> {
  const server = createServer((_request, response) => response.end());
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function catalogOf(url: string, trainedOn: object | null): string {
  const endpoints = [{ region: "us-west-2", url }];
  const trained = trainedOn === null ? {} : { trained_on: trainedOn };
  const checkpoint = { id: "ckpt_m", created_at: "2026-01-01", endpoints, ...trained };
  return JSON.stringify({ models: [{ slug: "m", checkpoints: [checkpoint] }] });
}

interface Site {
  readonly service: RunningService;
  readonly contract: RobotContract;
  /** Applies the catalog with this. */
  train(trainedOn: object): Promise<void>;
  /** Registers the contract of cell-4, or another one. */
  add(name: string, entries?: readonly Entry[], contract?: RobotContract): Promise<void>;
}

/** A site with the robots cell-4 and cell-7, and a model that was trained on cell-4. */
async function openSite(newStore: NewStore, more: object = {}): Promise<Site> {
  const modelsFile = join(testFolder("trained-on"), "models.yaml");
  const url = await healthyServer();
  await writeFile(modelsFile, catalogOf(url, null));
  const service = await testService({ store: await newStore(), configuration: { modelsFile, readiness: QUICK } });
  const contract = await contractOfSo101();
  const site: Site = {
    service,
    contract,
    async train(trainedOn) {
      await writeFile(modelsFile, catalogOf(url, trainedOn));
      await service.reload();
      expect(service.log()).not.toContain("models_refused");
    },
    async add(name, entries = ENTRIES, of = contract) {
      await register(service, name, entries, { robot_type_id: of.robot_type_id, contract: of });
    },
  };
  await site.add("cell-4");
  await site.add("cell-7", [file("right arm", calibration(7)), ...CAMERAS]);
  await site.train({ robots: [{ robot: "cell-4", digest: digestOf(ENTRIES) }], ...more });
  return site;
}

async function createFleet({ send }: RunningService, robots: readonly string[]): Promise<string> {
  const answer = await send("POST", "/v1/fleets", {
    name: "packing",
    subject: "m",
    selection: { robots },
    peak_active_robots: robots.length,
    readiness_mode: "always_ready",
  });
  return fleetViewSchema.parse(await answer.json()).id;
}

async function fleetStatus({ send }: RunningService, id: string): Promise<string> {
  return fleetViewSchema.parse(await (await send("GET", `/v1/fleets/${id}`)).json()).status;
}

async function detailsOf({ send }: RunningService, id: string) {
  return fleetDetailsSchema.parse(await (await send("GET", `/v1/fleets/${id}/details`)).json());
}

async function deploy({ send }: RunningService, robot: string): Promise<Response> {
  return send("POST", "/v1/me/deployments", { model: "m", robot });
}

/** What the preview of a fleet says of a robot. */
async function previewOf({ send }: RunningService, robot: string) {
  const answer = await send("POST", "/v1/fleets/preview", { robots: [robot], subject: "m" });
  const [previewed] = fleetPreviewedSchema.parse(await answer.json()).robots;
  return { fits: previewed?.fits, reason: previewed?.reason, warnings: previewed?.warnings };
}

const percent = (scale: number, offset: number) => ({ unit: "percent", scale, offset }) as const;

function withGripper(contract: RobotContract, change: object): RobotContract {
  const changed = contract.action_axes.map((axis) =>
    axis.name.startsWith("gripper.") ? Object.assign({}, axis, change) : axis,
  );
  return { ...contract, action_axes: changed };
}

const flipped = (contract: RobotContract) => withGripper(contract, { native: percent(-0.01, 1) });
const FLIPPED =
  "where the action axis gripper.gripper.position grows the other way, by 0.01 × percent; the robot's manifest says -0.01 × percent + 1";
const OFFSET = "and right arm changed since then: shoulder_pan.homing_offset 1024 → 1218 (+194, 17.1°)";
const MOVED = [file("right arm", calibration(1218)), ...ENTRIES.slice(1)];

describeOnEachStore("a model that was trained on a robot", (newStore) => {
  it("robots as that one, and itself → fit without a word", async () => {
    const { service } = await openSite(newStore);
    for (const robot of ["cell-4", "cell-7"]) {
      const answer = await deploy(service, robot);
      expect(answer.status).toBe(200);
      expect(await answer.json()).not.toHaveProperty("warnings");
    }
    const fleet = await createFleet(service, ["cell-4", "cell-7"]);
    await expect.poll(() => fleetStatus(service, fleet), SOON).toBe("ready");
    const { members } = await detailsOf(service, fleet);
    expect(members.map(({ warnings }) => warnings)).toEqual([undefined, undefined]);
    const { models } = z
      .object({ models: z.array(z.object({ checkpoints: z.array(z.looseObject({ requirements: z.unknown() })) })) })
      .parse(await (await service.send("GET", "/v1/models")).json());
    expect(models[0]?.checkpoints[0]?.requirements).toMatchObject({
      trained_on: { references: [ON_CELL_4.slice("m was trained on ".length, -2)] },
    });
  });

  it("a joint's offset moved by 17° → said by file and key, in previews, fleets and deployments", async () => {
    const { service, add } = await openSite(newStore);
    const deployed = await deploy(service, "cell-4");
    const { id } = deploymentViewSchema.parse(await deployed.json());
    const fleet = await createFleet(service, ["cell-4", "cell-7"]);
    await add("cell-4", MOVED);
    const warnings = [`${ON_CELL_4}${OFFSET}.`];
    expect(await previewOf(service, "cell-4")).toMatchObject({ fits: true, warnings });
    const { members } = await detailsOf(service, fleet);
    expect(members.map((member) => member.warnings)).toEqual([warnings, undefined]);
    for (const path of [`/v1/deployments/${id}`, `/v1/me/deployments/${id}`]) {
      expect(await (await service.send("GET", path)).json()).toMatchObject({ warnings });
    }
    expect(await (await service.send("GET", "/v1/me/deployments")).json()).toMatchObject({ items: [{ warnings }] });
    await expect.poll(() => fleetStatus(service, fleet), SOON).toBe("ready");
    await add("cell-4");
    expect((await previewOf(service, "cell-4")).warnings).toBeUndefined();
  });

  it("the same, where files are required → the robot drifts: its fleet is degraded, its deployment fails, both with the sentence", async () => {
    const { service, add } = await openSite(newStore, { require: ["files"] });
    const { id } = deploymentViewSchema.parse(await (await deploy(service, "cell-4")).json());
    const fleet = await createFleet(service, ["cell-4", "cell-7"]);
    await expect.poll(() => fleetStatus(service, fleet), SOON).toBe("ready");
    await add("cell-4", MOVED);
    await expect.poll(() => fleetStatus(service, fleet), SOON).toBe("degraded");
    const { members, needs } = await detailsOf(service, fleet);
    expect(members.map(({ state, reason }) => [state, reason])).toEqual([
      ["blocked", `${ON_CELL_4}${OFFSET}.`],
      ["ready", null],
    ]);
    expect(needs[0]?.reason).toContain(OFFSET);
    const failed = { status: "failed", last_error_code: "robot_incompatible", warnings: [`${ON_CELL_4}${OFFSET}.`] };
    const view = async () => (await service.send("GET", `/v1/deployments/${id}`)).json();
    await expect.poll(view, SOON).toMatchObject(failed);
    await add("cell-4");
    await expect.poll(() => fleetStatus(service, fleet), SOON).toBe("ready");
    await expect.poll(view, SOON).toMatchObject({ status: "active" });
  });

  it("a robot that drifted before the catalog names it → said as soon as it does", async () => {
    const { service, add, train } = await openSite(newStore);
    const then = [file("right arm", calibration(7)), ...CAMERAS];
    await add("cell-7", [file("right arm", calibration(8)), ...CAMERAS]);
    await train({ robots: [{ robot: "cell-7", digest: digestOf(then) }] });
    expect((await previewOf(service, "cell-7")).warnings).toEqual([
      expect.stringContaining("and right arm changed since then: shoulder_pan.homing_offset 7 → 8 (+1, 0.1°)"),
    ]);
  });

  it("two cameras exchanged → said by label", async () => {
    const { service, add } = await openSite(newStore);
    await add("cell-4", [ENTRIES[0] ?? file("", ""), camera("top camera", "58FA"), camera("wrist camera", "4F3A")]);
    expect((await previewOf(service, "cell-4")).warnings).toEqual([
      `${ON_CELL_4}and top camera changed since then: serial "4F3A" → "58FA".`,
      `${ON_CELL_4}and wrist camera changed since then: serial "58FA" → "4F3A".`,
    ]);
  });

  it("a gripper's direction flipped → refused; where the catalog has it said → said", async () => {
    const { service, contract, add, train } = await openSite(newStore);
    await add("cell-8", CAMERAS, flipped(contract));
    const refused = await deploy(service, "cell-8");
    expect(refused.status).toBe(422);
    expect(await refused.text()).toContain(JSON.stringify(FLIPPED).slice(1, -1));
    const reason = `${ON_CELL_4}${FLIPPED}.`;
    expect(await previewOf(service, "cell-8")).toEqual({ fits: false, reason, warnings: undefined });
    await train({ robots: [{ robot: "cell-4", digest: digestOf(ENTRIES) }], warn: ["signs"] });
    expect(await previewOf(service, "cell-8")).toMatchObject({ fits: true, warnings: [reason] });
  });

  it("units of another version of LeRobot → refused, in an update of a fleet's model as well", async () => {
    const { service, contract, add } = await openSite(newStore);
    const axes = contract.action_axes.map((axis) =>
      axis.unit === "rad" ? { ...axis, native: { unit: "normalized" as const, scale: 0.0209, offset: 0 } } : axis,
    );
    await add("cell-8", CAMERAS, { ...contract, action_axes: axes });
    const { fits, reason } = await previewOf(service, "cell-8");
    expect(fits).toBe(false);
    expect(reason).toBe(
      `${ON_CELL_4}where the action axis arm.shoulder_pan.position is 0.0174532925199 × deg; the robot's manifest says 0.0209 × normalized (and 4 more differences).`,
    );
    const fleet = await createFleet(service, ["cell-8"]);
    const blocked = fleetViewSchema.parse(await (await service.send("GET", `/v1/fleets/${fleet}`)).json());
    expect([blocked.status, blocked.blocker]).toEqual(["blocked", expect.stringContaining("0.0209 × normalized")]);
  });

  it("its registration is gone from the history → the catalog still applies, also after a restart", async () => {
    const { service, add, train } = await openSite(newStore);
    for (let offset = 0; offset < 110; offset += 1) await setUp(service, "cell-4", [file("a", `${offset}`)]);
    const history = await (await service.send("GET", "/v1/robots/cell-4/history")).text();
    expect(history).not.toContain(digestOf(ENTRIES));
    await train({ robots: [{ robot: "cell-4", digest: digestOf(ENTRIES) }], warn: ["files"] });
    await add("cell-4", MOVED);
    expect((await previewOf(service, "cell-4")).warnings).toEqual([`${ON_CELL_4}${OFFSET}.`]);
  });

  it("a file whose content comes later → by its hash, then by key", async () => {
    const { service, contract } = await openSite(newStore);
    await setUp(service, "cell-4", MOVED, { robot_type_id: contract.robot_type_id, contract });
    const parts = MOVED.map(({ part }) => part);
    await service.send("PUT", "/v1/robots/cell-4/registration/parts", { configuration_digest: digestOf(MOVED), parts });
    const hashes = [ENTRIES, MOVED].map(([arm]) => arm?.part.sha256.slice(0, 8)).join("… → ");
    const byHash = [`${ON_CELL_4}and right arm changed since then: SHA-256 ${hashes}….`];
    expect((await previewOf(service, "cell-4")).warnings).toEqual(byHash);
    await tell(service, "cell-4", MOVED);
    expect((await previewOf(service, "cell-4")).warnings).toEqual([`${ON_CELL_4}${OFFSET}.`]);
  });

  it("setups that change nothing, or only a label → judged as before", async () => {
    const { service, contract } = await openSite(newStore, { require: ["files", "devices"] });
    const of = { robot_type_id: contract.robot_type_id, contract };
    await register(service, "cell-4", MOVED, of);
    const reason = `${ON_CELL_4}${OFFSET}.`;
    expect(await previewOf(service, "cell-4")).toMatchObject({ fits: false, reason });
    await setUp(service, "cell-4", MOVED, of);
    await setUp(service, "cell-4", MOVED, { ...of, labels: { line: "b" } });
    expect(await previewOf(service, "cell-4")).toMatchObject({ fits: false, reason });
    // Until the robot says which files it has, nothing is known of them.
    await setUp(service, "cell-4", [file("right arm", calibration(3))], of);
    expect(await previewOf(service, "cell-4")).toMatchObject({ fits: true });
  });
});

describeOnEachStore("what a catalog says of training", (newStore) => {
  /** Robots of two organizations, and a function that applies a catalog: what is wrong with it, or how it changes. */
  async function open() {
    const parts = await openServiceParts(await newStore());
    onTestFinished(() => parts[Symbol.asyncDispose]());
    const folder = testFolder("trained-on");
    const setUpAs = setupRobot(parts.context, parts.quota);
    return {
      ...parts,
      folder,
      registerAs: (organizationId: string, name: string, digest: string) => {
        const body = {
          name,
          robot_type_id: "yam.bimanual-joint-position.v1",
          region: "here",
          configuration_digest: digest.length === 1 ? digestWith(digest) : digest,
        };
        return setUpAs(parts.call({ body, query: null, principal: { ...PRINCIPAL, organizationId } }));
      },
      async apply(trainedOn: string) {
        const path = join(folder, "models.yaml");
        const checkpoint = `{id: ckpt_m, created_at: 2026-01-01, endpoints: [], trained_on:\n  ${trainedOn}}`;
        await writeFile(path, `models: [{slug: m, checkpoints: [${checkpoint}]}]\n`);
        const reading = await readCatalogFile(systemFiles, path);
        const outcome = reading.state === "refused" ? reading : await applyCatalogFile(parts.context, reading.file);
        if (outcome.state === "planned") return outcome.changes.map(({ change, kind }) => `${change} ${kind}`);
        return outcome.findings.map(
          ({ line, column, id, message }) => `${line}:${column} ${id}: ${message.replaceAll(folder, "FOLDER")}`,
        );
      },
    };
  }

  const digestWith = (digit: string) => `sha256:${digit.repeat(64)}`;
  const robot = (name: string, digit: string) => `{robots: [{robot: ${name}, digest: "${digestWith(digit)}"}]}`;

  it("robots of any organization, by name or id; a repeated catalog changes nothing", async () => {
    const { registerAs, apply, store } = await open();
    await registerAs("org_1", "cell-1", "1");
    await registerAs("org_2", "cell-2", "2");
    await registerAs("org_1", "cell-3", "3");
    await registerAs("org_2", "cell-3", "4");
    expect(await apply(robot("cell-1", "1"))).toEqual(["added model", "added checkpoint"]);
    expect(await apply(robot("cell-1", "1"))).toEqual([]);
    expect(await apply(robot("cell-2", "2"))).toEqual(["changed checkpoint"]);
    // The digest tells them apart.
    expect(await apply(robot("cell-3", "4"))).toEqual(["changed checkpoint"]);
    const [model] = await listModels(store.reader);
    const [reference] = model?.checkpoints[0]?.requirements.trained_on?.references ?? [];
    expect(reference).toMatchObject({ name: "cell-3", robot_id: expect.stringMatching(/^rob_/) });
    expect(reference?.equipment.state_axes).toHaveLength(14);
    expect(await apply(robot(reference?.robot_id ?? "", "4"))).toEqual(["changed checkpoint"]);
  });

  it("what cannot be found → where, why, and what to do; the store stays as it is", async () => {
    const { registerAs, apply, store } = await open();
    await registerAs("org_1", "cell-1", "1");
    await registerAs("org_2", "cell-1", "1");
    await registerAs("org_2", "cell-2", "2");
    expect(await apply(robot("cell-9", "1"))).toEqual([
      "2:21 unknown_robot: no robot is called cell-9, or has this id; robot-policy robots list shows both",
    ]);
    expect(await apply(robot("cell-2", "1"))).toEqual([
      "2:37 unknown_registration: no registration of cell-2 with this digest is kept; robot-policy robots history cell-2 lists those that are",
    ]);
    expect(await apply(robot("cell-1", "1"))).toEqual([
      expect.stringMatching(
        /^2:21 ambiguous_robot: robots of several organizations are called cell-1 and have this digest; write the id: rob_\w+, rob_\w+$/,
      ),
    ]);
    expect(await listModels(store.reader)).toEqual([]);
  });

  it("once applied, a name that became ambiguous → as it was", async () => {
    const { registerAs, apply, store } = await open();
    await registerAs("org_1", "cell-1", "1");
    await apply(robot("cell-1", "1"));
    await registerAs("org_2", "cell-1", "1");
    expect(await apply(robot("cell-1", "1"))).toEqual([]);
    await store.write((transaction) => transaction.updateTable("robots").set({ removed_at: "2026" }).execute());
    expect(await apply(robot("cell-1", "1"))).toEqual([]);
  });

  it("parts that change what a robot is judged by → tasks are woken, once", async () => {
    const { registerAs, context, call, nudges } = await open();
    const { part } = camera("top camera", "4F3A");
    await registerAs("org_1", "cell-1", digestOf([{ part, text: "" }]));
    const body = { configuration_digest: digestOf([{ part, text: "" }]), parts: [part] };
    const put = () => putRegistrationParts(context)(call({ body, query: null, path: { robot: "cell-1" } }));
    const before = nudges();
    expect(await put()).toMatchObject({ status: 200 });
    await put();
    expect(nudges() - before).toBe(1);
  });

  it("a contract that an earlier release did not keep → that of the robot while it is the same", async () => {
    const { register: add, apply, store } = await open();
    const contract = await contractOfSo101();
    const body = { robot_type_id: contract.robot_type_id, contract, configuration_digest: digestWith("1") };
    await add("cell-1", body);
    await store.write((transaction) => transaction.deleteFrom("contents").execute());
    expect(await apply(robot("cell-1", "1"))).toEqual(["added model", "added checkpoint"]);
    await add("cell-1", {
      ...body,
      contract: { ...contract, control_rate_hz: 50 },
      configuration_digest: digestWith("2"),
    });
    expect(await apply(robot("cell-1", "1"))).toEqual([]);
    await store.write((transaction) =>
      transaction
        .updateTable("checkpoints")
        .set({ requirements: printRequirements(NO_REQUIREMENTS) })
        .execute(),
    );
    expect(await apply(robot("cell-1", "1"))).toEqual([
      expect.stringMatching(/^2:37 unknown_registration: the contract of/),
    ]);
  });

  it("contracts in files, as the agent prints them or bare; types → compared", async () => {
    const { folder, apply, store } = await open();
    const contract = await contractOfSo101();
    await writeFile(join(folder, "printed.json"), JSON.stringify({ findings: [], contract }));
    await writeFile(join(folder, "bare.json"), JSON.stringify(contract));
    await apply(
      "{contracts: [printed.json, bare.json], types: [yam.bimanual-joint-position.v1], tolerances: {rad: 0.05}}",
    );
    const [model] = await listModels(store.reader);
    const training = model?.checkpoints[0]?.requirements.trained_on;
    expect(training).toMatchObject({
      tolerances: { rad: 0.05 },
      references: [{ kind: "contract" }, { name: "bare.json" }, { kind: "type" }],
    });
    expect(training?.references[0]?.equipment).toEqual(training?.references[1]?.equipment);
  });

  it("a contract that is missing or none → where, why, and what to do", async () => {
    const { folder, apply } = await open();
    await writeFile(
      join(folder, "other.json"),
      JSON.stringify({ contract: { ...(await contractOfSo101()), topology: "x" } }),
    );
    const advice = "write it on the robot: robot-policy-agent contract --json > FILE";
    expect(await apply("{contracts: [none.json, other.json]}")).toEqual([
      `2:16 contract_unreadable: FOLDER/none.json: there is no such file; ${advice}`,
      `2:27 contract_unreadable: FOLDER/other.json: not a contract, see topology; ${advice}`,
    ]);
  });
});
