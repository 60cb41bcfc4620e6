/**
 * The blocks of the service's pages that need PostgreSQL, a proxy, a pooler or Prometheus, run as a person would: as real processes on
 * loopback, with paths in a folder of the test.
 *
 * @module-tag needs/postgres
 */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { Agent, request } from "undici";
import { describe, expect, onTestFinished, test } from "vitest";

import { pageBlock, rootScript } from "../../support/documents/blocks.ts";
import { commandsOf } from "../../support/documents/commands.ts";
import { eventually } from "../../support/eventually.ts";
import { testFolder } from "../../support/folder.ts";
import { startProgram } from "../../support/programs/children.ts";
import { execute } from "../../support/programs/execute.ts";
import { hasProgram } from "../../support/programs/programs.ts";
import { freePort } from "../../support/service/free-port.ts";
import { startPgbouncer, WITHOUT_PGBOUNCER } from "../../support/service/pgbouncer.ts";
import { startPostgres, WITHOUT_POSTGRES } from "../../support/service/postgres.ts";
import { listening, runServiceCommand, startServiceCommand } from "../../support/service/service-command.ts";
import { startService } from "../../support/service/service.ts";
import { usePostgres } from "../../support/service/stores.ts";

const isOnDesk = (process.env["CI"] ?? "") === "";
const WITHOUT_PROXY = isOnDesk && !["haproxy", "openssl"].every(hasProgram);

describe.skipIf(WITHOUT_POSTGRES)("backup and restore", () => {
  const databases = usePostgres();

  test("of a folder → a new folder, and a database; of a database → another one", async () => {
    const home = testFolder("backup-blocks");
    const [moved, dumped] = [await databases.empty(), await databases.empty()];
    const robotsOf = async (...store: readonly string[]) => (await runServiceCommand("orgs", "list", ...store)).stdout;
    {
      await using service = await startService({ dataDirectory: await newFolder(home, "robot-policy") });
      await service.robots();
    }
    const byProgram = await pageBlock(
      "src/service/README.md: robot-policy-service backup robots.db --data ~/robot-policy",
    );
    for (const [, ...argv] of commandsOf(byProgram)) {
      const words = argv.map((word) =>
        word
          .replace(/^~/, home)
          .replace(/^robots\.db$/, join(home, "robots.db"))
          .replace("$EMPTY_DATABASE", moved.url),
      );
      expect(await runServiceCommand(...words)).toMatchObject({ code: 0 });
    }
    const byPostgres = await pageBlock('src/service/README.md: pg_dump --format=custom --file=robots.dump "$DATABASE"');
    const environment = { DATABASE: moved.url, EMPTY_DATABASE: dumped.url };
    await execute(["sh", "-ec", `cd ${home}\n${rootScript(byPostgres)}`], { environment });

    const first = await robotsOf("--data", join(home, "robot-policy"));
    expect(first).toContain("default");
    expect(await robotsOf("--data", join(home, "restored"))).toBe(first);
    expect(await robotsOf("--database", moved.url)).toBe(first);
    expect(await robotsOf("--database", dumped.url)).toBe(first);
  });
});

describe.skipIf(WITHOUT_POSTGRES || WITHOUT_PROXY)("two replicas on PostgreSQL behind HAProxy", () => {
  test("as the page has them → the proxy takes turns, hides /metrics, and goes on when one stops", async () => {
    const folder = testFolder("replica-blocks");
    await using postgres = await startPostgres();
    await makeCertificate(folder);
    const ca = await readFile(join(folder, "ca.pem"), "utf8");
    /** With files below the folder, and this machine in place of the others. */
    const here = (text: string) =>
      text
        .replaceAll(/\/(?:etc|var|run)\//g, (start) => `${folder}${start}`)
        .replaceAll(/192\.0\.2\.\d+/g, "127.0.0.1")
        .replaceAll("db.example.com", `127.0.0.1:${postgres.port}`);
    const database = await pageBlock(
      `src/service/README.md: sudo -u postgres psql -c "create role robot_policy login password 'change-me'"`,
    );
    const superuser = { PGHOST: "127.0.0.1", PGPORT: `${postgres.port}`, PGUSER: "robots", PGDATABASE: "postgres" };
    const environment = { ...superuser, PGPASSWORD: postgres.password };
    await execute(["sh", "-ec", rootScript(database)], { environment });

    for (const path of ["etc/robot-policy-service", "var/lib/robot-policy-service"]) await newFolder(folder, path);
    const files = await pageBlock(
      "src/service/README.md: echo 'postgres://robot_policy:change-me@db.example.com/robot_policy' | sudo install -m 600 /dev/stdin /etc/robot-policy-service/database-url",
    );
    // systemd is tried in test/e2e/service-unit.
    await execute(["sh", "-ec", `systemctl() { true; }\n${here(rootScript(files))}`]);
    const dropIn = await readFile(
      join(folder, "etc/systemd/system/robot-policy-service.service.d/database.conf"),
      "utf8",
    );
    const urlFile = /^LoadCredential=database-url:(.*)$/m.exec(dropIn)?.[1] ?? "";

    const configuration = await pageBlock("src/service/README.md: # /etc/robot-policy-service/config.yaml");
    const text = here(configuration.text).replace(/url_file: [^ ]+/, `url_file: ${urlFile}`);
    const replicas = [
      await startReplica(folder, "policy-1", text),
      // As the page says, one of them alone has the key.
      await startReplica(folder, "policy-2", text.replace(/^bootstrap_key_file.*\n/m, "")),
    ];

    const proxy = await startProxy(
      here((await pageBlock("src/service/README.md: # at the end of /etc/haproxy/haproxy.cfg")).text),
      folder,
      replicas.map(({ url }) => new URL(url).port),
    );
    const dispatcher = new Agent({ connect: { ca } });
    onTestFinished(() => dispatcher.close());
    const get = async (path: string) => {
      const headers = { authorization: `Bearer ${replicas[0]?.key}` };
      const { statusCode, body } = await request(`https://127.0.0.1:${proxy}${path}`, { dispatcher, headers });
      await body.dump();
      return statusCode;
    };
    await eventually(async () => (await get("/readyz").catch(() => 0)) === 200 || undefined, "the proxy");
    for (let count = 0; count < 4; count += 1) expect(await get("/v1/robots")).toBe(200);
    for (const { url } of replicas) {
      const metrics = await (await fetch(`${url}/metrics`)).text();
      expect(metrics).toMatch(/_count\{.*route="\/v1\/robots".*\} 2$/m);
    }
    expect(await get("/metrics")).toBe(403);
    replicas[0]?.stop();
    await replicas[0]?.ended;
    for (let count = 0; count < 4; count += 1) expect(await get("/v1/robots")).toBe(200);
  });
});

test.skipIf(WITHOUT_POSTGRES || WITHOUT_PGBOUNCER)(
  "PgBouncer as the page has it → a service answers through it",
  async () => {
    await using postgres = await startPostgres();
    const { text } = await pageBlock("src/service/README.md: ; in /etc/pgbouncer/pgbouncer.ini");
    const [, database = "", settings = ""] = /^\[databases\]\n(.*)\n\n\[pgbouncer\]\n(.*)$/ms.exec(text) ?? [];
    expect(database).toMatch(/^\w+ = host=db\.example\.com dbname=\w+$/);
    await using pooler = await startPgbouncer(await postgres.createDatabase(), settings.trim().split("\n"));
    await using service = await startService({
      store: { kind: "postgres", url: pooler.url },
      dataDirectory: testFolder("pooler-blocks"),
    });
    expect(await service.robots()).toEqual([]);
  },
);

test.skipIf(isOnDesk && !["promtool", "openssl"].every(hasProgram))(
  "Prometheus → its configuration is valid",
  async () => {
    const folder = testFolder("prometheus-blocks");
    await makeCertificate(folder);
    const rules = join(import.meta.dirname, "../../../config/prometheus-alerts.example.yaml");
    const { text } = await pageBlock("src/service/PRODUCTION.md: # /etc/prometheus/prometheus.yml");
    const file = join(folder, "prometheus.yml");
    await writeFile(
      file,
      text
        .replace("/etc/prometheus/prometheus-alerts.example.yaml", rules)
        .replace("/etc/prometheus/ca.pem", join(folder, "ca.pem")),
    );
    expect((await execute(["promtool", "check", "config", file])).stdout).toMatch(/SUCCESS: \d+ rules found/);
  },
);

async function newFolder(parent: string, path: string): Promise<string> {
  const folder = join(parent, path);
  await mkdir(folder, { recursive: true });
  return folder;
}

/** By the two blocks of the service's page, and for the proxy `cat cert.pem key.pem`. */
async function makeCertificate(folder: string): Promise<void> {
  const authority = await pageBlock(
    "src/service/README.md: openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 3650",
  );
  const certificate = await pageBlock(
    "src/service/README.md: openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj '/CN=policy.example.com' -keyout key.pem -out request.pem",
  );
  const local = certificate.text.replace("192.0.2.10", "127.0.0.1");
  await execute(["sh", "-ec", `cd ${folder}\n${authority.text}\n${local}\ncat cert.pem key.pem >robot-policy.pem`]);
}

async function startReplica(folder: string, name: string, configuration: string) {
  const file = join(folder, `${name}.yaml`);
  await writeFile(file, configuration);
  const replica = startServiceCommand("serve", "--config", file, "--listen", "127.0.0.1:0");
  const { url, key } = await listening(replica, join(folder, "var/lib/robot-policy-service/bootstrap-key"));
  return { ...replica, url, key };
}

/** Starts HAProxy with Debian's defaults and this text. Resolves with its port. */
async function startProxy(text: string, folder: string, ports: readonly string[]): Promise<number> {
  const debian = await readFile("/etc/haproxy/haproxy.cfg", "utf8");
  const defaults = debian.slice(debian.indexOf("\ndefaults\n"));
  const port = await freePort();
  let count = 0;
  const own = text
    .replace(`${folder}/etc/haproxy/robot-policy.pem`, join(folder, "robot-policy.pem"))
    .replace("bind :443", `bind 127.0.0.1:${port}`)
    .replaceAll("127.0.0.1:8080", () => `127.0.0.1:${ports[count++] ?? ""}`);
  const file = join(folder, "haproxy.cfg");
  await writeFile(file, `${defaults}\n${own}`);
  const proxy = startProgram(["haproxy", "-db", "-f", file]);
  onTestFinished(async () => {
    proxy.child.kill("SIGKILL");
    await proxy.ended;
  });
  return port;
}
