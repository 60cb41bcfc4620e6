/** @module-tag needs/postgres */
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { createSecureContext, TLSSocket } from "node:tls";

import { sql, type Transaction } from "kysely";
import type { Client } from "pg";
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from "vitest";

import { findRobotIds } from "../../../../../src/service/fleets/selection.ts";
import { listEnrolled } from "../../../../../src/service/identity/presence.ts";
import { backUp } from "../../../../../src/service/kernel/store/backups/backup.ts";
import { restore } from "../../../../../src/service/kernel/store/backups/restore.ts";
import { openStore } from "../../../../../src/service/kernel/store/open-store.ts";
import { storeProblem } from "../../../../../src/service/kernel/store/store-problem.ts";
import type { Store, StoreLocation } from "../../../../../src/service/kernel/store/store.ts";
import type { Tables } from "../../../../../src/service/kernel/store/tables.ts";
import { StoreUnavailableError } from "../../../../../src/service/kernel/store/unavailable.ts";
import { countBelongings } from "../../../../../src/service/organizations/account.ts";
import { testFolder } from "../../../../support/folder.ts";
import { testMachine } from "../../../../support/robot/machine.ts";
import { eventually } from "../../../../support/robot/robot.ts";
import { times } from "../../../../support/run/tier.ts";
import { type Postgres, startPostgres, WITHOUT_POSTGRES } from "../../../../support/service/postgres.ts";
import { createAuthority } from "../../../client/authority.ts";
import { startService } from "../../../../support/service/service.ts";
import { createDatabaseWithSchema } from "../../../../support/service/stores.ts";
import { acknowledges, lostBy, startStorm } from "../../../../support/service/storm.ts";

let postgres: Postgres;
let folder: string;
beforeAll(async () => {
  // PostgreSQL looks for a deadlock only after this time, and dozens must be resolved within the time limit of writes.
  if (!WITHOUT_POSTGRES) postgres = await startPostgres({ settings: { deadlock_timeout: "20ms" } });
});
afterAll(() => postgres?.[Symbol.asyncDispose]());
beforeEach(() => void (folder = testFolder("postgres-test")));

const locate = async (): Promise<StoreLocation & { readonly kind: "postgres" }> => ({
  kind: "postgres",
  url: await createDatabaseWithSchema(postgres),
});

const add = (store: Store, id: string, createdAt = "2026") =>
  store.write((transaction) =>
    transaction.insertInto("organizations").values({ id, name: id, created_at: createdAt }).execute(),
  );

const rename = (store: Store, id: string, name: string) =>
  store.write((transaction) => transaction.updateTable("organizations").set({ name }).where("id", "=", id).execute());

/** A second connection to the same database. */
async function connectSecond(url: string): Promise<Client> {
  const client = await postgres.connect(url);
  onTestFinished(() => client.end());
  return client;
}

describe.skipIf(WITHOUT_POSTGRES)("queries on PostgreSQL", () => {
  it("lists of every length → few prepared statements, and other queries stay prepared", async () => {
    await using store = await openStore({ ...(await locate()), poolSize: 2 }, testMachine);
    const organizations = store.reader.selectFrom("organizations").select("id");
    for (let length = 1; length <= 600; length += 1) {
      const ids = Array.from({ length }, (_, index) => `org_${index}`);
      await organizations.where("id", "in", ids).execute();
    }
    await organizations.where("name", "=", "a").execute();
    const { rows } = await sql<{ readonly statement: string }>`
      select statement from pg_prepared_statements`.execute(store.reader);
    expect(rows.filter(({ statement }) => statement.includes('where "name" = $1'))).toHaveLength(1);
    expect(rows.length).toBeLessThan(100);
  });
});

describe.skipIf(WITHOUT_POSTGRES)("concurrent writes on PostgreSQL", () => {
  it("row locked by another connection → the write waits, other writes continue", async () => {
    const location = await locate();
    await using store = await openStore(location, testMachine);
    await Promise.all([add(store, "a"), add(store, "b")]);
    const other = await connectSecond(location.url);
    await other.query("begin");
    await other.query("select * from organizations where id = 'a' for update");
    const held = rename(store, "a", "renamed");
    await Promise.all([rename(store, "b", "renamed b"), add(store, "c")]);
    await other.query("commit");
    await held;
    const names = store.reader.selectFrom("organizations").select("name").orderBy("id").execute();
    expect((await names).map(({ name }) => name)).toEqual(["renamed", "renamed b", "c"]);
  });

  it("row locked for too long → StoreUnavailableError, and a later attempt succeeds", async () => {
    const location = await locate();
    await using store = await openStore(location, testMachine);
    await add(store, "a");
    const other = await connectSecond(location.url);
    await other.query("begin");
    await other.query("select * from organizations where id = 'a' for update");
    await expect(rename(store, "a", "x")).rejects.toThrow(StoreUnavailableError);
    await other.query("rollback");
    await rename(store, "a", "x");
  });

  it.each<[what: string, spoil: (transaction: Transaction<Tables>) => Promise<unknown>]>([
    [
      "exceeds the statement timeout",
      async (transaction) => {
        await sql`set local statement_timeout = 100`.execute(transaction);
        await sql`select pg_sleep(60)`.execute(transaction);
      },
    ],
    [
      "runs out of memory",
      (transaction) => sql`do $$ begin raise exception using errcode = '53200'; end $$`.execute(transaction),
    ],
  ])("beside a write that %s → the others are committed once", async (_what, spoil) => {
    await using store = await openStore(await locate(), testMachine);
    const ids = ["a", "b", "c", "d", "e", "f"];
    const spoiled = store.write(spoil);
    const [refused, ...others] = await Promise.allSettled([spoiled, ...ids.map((id) => add(store, id))]);
    expect(refused).toMatchObject({ status: "rejected", reason: expect.any(StoreUnavailableError) });
    expect(others.map(({ status }) => status)).toEqual(ids.map(() => "fulfilled"));
    const rows = await store.reader.selectFrom("organizations").select("id").orderBy("id").execute();
    expect(rows.map(({ id }) => id)).toEqual(ids);
  });

  it("two stores lock the same rows in opposite order → every write succeeds", async () => {
    const location = await locate();
    await using first = await openStore(location, testMachine);
    await using second = await openStore(location, testMachine);
    const ids = ["a", "b", "c", "d"];
    await Promise.all(ids.map((id) => add(first, id, "0")));
    const sweep = (store: Store, order: readonly string[]) =>
      store.write(async (transaction) => {
        for (const id of order) {
          await sql`update organizations set created_at = created_at::int + 1 where id = ${id}`.execute(transaction);
        }
      });
    const sweeps = Array.from({ length: 40 }, (_, index) =>
      index % 2 === 0 ? sweep(first, ids) : sweep(second, ids.toReversed()),
    );
    await Promise.all(sweeps);
    const rows = await first.reader.selectFrom("organizations").select("created_at").execute();
    expect(rows.map(({ created_at: createdAt }) => createdAt)).toEqual(["40", "40", "40", "40"]);
  });
});

describe.skipIf(WITHOUT_POSTGRES)("opening a store on PostgreSQL", () => {
  const password = "hunter2";

  it("SCRAM password → connects; without a password → database-password-missing", async () => {
    const url = new URL((await locate()).url);
    const other = await connectSecond(url.href);
    await other.query("set password_encryption = 'scram-sha-256'");
    await other.query(`create role scram superuser login password '${password}'`);
    url.username = "scram";
    url.password = password;
    await using store = await openStore({ kind: "postgres", url: url.href }, testMachine);
    await add(store, "a");
    url.password = "";
    const location: StoreLocation = { kind: "postgres", url: url.href };
    const error: unknown = await openStore(location, testMachine).catch((reason: unknown) => reason);
    expect(storeProblem(error, location)).toMatchObject({ code: "database-password-missing" });
  });

  it.each<[string, (url: URL) => void, string]>([
    ["a wrong password", (url) => (url.password = password), "check user and password"],
    ["a missing database", (url) => (url.pathname = "/nowhere"), "make the database first"],
    ["a closed port", (url) => (url.port = "1"), "make sure that PostgreSQL runs there"],
    ["an unknown host", (url) => (url.hostname = `${"x".repeat(64)}.invalid`), "check the host"],
    ["TLS, which the server does not speak", (url) => (url.search = "?sslmode=require"), "take sslmode out"],
    [
      "a file that does not exist",
      (url) => (url.search = "?sslmode=verify-full&sslrootcert=/nonexistent/ca.pem"),
      "check the files that sslrootcert",
    ],
  ])("%s → the error has a remedy and no password", async (_name, spoil, fix) => {
    const url = new URL((await locate()).url);
    url.password = password;
    if (fix !== "check user and password") url.password = postgres.password;
    spoil(url);
    const location: StoreLocation = { kind: "postgres", url: url.href };
    const error: unknown = await openStore(location, testMachine).catch((reason: unknown) => reason);
    const problem = storeProblem(error, location);
    expect(problem).toMatchObject({ code: "database-unreachable", fix: expect.stringContaining(fix) });
    expect(JSON.stringify(problem)).not.toContain(url.password);
    expect(problem?.where).toBe(`postgres://robots@${url.host}${url.pathname}`);
  });
});

describe.skipIf(WITHOUT_POSTGRES)("a database that is not UTF-8", () => {
  const latin = "encoding 'LATIN1' locale_provider libc lc_collate 'C' lc_ctype 'C' template template0";

  it("opened, and restored into → refused, and nothing is written", async () => {
    const location: StoreLocation = { kind: "postgres", url: await postgres.createDatabase(latin) };
    const error: unknown = await openStore(location, testMachine).catch((reason: unknown) => reason);
    const refusal = { code: "database-encoding", what: expect.stringContaining("LATIN1") };
    expect(storeProblem(error, location)).toMatchObject(refusal);
    const whole: StoreLocation = { kind: "sqlite", dataDirectory: folder };
    await (await openStore(whole, testMachine))[Symbol.asyncDispose]();
    const options = { onProgress: () => {}, signal: new AbortController().signal };
    const path = join(folder, "backup.db");
    await backUp(whole, path, testMachine);
    const outcome = await restore(path, location, testMachine, options);
    expect(outcome).toMatchObject({ state: "failed", problem: refusal });
    const { rows } = await (
      await connectSecond(location.url)
    ).query("select 1 from pg_tables where schemaname = 'public'");
    expect(rows).toEqual([]);
  });
});

it("certificate of a private authority → the remedy is sslrootcert, with which the handshake succeeds", async () => {
  using authority = createAuthority();
  const secure = createSecureContext(authority.issue("localhost"));
  /** Speaks the beginning of the protocol: SSLRequest, then TLS. */
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", () => {
      socket.write("S");
      const tls = new TLSSocket(socket, { isServer: true, secureContext: secure });
      tls.on("error", () => {}).once("data", () => tls.end());
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const fixOf = async (parameters: string) => {
    const location: StoreLocation = {
      kind: "postgres",
      url: `postgres://robots@localhost:${port}/robots?${parameters}`,
    };
    const error: unknown = await openStore(location, testMachine).catch((reason: unknown) => reason);
    return storeProblem(error, location);
  };
  const refused = await fixOf("sslmode=require");
  expect(refused?.fix).toContain("?sslmode=verify-full&sslrootcert=");
  expect(refused?.what).not.toContain("--use-system-ca");
  expect((await fixOf(`sslmode=verify-full&sslrootcert=${authority.ca_file}`))?.fix).not.toContain("sslrootcert");
});

describe("server closes the connection right after the handshake", () => {
  const message = (type: string, content: Buffer) => {
    const head = Buffer.alloc(5);
    head.write(type);
    head.writeInt32BE(content.length + 4, 1);
    return Buffer.concat([head, content]);
  };
  const authenticated = message("R", Buffer.alloc(4));
  const ready = message("Z", Buffer.from("I"));
  const terminated = message("E", Buffer.from("SFATAL\0C57P01\0Mterminating connection\0\0"));

  it("openStore → StoreUnavailableError, no unhandled error", async () => {
    const server = createServer((socket) => {
      socket.on("error", () => {});
      socket.once("data", () => socket.end(Buffer.concat([authenticated, ready, terminated])));
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    const opened = openStore({ kind: "postgres", url: `postgres://robots@127.0.0.1:${port}/robots` }, testMachine);
    await expect(opened).rejects.toThrow(StoreUnavailableError);
  });
});

describe.skipIf(WITHOUT_POSTGRES)("queries on large tables of PostgreSQL", () => {
  /** Number of rows of a table that a job reads, by index or sequentially. */
  function rowsRead(store: Store, table: string, job: (transaction: Transaction<Tables>) => Promise<unknown>) {
    return store.write(async (transaction) => {
      const soFar = async () => {
        const { rows } = await sql<{ readonly read: number }>`
          select (seq_tup_read + idx_tup_fetch)::int as read from pg_stat_xact_user_tables where relname = ${table}`.execute(
          transaction,
        );
        return rows[0]?.read ?? 0;
      };
      const before = await soFar();
      await job(transaction);
      return (await soFar()) - before;
    });
  }

  it("a page of robots, of which few were told to a new webhook → no other rows are read", async () => {
    const { url } = await locate();
    await using store = await openStore({ kind: "postgres", url }, testMachine);
    await add(store, "org_1");
    const other = await connectSecond(url);
    await other.query(`
      insert into robots (id, organization_id, name, robot_type_id, region, configuration_digest, labels, created_at, updated_at, refitted_at, changed_at, audit_id, made_by, installation_id)
        select 'rob_' || n, 'org_1', 'arm-' || n, '', '', '', '{}', '', '', '', '', '', '', 'rinst_' || n from generate_series(1, 20000) as n;
      insert into installations (id, organization_id, robot_id, public_key, state, generation, enrolled_at, approved_by, credential_expires_at, recoveries_remaining, recovery_until)
        select 'rinst_' || n, 'org_1', 'rob_' || n, 'key-' || n, 'active', 1, '', '', '', 5, '' from generate_series(1, 20000) as n;
      insert into reported_states (subject_id, organization_id, kind, state, reported_at)
        select 'rob_' || n, 'org_1', 'robot', 'online', '2028' from generate_series(1, 2000) as n;
      analyze robots, installations, reported_states`);
    const list = (transaction: Transaction<Tables>) => listEnrolled(transaction, "org_1", "rob_1");
    expect(await store.write(list)).toHaveLength(200);
    for (const table of ["robots", "installations", "reported_states"]) {
      // The planner reads a few, too.
      expect(await rowsRead(store, table, list)).toBeLessThan(250);
    }
  });

  it("finding 1000 robots, and counting current deployments → no other rows are read", async () => {
    const { url } = await locate();
    await using store = await openStore({ kind: "postgres", url }, testMachine);
    for (const id of ["org_1", "org_2"]) await add(store, id);
    const other = await connectSecond(url);
    await other.query(`
      insert into robots (id, organization_id, name, robot_type_id, region, configuration_digest, labels, created_at, updated_at, refitted_at, changed_at, audit_id, made_by)
        select 'rob_' || n, 'org_1', 'arm-' || n, '', '', '', repeat('x', 400), '', '', '', '', '', '' from generate_series(1, 50000) as n;
      insert into models (slug, display_name, default_checkpoint_id, created_at) values ('pi', '', 'ckpt', '');
      insert into checkpoints (id, model_slug, requirements, created_at) values ('ckpt', 'pi', '{}', '');
      insert into deployments (id, organization_id, robot_id, model_slug, checkpoint_id, region, status, generation_id, created_at, retired_at)
        select 'dep_' || n, case when n > 10000 then 'org_2' else 'org_1' end, 'rob_' || n, 'pi', 'ckpt', '', '', '', '',
          case when n between 11 and 10000 then '2026' end
        from generate_series(1, 20000) as n;
      analyze robots, deployments`);
    const names = Array.from({ length: 1000 }, (_, index) =>
      index % 2 === 0 ? `arm-${index * 9}` : `rob_${index * 9}`,
    );
    const find = (transaction: Transaction<Tables>) => findRobotIds(transaction, "org_1", names);
    const count = (transaction: Transaction<Tables>) => countBelongings(transaction, "org_1", "2026");
    expect([...(await store.write(find)).keys()]).toEqual(expect.arrayContaining(names.slice(1)));
    expect(await rowsRead(store, "robots", find)).toBeLessThanOrEqual(1000);
    expect(await store.write(count)).toMatchObject({ deployments: 10 });
    expect(await rowsRead(store, "deployments", count)).toBeLessThanOrEqual(10);
  });
});

describe.skipIf(WITHOUT_POSTGRES)("service on PostgreSQL", () => {
  it("database restarts under load → only 200 and 503, no acknowledged setup lost, recovers by itself", async () => {
    const store = await locate();
    await using service = await startService({ store, dataDirectory: folder });
    const storm = startStorm(service);
    await acknowledges(storm, 50);
    for (const end of [postgres.stop, ...Array.from({ length: times(1, 3) }, () => postgres.kill)]) {
      await end();
      await eventually(async () => ((storm.statuses.get(503) ?? 0) > 0 ? true : undefined), "a 503");
      expect((await fetch(`${service.url}/readyz`)).status).toBe(503);
      storm.statuses.delete(503);
      await postgres.start();
      await acknowledges(storm, 50);
    }
    await storm.stop();
    expect([...storm.statuses.keys()].filter((status) => ![200, 503].includes(status))).toEqual([]);
    expect(storm.withoutRetryAfter).toBe(0);
    expect(lostBy(storm, await service.robots())).toEqual([]);
    expect((await fetch(`${service.url}/readyz`)).status).toBe(200);
    expect(service.log()).not.toContain(postgres.password);
  });

  it("database becomes a standby → reads, 503 to writes, not ready; promoted → ready again", async () => {
    const store = await locate();
    await using service = await startService({ store, dataDirectory: folder });
    const statuses = async () => {
      const created = await service.send("POST", "/v1/me/api-keys", { label: "line 1" });
      const list = await service.send("GET", "/v1/robots");
      return { create: created.status, list: list.status, ready: (await fetch(`${service.url}/readyz`)).status };
    };
    expect(await statuses()).toEqual({ create: 200, list: 200, ready: 200 });
    await postgres.stop();
    await postgres.start("standby");
    await expect.poll(statuses).toEqual({ create: 503, list: 200, ready: 503 });
    const administrator = await connectSecond(store.url);
    await administrator.query("select pg_promote()");
    await expect.poll(statuses).toEqual({ create: 200, list: 200, ready: 200 });
  });

  it("text that PostgreSQL cannot store → 404, as for any unknown name", async () => {
    await using service = await startService({ store: await locate(), dataDirectory: folder });
    expect((await service.send("GET", "/v1/robots/a%00b")).status).toBe(404);
  });
});
