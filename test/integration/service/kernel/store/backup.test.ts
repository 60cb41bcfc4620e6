import { execFileSync } from "node:child_process";
import { mkdir, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout } from "node:timers/promises";

import { beforeEach, describe, expect, it, type SuiteOptions } from "vitest";

import { MIGRATIONS } from "../../../../../src/service/kernel/store/migrations.ts";
import type { StoreLocation } from "../../../../../src/service/kernel/store/store.ts";
import { testFolder } from "../../../../support/folder.ts";
import { execute } from "../../../../support/programs/execute.ts";
import { SERVICE_PROGRAM } from "../../../../support/programs/programs-built.ts";
import { sharedPostgres, WITHOUT_POSTGRES } from "../../../../support/service/postgres.ts";
import { runServiceCommand, storeFlags } from "../../../../support/service/service-command.ts";
import { type RunningService, startService } from "../../../../support/service/service.ts";
import { newSqliteFolder } from "../../../../support/service/sqlite-folder.ts";
import { usePostgres } from "../../../../support/service/stores.ts";

const DIGEST = `sha256:${"0".repeat(64)}`;
let folder: string;
beforeEach(() => void (folder = testFolder("backup")));

const databases = usePostgres();

/** Pause between two writes of one client of the storm. */
const STORM_PAUSE_MS = 20;

const run = runServiceCommand;
const flagsOf = storeFlags;

const newStore = async (): Promise<StoreLocation> => ({
  kind: "sqlite",
  dataDirectory: await newSqliteFolder(`${basename(folder)}/store-`),
});

interface Kind {
  readonly kind: string;
  readonly needs: SuiteOptions;
  /** A location without a store. */
  locate(): Promise<StoreLocation>;
  /** A store that a service made. */
  takenPlace(): Promise<StoreLocation>;
}

const kinds: readonly Kind[] = [
  {
    kind: "SQLite",
    needs: {},
    locate: async () => ({ kind: "sqlite", dataDirectory: join(folder, `data-${Math.random()}`) }),
    takenPlace: newStore,
  },
  {
    kind: "PostgreSQL",
    needs: { tags: "needs/postgres", skip: WITHOUT_POSTGRES },
    locate: databases.empty,
    takenPlace: databases.withSchema,
  },
];

/** The first service on a store writes its key to the folder; later ones on copies use the same key. */
function serve(store: StoreLocation, keyFolder: string): Promise<RunningService> {
  return startService({ store, dataDirectory: keyFolder });
}

const setUp = (service: RunningService, name: string, more: object = {}) =>
  service.send("POST", "/v1/robots/setup", {
    name,
    robot_type_id: "t",
    region: "x",
    configuration_digest: DIGEST,
    ...more,
  });

describe.skipIf(WITHOUT_POSTGRES)("database URL without a password", { tags: "needs/postgres" }, () => {
  it("password required → the error says so", async () => {
    const { password } = await sharedPostgres();
    const url = (await databases.empty()).url.replace(`:${password}`, "");
    const outcome = await run("orgs", "list", "--database", url);
    expect(outcome.code).toBe(1);
    expect(outcome.stderr).toContain("the database asks for a password, and its URL has none");
  });
});

describe("backup", () => {
  it(
    "during a storm of writes → a consistent snapshot: every robot has its audit entry",
    { tags: "needs/program" },
    async () => {
      const store = await newStore();
      await using service = await serve(store, folder);
      const over = new AbortController();
      const storm = Array.from({ length: 8 }, async (_, client) => {
        const statuses = new Set<number>();
        for (let index = 0; !over.signal.aborted; index += 1) {
          statuses.add((await setUp(service, `r${client}-${index}`)).status);
          // Without a pause, the storm takes the processor from the backup and proves nothing more.
          await setTimeout(STORM_PAUSE_MS);
        }
        return [...statuses];
      });
      const names = ["a.db", "b.db"];
      const backups = [];
      for (const name of names)
        backups.push(
          await execute([process.execPath, SERVICE_PROGRAM, "backup", join(folder, name), ...flagsOf(store)]),
        );
      over.abort();
      expect((await Promise.all(storm)).flat()).toEqual(Array.from({ length: 8 }, () => 200));
      expect(backups.map(({ code, stderr }) => [code, stderr])).toEqual(backups.map(() => [0, ""]));
      const counts = names.map((name) => {
        const database = new DatabaseSync(join(folder, name), { readOnly: true });
        const row = database
          .prepare(
            `select (select count(*) from robots) as robots,
             (select count(*) from robots where id not in (select subject_id from audit_log)) as without_entry,
             (select count(*) from audit_log where action = 'robot.setup') as entries`,
          )
          .get();
        database.close();
        return row;
      });
      for (const count of counts) expect(count?.["without_entry"]).toBe(0);
      for (const count of counts) expect(count?.["entries"]).toBe(count?.["robots"]);
      expect(Number(counts[1]?.["robots"])).toBeGreaterThan(Number(counts[0]?.["robots"]));
    },
  );

  it("to stdout → usage error", async () => {
    const outcome = await run("backup", "-", ...flagsOf(await newStore()));
    expect([outcome.code, outcome.stdout]).toEqual([2, ""]);
  });

  it("existing file → refused; failure → no temporary file left", async () => {
    const store = await newStore();
    await (await serve(store, folder))[Symbol.asyncDispose]();
    const file = join(folder, "taken");
    await writeFile(file, "mine");
    const refused = await run("backup", file, ...flagsOf(store));
    expect(refused).toMatchObject({ code: 1, stdout: "" });
    expect(refused.stderr).toContain("a backup never replaces one");
    expect(await readFile(file, "utf8")).toBe("mine");
    const nowhere = await run("backup", join(folder, "no", "where"), ...flagsOf(store));
    expect(nowhere.stderr).toContain("the backup cannot be written there");
    expect((await readdir(folder)).filter((name) => name.endsWith(".new"))).toEqual([]);
  });

  it("--keep 2 → named by the time, older backups and interrupted ones are removed, other files stay", async () => {
    const place = flagsOf(await newStore());
    const backups = join(folder, "backups");
    const interrupted = "robot-policy-2026-01-02T000000Z.db";
    const earlier = ["robot-policy-2026-01-01T000000Z.db", interrupted, `${interrupted}.new`];
    const kept = ["robot-policy-2026-01-03T000000Z.db", "robots.db"];
    await mkdir(backups);
    for (const name of [...earlier, ...kept]) await writeFile(join(backups, name), name === interrupted ? "" : "a");
    expect(await run("backup", backups, "--keep", "2", ...place)).toMatchObject({ code: 0 });
    const names = (await readdir(backups)).toSorted();
    expect(names).toEqual([kept[0], expect.stringMatching(/^robot-policy-20\d\d-\d\d-\d\dT\d{6}Z\.db$/), kept[1]]);
    expect(await run("restore", join(backups, names[1] ?? ""), "--data", join(folder, "restored"))).toMatchObject({
      code: 0,
    });
  });

  it.each(["0", "1.5", "all", "-1"])("--keep %s → usage error", async (keep) => {
    const { code, stderr } = await run("backup", folder, `--keep=${keep}`, "--data", folder);
    expect(code).toBe(2);
    expect(stderr).toContain("whole number");
  });

  it("no store at the location → the error says so", async () => {
    const file = join(folder, "backup.db");
    const outcome = await run("backup", file, "--data", join(folder, "nothing"));
    expect(outcome.code).toBe(1);
    expect(outcome.stderr).toContain("there is no store of robot-policy-service");
    expect(await readdir(folder)).not.toContain("backup.db");
  });

  it("PostgreSQL → names pg_dump", async () => {
    const outcome = await run("backup", join(folder, "backup.db"), "--database", "postgres://u@h/d");
    expect([outcome.code, outcome.stderr]).toEqual([1, expect.stringContaining("pg_dump --format=custom")]);
  });
});

for (const { kind, needs, locate, takenPlace } of kinds) {
  describe(`restore to ${kind}`, needs, () => {
    it("any content → complete, and its keys work", async () => {
      const [source, target, file] = [await newStore(), await locate(), join(folder, "backup.db")];
      const before = await (async () => {
        await using service = await serve(source, folder);
        // More rows than one batch, and unusual text.
        await Promise.all(Array.from({ length: 205 }, (_, index) => setUp(service, `r${index}`)));
        const odd = { site: "\u{10FFFF}", labels: { "ключ 🤖": "\u0001" }, contract: { x: 1e-7 } };
        expect((await setUp(service, "odd \u{10FFFF} '\"`", odd)).status).toBe(200);
        expect(await run("backup", file, ...flagsOf(source))).toMatchObject({ code: 0, stderr: "" });
        expect((await stat(file)).mode & 0o777).toBe(0o600);
        return await service.robots();
      })();
      const restored = await run("restore", file, ...flagsOf(target), "--json");
      expect(restored).toMatchObject({ code: 0, stderr: "" });
      expect(JSON.parse(restored.stdout)).toEqual({ file, schema: Object.keys(MIGRATIONS).at(-1) });
      await using service = await serve(target, folder);
      expect(await service.robots()).toEqual(before);
      expect((await setUp(service, "r1")).status).toBe(200);
    });

    it("existing store, or one in use by a service → refused and unchanged", async () => {
      const [source, target, file] = [await newStore(), await takenPlace(), join(folder, "backup.db")];
      expect(await run("backup", file, ...flagsOf(source))).toMatchObject({ code: 0 });
      {
        await using service = await serve(target, folder);
        await setUp(service, "r1");
        const running = await run("restore", file, ...flagsOf(target));
        expect(running.code).toBe(1);
        expect(running.stderr).toMatch(/another robot-policy-service runs|there is a store already/);
      }
      const full = await run("restore", file, ...flagsOf(target));
      expect([full.code, full.stderr]).toEqual([1, expect.stringContaining("there is a store already")]);
      await using service = await serve(target, folder);
      expect((await service.robots()).map(({ name }) => name)).toEqual(["r1"]);
    });

    it("place without a store → other commands create none", async () => {
      const target = await locate();
      const commands = [
        ["orgs", "list"],
        ["orgs", "create", "x"],
      ];
      for (const refused of await Promise.all(commands.map((command) => run(...command, ...flagsOf(target))))) {
        expect([refused.code, refused.stdout]).toEqual([1, ""]);
        expect(refused.stderr).toContain("[no-store]");
      }
    });
  });
}

describe("a file that is no backup of this program", () => {
  it.each<[what: string, spoil: (file: string) => void | Promise<void>, message: string]>([
    ["is missing", (file) => rm(file), "there is no such file"],
    ["is empty", (file) => writeFile(file, ""), "it is empty"],
    ["is no database", (file) => writeFile(file, "hello ".repeat(1000)), "file is not a database"],
    ["is a pipe", makePipe, "it is no regular file"],
    ["is damaged", damage, "it is damaged"],
    [
      "has a view in place of a table",
      (file) => change(file, "alter table robots rename to r; create view robots as select * from r"),
      "its tables are not those of the schema that it names",
    ],
    [
      "has a trigger",
      (file) => change(file, "create trigger t after insert on robots begin delete from api_keys; end"),
      "its tables are not those of the schema that it names",
    ],
    [
      "has a later schema",
      (file) => change(file, "insert into migrations values ('9999-later', '2030')"),
      "a newer robot-policy-service wrote it (schema 9999-later)",
    ],
  ])("it %s → refused, and the location stays empty", async (_what, spoil, message) => {
    const [store, target, file] = [await newStore(), join(folder, "target"), join(folder, "backup.db")];
    expect(await run("backup", file, ...flagsOf(store))).toMatchObject({ code: 0 });
    await spoil(file);
    const refused = await run("restore", file, "--data", target);
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining(message)]);
    expect((await run("orgs", "list", "--data", target)).stderr).toContain("[no-store]");
  });

  it("backup of an earlier version, with its seal → restored", async () => {
    const [store, file] = [await newStore(), join(folder, "backup.db")];
    expect(await run("backup", file, ...flagsOf(store))).toMatchObject({ code: 0 });
    change(file, "create table backup_seal (sha256 text not null)");
    expect(await run("restore", file, "--data", join(folder, "target"))).toMatchObject({ code: 0, stderr: "" });
  });

  async function makePipe(file: string): Promise<void> {
    await rm(file);
    execFileSync("mkfifo", [file]);
  }

  async function damage(file: string): Promise<void> {
    const bytes = await readFile(file);
    bytes.fill(0xff, bytes.length / 2, bytes.length / 2 + 4096);
    await writeFile(file, bytes);
  }

  function change(file: string, text: string): void {
    using database = new DatabaseSync(file);
    database.exec(text);
  }
});
