import { rm } from "node:fs/promises";

import type { RobotSetup } from "../../../src/api/robots.ts";
import { IDENTITY_SETTINGS, type IdentitySettings, type Liveness } from "../../../src/service/identity/index.ts";
import { createLiveness } from "../../../src/service/identity/presence.ts";
import type { Principal } from "../../../src/service/kernel/auth/authenticate.ts";
import type { AnyAnswer } from "../../../src/service/kernel/http/answers.ts";
import { createIds } from "../../../src/service/kernel/ids.ts";
import type { Call, OperationContext } from "../../../src/service/kernel/operation.ts";
import { openStore } from "../../../src/service/kernel/store/open-store.ts";
import type { Store, StoreLocation } from "../../../src/service/kernel/store/store.ts";
import type { Tables } from "../../../src/service/kernel/store/tables.ts";
import { SERVICE_LIMITS } from "../../../src/service/limits.ts";
import { NO_REQUIREMENTS, printRequirements, type Requirements } from "../../../src/service/models/requirements.ts";
import { RobotQuota } from "../../../src/service/robots/quota.ts";
import { setupRobot } from "../../../src/service/robots/setup.ts";
import { testMachine } from "../robot/machine.ts";
import { endpointRow, insertModel } from "./rows.ts";
import { newSqliteFolder } from "./sqlite-folder.ts";

/** Start time of every scene's clock. */
export const BEGIN_MS = Date.parse("2026-06-01T12:00:00.000Z");

/** Default caller of operations. */
export const PRINCIPAL: Principal = {
  organizationId: "org_1",
  credential: "api_key",
  credentialId: "key_1",
  keyId: "key_1",
  scopes: null,
  expiresAt: null,
  robot: null,
};

/** The parts of a service without its network and tasks: a store with two organizations, and a clock that the test sets. */
export interface ServiceParts extends AsyncDisposable {
  readonly context: OperationContext & {
    readonly liveness: Liveness;
    readonly identity: IdentitySettings;
  };
  readonly store: Store;
  readonly quota: RobotQuota;
  /** Current time of the clock, or that much later, in ISO 8601. */
  at(laterMs?: number): string;
  /** Advances the clock. */
  pass(durationMs: number): void;
  /** How often the tasks were woken. */
  nudges(): number;
  /** The request context of an operation. */
  call<Body, Query = null>(
    parts: Pick<Call<Body, Query>, "body" | "query"> & Partial<Call<Body, Query>>,
  ): Call<Body, Query>;
  /** Registers a robot of type `arm` in the region `here`, as its agent does. */
  register(name: string, parts?: Partial<RobotSetup>): Promise<AnyAnswer>;
  /** Adds a model with checkpoint `ckpt_<slug>` and one healthy endpoint in the region `here`, whose next probe is due in five minutes. */
  addModel(slug: string, endpoint?: Partial<Tables["endpoints"]>): Promise<void>;
  /** The catalog's requirements for robots of the model. */
  require(slug: string, requirements: Partial<Requirements>): Promise<void>;
}

/** @param location of an empty store; defaults to SQLite in a new folder. */
export async function openServiceParts(location?: StoreLocation): Promise<ServiceParts> {
  const resources = new AsyncDisposableStack();
  const dataDirectory = await newSqliteFolder("parts-");
  resources.defer(() => rm(dataDirectory, { recursive: true, force: true }));
  let passedMs = 0;
  let nudges = 0;
  const clock = { ...testMachine.clock, wallMs: () => BEGIN_MS + passedMs, monotonicMs: () => passedMs };
  const machine = { ...testMachine, clock };
  const store = resources.use(await openStore(location ?? { kind: "sqlite", dataDirectory }, testMachine));
  const context: ServiceParts["context"] = {
    store,
    newId: createIds(clock, machine.random),
    machine,
    lastUsed: { note() {}, notedAt: () => null },
    limitMet() {},
    nudge: () => void (nudges += 1),
    liveness: createLiveness(store, machine, IDENTITY_SETTINGS.onlineWindowMs),
    identity: IDENTITY_SETTINGS,
  };
  const at = (laterMs = 0) => new Date(clock.wallMs() + laterMs).toISOString();
  const call: ServiceParts["call"] = (parts) => ({
    principal: PRINCIPAL,
    write: (job) => store.write(job),
    path: {},
    url: "/",
    requestId: "request",
    address: "10.0.0.4",
    ...parts,
  });
  const quota = new RobotQuota(store.reader, SERVICE_LIMITS.robots, clock);
  const setUp = setupRobot(context, quota);
  const organizations = ["org_1", "org_2"].map((id) => ({ id, name: id, created_at: at() }));
  await store.write((transaction) => transaction.insertInto("organizations").values(organizations).execute());
  return {
    context,
    store,
    quota,
    at,
    pass: (durationMs) => void (passedMs += durationMs),
    nudges: () => nudges,
    call,
    register(name, parts = {}) {
      const configurationDigest = `sha256:${"0".repeat(64)}`;
      const body = { name, robot_type_id: "arm", region: "here", configuration_digest: configurationDigest, ...parts };
      return setUp(call({ body, query: null }));
    },
    async addModel(slug, endpoint = {}) {
      const id = `ckpt_${slug}`;
      const row = endpointRow({
        checkpoint_id: id,
        region: "here",
        next_probe_at: at(300_000),
        health: "healthy",
        ...endpoint,
      });
      await store.write(async (transaction) => {
        await insertModel(transaction, { slug, id, at: at() });
        await transaction.insertInto("endpoints").values(row).execute();
      });
    },
    async require(slug, requirements) {
      await store.write((transaction) =>
        transaction
          .updateTable("checkpoints")
          .set({ requirements: printRequirements({ ...NO_REQUIREMENTS, ...requirements }) })
          .where("model_slug", "=", slug)
          .execute(),
      );
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

/** A store in which `change` is committed right after the first query of the wrapped reader, or after a later one. */
export function changedAfterQuery(store: Store, change: () => Promise<unknown>, nth = 1): Store {
  let queries = 0;
  const reader = store.reader.withPlugin({
    transformQuery: ({ node }) => node,
    async transformResult({ result }) {
      queries += 1;
      if (queries === nth) await change();
      return result;
    },
  });
  return { ...store, reader };
}

/** A store in which `change` is committed right before each write. */
export function changedBeforeWrites(store: Store, change: () => Promise<unknown>): Store {
  return {
    ...store,
    async write(job) {
      await change();
      return store.write(job);
    },
  };
}

/** The parsed answer of an operation. */
export function bodyOf(answer: AnyAnswer): unknown {
  if (!("json" in answer)) throw new Error("The answer is not one JSON text");
  return JSON.parse(answer.json);
}
