import type { DatabaseSync } from "node:sqlite";

import type { HttpAnswer, HttpRequest } from "../../../src/client/transport/transport.ts";
import type { ServiceMachine } from "../../../src/service/kernel/machine.ts";
import type { Store } from "../../../src/service/kernel/store/store.ts";

/** Hooks to plant a mistake in the service, at the interfaces that the simulation provides. One set for each replica. */
export interface ServiceMistake {
  /** Replaces a query; its parameters stay. */
  rewrite(sql: string): string;
  /** Replaces the rows of an answer. */
  rows<Row>(sql: string, rows: Row[]): Row[];
  /** Called with each connection opened for writing. */
  openWriter(database: DatabaseSync): void;
  machine(machine: ServiceMachine): ServiceMachine;
  store(store: Store): Store;
  answer(answer: HttpAnswer, request: HttpRequest): HttpAnswer;
}

export const NO_MISTAKE: ServiceMistake = {
  rewrite: (sql) => sql,
  rows: (_sql, rows) => rows,
  openWriter() {},
  machine: (machine) => machine,
  store: (store) => store,
  answer: (answer) => answer,
};

function replacing(from: string, to: string, where: (sql: string) => boolean = () => true): Partial<ServiceMistake> {
  return { rewrite: (sql) => (where(sql) ? sql.replaceAll(from, to) : sql) };
}

const begins = (start: string) => (sql: string) => sql.startsWith(start);
const isOfDeployment = begins('update "deployments"');

/** Mistakes by name. Each imitates a mistake that a programmer could make. */
export const SERVICE_MISTAKES = {
  "the organization is left out of a query": () => ({
    rewrite: (sql) =>
      sql.startsWith("select") ? sql.replaceAll(/(?:"\w+"\.)?"organization_id" = \?/g, "? is not null") : sql,
  }),
  "a revoked key is still valid": () => keyRows({ revoked_at: null }),
  "the scopes of a key are ignored": () => keyRows({ scopes: null }),
  "a registration does not replace the digest": () =>
    replacing(
      '"configuration_digest" = "excluded"."configuration_digest"',
      '"configuration_digest" = "robots"."configuration_digest"',
    ),
  "a robot gets a new id when it registers again": () =>
    replacing(" do update set ", ' do update set "id" = "excluded"."id", ', begins('insert into "robots"')),
  "a recorded period does not start a new one": () =>
    replacing(
      '"usage_from" = ?',
      '"usage_from" = coalesce("usage_from", ?)',
      (sql) => isOfDeployment(sql) && !sql.includes('"status" = ?'),
    ),
  "a period does not end with its deployment": () =>
    replacing(
      '"usage_from" = ?',
      '"usage_from" = coalesce("usage_from", ?)',
      (sql) => isOfDeployment(sql) && sql.includes('"status" = ?'),
    ),
  "a replaced deployment is not retired": () =>
    replacing('"status" = ?', `"status" = coalesce(nullif(?, 'retired'), "status")`, isOfDeployment),
  "an update of a fleet is never promoted": () =>
    replacing(" where ", " where 0 and ", begins('update "fleets" set "generation_id"')),
  "the outcome of a probe is forgotten": () =>
    replacing('"health" = ?', '"health" = coalesce("health", ?)', begins('update "endpoints"')),
  "the lease of a dead replica never expires": () =>
    replacing('"probe_expires_at" <= ?', '("probe_expires_at" <= ? and 0)'),
  "usage follows changes of the wall clock": () => ({
    machine: (machine) => ({ ...machine, clock: { ...machine.clock, monotonicMs: machine.clock.wallMs } }),
  }),
  "writes of other replicas are not noticed": () => ({
    store: (store) => ({
      ...store,
      version: () => Promise.resolve("1"),
      [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
    }),
  }),
  "reads need a writable disk": () => ({
    store: (store) => ({
      ...store,
      async version() {
        await store.write(() => Promise.resolve());
        return store.version();
      },
      [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
    }),
  }),
  "a write is acknowledged before it is committed": () => ({
    store: (store) => ({
      ...store,
      write: (job) =>
        new Promise((resolve, reject) => {
          store.write(async (transaction) => resolve(await job(transaction))).catch(reject);
        }),
      [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
    }),
  }),
  "a write is rolled back and acknowledged": () => everyNth(5),
  "commits are not synced": () => ({ openWriter: (database) => database.exec("pragma synchronous = normal") }),
  "a full disk is reported as success": () => ({
    store: (store) => ({
      ...store,
      async write(job) {
        const { promise, resolve } = Promise.withResolvers<Awaited<ReturnType<typeof job>>>();
        let isDone = false;
        const written = store.write(async (transaction) => {
          const value = await job(transaction);
          isDone = true;
          resolve(value);
          return value;
        });
        return written.catch((error: unknown) => {
          if (!isDone) throw error;
          return promise;
        });
      },
      [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
    }),
  }),
  "registrations are read from memory": () => {
    const kept = new Map<string, HttpAnswer>();
    return {
      answer(answer, { method, url, headers }) {
        if (method !== "GET" && !url.endsWith("/setup")) return answer;
        const name = /\/v1\/robots\/([^/]+)\/registration$/.exec(url)?.[1];
        if (name === undefined) return answer;
        const key = `${name} ${headers["authorization"] ?? ""}`;
        if (answer.status === 200 && !kept.has(key)) kept.set(key, answer);
        return kept.get(key) ?? answer;
      },
    };
  },
  "list caches are shared between organizations": () => {
    const kept = new Map<string, HttpAnswer>();
    return {
      answer(answer, { method, url }) {
        if (method !== "GET" || !url.endsWith("/robots") || answer.status !== 200) return answer;
        const known = kept.get(url) ?? answer;
        kept.set(url, known);
        return known;
      },
    };
  },
  "two answers are swapped": () => {
    let last: HttpAnswer | null = null;
    return {
      answer(answer, { url }) {
        if (!url.endsWith("/setup") || answer.status !== 200) return answer;
        const other = last ?? answer;
        last = answer;
        return other;
      },
    };
  },
  "an error repeats the key": () => ({
    answer(answer, { headers }) {
      if (answer.status < 400) return answer;
      return { ...answer, body: new TextEncoder().encode(JSON.stringify({ detail: headers["authorization"] ?? "" })) };
    },
  }),
  "a robot is counted twice": () => ({
    answer(answer) {
      const text = new TextDecoder()
        .decode(answer.body)
        .replaceAll(/"active":([1-9])/g, (_all, count) => `"active":${Number(count) + 1}`);
      return { ...answer, body: new TextEncoder().encode(text) };
    },
  }),
  "a sleeping task is never woken": () => ({
    machine: (machine) => ({
      ...machine,
      clock: {
        ...machine.clock,
        sleep: (durationMs, signal) =>
          durationMs > 500 ? new Promise(() => {}) : machine.clock.sleep(durationMs, signal),
      },
    }),
  }),
  "random bytes are not random": () => ({
    machine: (machine) => ({ ...machine, random: { ...machine.random, bytes: (count) => new Uint8Array(count) } }),
  }),
  "the clock stands still": () => ({
    machine(machine) {
      const nowMs = machine.clock.wallMs();
      return { ...machine, clock: { ...machine.clock, wallMs: () => nowMs } };
    },
  }),
  "a lost answer makes a robot a copy of itself": () => ({
    rows: (sql, rows) =>
      sql.includes('"standing", "displaced_by" from "robot_credentials"')
        ? rows.map((row) => ({ ...row, standing: "displaced", displaced_by: 1 }))
        : rows,
  }),
  "the previous installation of a robot is not revoked": () =>
    replacing('"state" = ?', `"state" = coalesce(nullif(?, 'revoked'), "state")`, begins('update "installations"')),
  "a key is in the log": () => {
    let log: ServiceMachine["log"] | null = null;
    return {
      machine(machine) {
        log = machine.log;
        return machine;
      },
      answer(answer, { url, headers }) {
        if (url.endsWith("/setup")) log?.info("robot_setup", { authorization: headers["authorization"] });
        return answer;
      },
    };
  },
} satisfies Record<string, () => Partial<ServiceMistake>>;

export type ServiceMistakeName = keyof typeof SERVICE_MISTAKES;

export function serviceMistake(name: ServiceMistakeName): ServiceMistake {
  return { ...NO_MISTAKE, ...SERVICE_MISTAKES[name]() };
}

/** The queries of a key: at admission of a request, and again in a write. */
const KEY_QUERIES = ['from "api_keys" where "key_sha256"', 'select "expires_at", "revoked_at" from "api_keys"'];

function keyRows(other: Readonly<Record<string, unknown>>): Partial<ServiceMistake> {
  return {
    rows: (sql, rows) =>
      KEY_QUERIES.some((query) => sql.includes(query)) ? rows.map((row) => ({ ...row, ...other })) : rows,
  };
}

/** Skips every nth write. */
function everyNth(count: number): Partial<ServiceMistake> {
  let writes = 0;
  return {
    store: (store) => ({
      ...store,
      async write(job) {
        writes += 1;
        if (writes % count !== 0) return store.write(job);
        const { promise, resolve } = Promise.withResolvers<Awaited<ReturnType<typeof job>>>();
        await store
          .write(async (transaction) => {
            resolve(await job(transaction));
            throw new Error("rolled back");
          })
          .catch(() => {});
        return promise;
      },
      [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
    }),
  };
}
