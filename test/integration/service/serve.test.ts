/** @module-tag needs/program */
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmod, copyFile, mkdtemp, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import * as z from "zod";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";

import { systemRandom } from "../../../src/platform/random.ts";
import { API_KEY_PREFIX, createToken, isToken } from "../../../src/service/kernel/auth/token.ts";
import { SERVICE_PROGRAM } from "../../support/programs/programs-built.ts";
import { asNobody, canBecomeNobody, canListenToNotify, hasProgram, isRoot } from "../../support/programs/programs.ts";
import { openNotifySocket } from "../../support/robot/systemd.ts";
import { listening as untilListening, startServiceCommand } from "../../support/service/service-command.ts";
import { type ServiceProcess, startServiceProcess } from "./service-process.ts";

const DIGEST = `sha256:${"0".repeat(64)}`;

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "serve-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
});

function startProgram(argv: readonly string[], environment?: Readonly<Record<string, string>>): ServiceProcess {
  const program = startServiceProcess(argv, environment);
  onTestFinished(() => program.kill());
  return program;
}

const run = startServiceCommand;

/** Never resolves, and causes no DNS query: labels have at most 63 characters (RFC 1035, 2.3.4). */
const INVALID_HOST = `${"x".repeat(64)}.invalid`;

const serveArgv = (argv: readonly string[]) => [
  "serve",
  "--data",
  join(folder, "data"),
  "--listen",
  "127.0.0.1:0",
  "--bootstrap-key-file",
  join(folder, "key"),
  ...argv,
];
const serveHere = (...argv: readonly string[]) => startServiceCommand(...serveArgv(argv));
const serveProgram = (...argv: readonly string[]) => startProgram(serveArgv(argv));
const listening = (program: Parameters<typeof untilListening>[0]) => untilListening(program, join(folder, "key"));

function register(url: string, key: string, name: string): Promise<Response> {
  return fetch(`${url}/v1/robots/setup`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ name, robot_type_id: "t", region: "x", configuration_digest: DIGEST }),
  });
}

async function namesAt(url: string, key: string): Promise<string[]> {
  const answer = await fetch(`${url}/v1/robots`, { headers: { authorization: `Bearer ${key}` } });
  return z
    .array(z.object({ name: z.string() }))
    .parse(await answer.json())
    .map(({ name }) => name);
}

describe("robot-policy-service serve", () => {
  it("start → one line on stdout, a key file that only the user can read; SIGTERM → clean exit", async () => {
    const program = serveProgram();
    const { url, key } = await listening(program);
    expect(isToken(API_KEY_PREFIX, key)).toBe(true);
    expect((await stat(join(folder, "key"))).mode & 0o777).toBe(0o600);
    expect((await stat(join(folder, "data"))).mode & 0o777).toBe(0o700);
    expect((await register(url, key, "r1")).status).toBe(200);
    program.child.kill("SIGTERM");
    expect(await program.ended).toBe(0);
    expect(program.stdout()).toBe(`${JSON.stringify({ event: "listening", url })}\n`);
    expect(program.stderr()).not.toContain(key.slice(0, 20));
    expect(program.stderr()).toMatch(/"event":"stopping"\}\n.*"event":"stopped"\}\n$/);
  });

  it("SIGKILL during registrations → every acknowledged robot is stored after the restart", async () => {
    const first = serveProgram();
    const { url, key } = await listening(first);
    const acknowledged: string[] = [];
    const robots = Array.from({ length: 200 }, (_, index) => `r${index}`);
    const sent = robots.map(async (name) => {
      const { status } = await register(url, key, name);
      if (status === 200 && acknowledged.push(name) === 50) first.child.kill("SIGKILL");
    });
    await Promise.allSettled(sent);
    expect(await first.ended).toBe("SIGKILL");
    expect(acknowledged.length).toBeGreaterThanOrEqual(50);
    const again = await listening(serveProgram());
    expect(again.key).toBe(key);
    expect(await namesAt(again.url, key)).toEqual(expect.arrayContaining(acknowledged));
  });

  it("key file replaced by an administrator → both keys work; mode 0644 → a warning with the chmod command", async () => {
    const first = serveHere();
    const before = await listening(first);
    await register(before.url, before.key, "r1");
    first.stop();
    await first.ended;
    const key = createToken(API_KEY_PREFIX, systemRandom);
    await writeFile(join(folder, "key"), ` ${key}\r\n`);
    await chmod(join(folder, "key"), 0o644);
    const second = serveHere();
    const after = await listening(second);
    expect(await namesAt(after.url, key)).toEqual(["r1"]);
    expect(await namesAt(after.url, before.key)).toEqual(["r1"]);
    expect(second.stderr()).toContain(`chmod 600 ${join(folder, "key")}`);
  });

  it("data directory of another running service → exit 1, the error names the directory", async () => {
    await listening(serveProgram());
    const second = serveProgram();
    expect(await second.ended).toBe(1);
    expect(second.stdout()).toBe("");
    expect(second.stderr()).toContain("another robot-policy-service runs on this data directory");
    expect(second.stderr()).toContain(join(folder, "data"));
  });

  it.each([
    [
      "a key file without a key",
      async () => writeFile(join(folder, "key"), "hello"),
      "is no key file: it does not hold one API key",
    ],
    ["an empty key file", async () => writeFile(join(folder, "key"), ""), "bootstrap key file is empty"],
    [
      "a key file that is a pipe",
      async () => void (await once(spawn("mkfifo", [join(folder, "key")]), "close")),
      "not a regular file",
    ],
    [
      "a data directory that is a file",
      async () => writeFile(join(folder, "data"), ""),
      "cannot be used: a file, or a link that leads nowhere, has that name already",
    ],
    [
      "a data directory that is a dangling link",
      async () => symlink("nowhere", join(folder, "data")),
      "cannot be used: a file, or a link that leads nowhere, has that name already",
    ],
  ])("%s → exit 1, an error without stack trace or error number", async (_what, prepare, message) => {
    await prepare();
    const program = serveHere();
    expect(await program.ended).toBe(1);
    expect(program.stderr()).toContain(message);
    expect(program.stderr()).not.toMatch(/\n\s+at |E[A-Z]{4,}|Remove the file/);
  });

  it.each([
    ["a key file in a missing directory", ["--bootstrap-key-file", "/proc/nowhere/key"], "bootstrap-key"],
    ["a data directory that cannot be created", ["--data", "/proc/nowhere"], "data-directory-unusable"],
  ])("%s → exit 1, the error names the missing directory", async (_what, argv, code) => {
    const program = serveHere(...argv);
    expect(await program.ended).toBe(1);
    expect(program.stderr()).toContain(code);
    expect(program.stderr()).toContain("there is no such file or directory");
  });

  it.skipIf(!canBecomeNobody)(
    "command without access to the data directory → exit 1, the error names the right user",
    async () => {
      const first = serveHere();
      await listening(first);
      await chmod(folder, 0o755);
      for (const argv of [
        ["orgs", "list"],
        ["backup", "/tmp/nowhere/b.db"],
      ]) {
        const [program = "", ...more] = [
          ...asNobody,
          process.execPath,
          SERVICE_PROGRAM,
          ...argv,
          "--data",
          join(folder, "data"),
        ];
        const { status, stderr } = spawnSync(program, more, { encoding: "utf8" });
        expect([status, stderr]).toEqual([1, expect.stringContaining("this user has no permission")]);
        expect(stderr).toContain("run this as root or as the user of the service");
      }
    },
  );

  it("unreachable database whose URL requires TLS → one error with one remedy, no warning", async () => {
    const program = run("orgs", "list", "--database", "postgres://u:p@127.0.0.1:1/d?sslmode=require");
    expect(await program.ended).toBe(1);
    expect(program.stderr()).toMatch(/^error: [^\n]+\n {2}→ [^\n]+\n$/);
  });

  it("address in use, of another computer, or that cannot be resolved → exit 1, the error names it", async () => {
    const { host } = new URL((await listening(serveHere())).url);
    for (const [address, message] of [
      [host, "another program listens there"],
      ["192.0.2.1:8080", "this computer does not have that address (192.0.2.1:8080)"],
      [`${INVALID_HOST}:8080`, `(${INVALID_HOST}:8080)`],
    ] as const) {
      const other = run("serve", "--data", join(folder, "other"), "--listen", address);
      expect(await other.ended).toBe(1);
      expect(other.stderr()).toContain(message);
    }
  });

  it.each([
    [["serve"], "--data"],
    [["serve", "--data", "x", "--listen", "nowhere"], "HOST:PORT"],
    [["serve", "--data", "x", "--listen", "127.0.0.1:70000"], "HOST:PORT"],
    [["serve", "--data", "x", "--log-level", "loud"], "--log-level"],
    [["serve", "--data", "x", "--database", "postgres://h/d"], "--database"],
    [["serve", "--database", "mysql://u:hunter2@h/d"], "--database"],
    [["fly"], "fly"],
  ])("%j → usage error", async (argv, message) => {
    const program = run(...argv);
    expect(await program.ended).toBe(2);
    expect(program.stderr()).toContain(message);
  });
});

describe("robot-policy-service serve --config", () => {
  const configure = async (text: string): Promise<string> => {
    const path = join(folder, "config.yaml");
    await writeFile(path, text);
    return path;
  };
  const usual = () =>
    `listen: 127.0.0.1:0\ndata: ${join(folder, "data")}\nbootstrap_key_file: ${join(folder, "key")}\n`;

  it("file → address, data directory, request log and metrics as configured", async () => {
    const path = await configure(`${usual()}log: { requests: true }\nmetrics: false\n`);
    const program = run("serve", "--config", path);
    const { url, key } = await listening(program);
    expect((await register(url, key, "r1")).status).toBe(200);
    expect((await fetch(`${url}/metrics`)).status).toBe(404);
    await expect.poll(program.stderr).toContain('"path":"/v1/robots/setup"');
  });

  it("a flag and the file differ → the flag wins", async () => {
    const path = await configure(`listen: ${INVALID_HOST}:1\ndata: /proc/nowhere\nlog: { level: silent }\n`);
    const { url } = await listening(serveHere("--config", path, "--log-level", "debug", "--no-rate-limit"));
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
  });

  it("errors in the file → exit 3, each error with its line and column", async () => {
    const path = await configure("listen: 127.0.0.1\ndatta: /d\n");
    const program = run("serve", "--config", path);
    expect(await program.ended).toBe(3);
    expect(program.stderr()).toContain(`${path}:1:9: error address_format:`);
    expect(program.stderr()).toContain("did you mean data?");
    expect(program.stderr()).toContain("    datta: /d\n    ^");
  });

  it.each([
    ["a missing file", "missing.yaml", "there is no such file"],
    ["a directory", ".", "not a regular file"],
  ])("%s → exit 3, the error says what it is", async (_what, name, message) => {
    const program = run("serve", "--config", join(folder, name));
    expect(await program.ended).toBe(3);
    expect(program.stderr()).toContain(message);
  });

  it("database.url_file → the URL is read from that file, and no error shows the password", async () => {
    await writeFile(join(folder, "url"), "postgres://robots:hunter2@127.0.0.1:1/robots\n");
    const path = await configure(`database: { url_file: ${join(folder, "url")} }\n`);
    const program = run("serve", "--config", path, "--listen", "127.0.0.1:0");
    expect(await program.ended).toBe(1);
    expect(program.stderr()).toContain("postgres://robots@127.0.0.1:1/robots");
    expect(program.stderr()).not.toContain("hunter2");
    await writeFile(join(folder, "url"), "hunter2");
    const other = run("serve", "--config", path);
    expect(await other.ended).toBe(1);
    expect(other.stderr()).toContain("database-url-invalid");
    expect(other.stderr()).not.toContain("hunter2");
  });

  it("--check → checks configuration, certificate and models, writes nothing", async () => {
    const good = await configure(usual());
    const checked = run("serve", "--check", "--config", good);
    expect(await checked.ended).toBe(0);
    expect(checked.stdout().split("\n")).toEqual([
      "ok configuration",
      "not checked: the address, the store, the bootstrap key",
      ...(isRoot ? [expect.stringContaining("whether the unit's own user can read these files")] : []),
      "",
    ]);
    await expect(stat(join(folder, "data"))).rejects.toThrow("ENOENT");
    await writeFile(join(folder, "models.yaml"), "models: [{ slug: X }]\n");
    const bad = await configure(
      `${usual()}models: ${join(folder, "models.yaml")}\ntls: { cert_file: /nowhere/c, key_file: /nowhere/k }\n`,
    );
    const refused = run("serve", "--check", "--config", bad);
    expect(await refused.ended).toBe(3);
    expect(refused.stderr()).toContain("tls-certificate-unreadable");
    expect(refused.stderr()).toContain(`${join(folder, "models.yaml")}:1:`);
    expect(await run("serve", "--config", bad).ended).toBe(3);
  });

  it("--check, secret file of mode 0644 → a warning; of mode 0640 → none", async () => {
    const path = await configure(`database: { url_file: ${join(folder, "url")} }\n`);
    await writeFile(join(folder, "url"), "postgres://robots:hunter2@127.0.0.1:1/robots\n");
    await chmod(join(folder, "url"), 0o644);
    const checked = run("serve", "--check", "--config", path);
    expect(await checked.ended).toBe(0);
    expect(checked.stderr()).toContain(`every user of this computer can read ${join(folder, "url")}`);
    await chmod(join(folder, "url"), 0o640);
    const quiet = run("serve", "--check", "--config", path);
    expect([await quiet.ended, quiet.stderr()]).toEqual([0, ""]);
  });

  it("plain HTTP on a public address → a warning, unless trusted_proxies is set", async () => {
    const open = serveHere("--listen", "0.0.0.0:0");
    await listening(open);
    expect(open.stderr()).toContain("listening_without_tls");
    open.stop();
    await open.ended;
    const path = await configure("trusted_proxies: [10.0.0.1]\n");
    const behind = serveHere("--listen", "0.0.0.0:0", "--config", path);
    await listening(behind);
    expect(behind.stderr()).not.toContain("listening_without_tls");
  });
});

describe("robot-policy-service serve --models", () => {
  const EXAMPLE = fileURLToPath(new URL("../../../config/models.example.yaml", import.meta.url));
  const modelsAt = async (url: string, key: string): Promise<string> =>
    (await fetch(`${url}/v1/models`, { headers: { authorization: `Bearer ${key}` } })).text();

  it("SIGHUP → the changed catalog is offered; an invalid catalog → the old one stays in force", async () => {
    const path = join(folder, "models.yaml");
    await copyFile(EXAMPLE, path);
    const program = serveProgram("--models", path);
    const { url, key } = await listening(program);
    expect(await modelsAt(url, key)).toContain('"slug":"pi0.5"');
    await writeFile(path, "models: [{ slug: X }]\n");
    program.child.kill("SIGHUP");
    await expect.poll(program.stderr).toContain("models_refused");
    expect(await modelsAt(url, key)).toContain('"slug":"pi0.5"');
    await writeFile(path, (await readFile(EXAMPLE, "utf8")).replace(/display_name: .*/, "display_name: renamed"));
    program.child.kill("SIGHUP");
    await expect.poll(() => modelsAt(url, key)).toContain('"display_name":"renamed"');
  });

  it("invalid catalog → exit 3, the error names the line", async () => {
    const path = join(folder, "models.yaml");
    await writeFile(path, "models:\n  - slug: X\n");
    const program = serveHere("--models", path);
    expect(await program.ended).toBe(3);
    expect(program.stderr()).toContain(`${path}:2:`);
    expect(program.stdout()).toBe("");
  });
});

describe.skipIf(!canListenToNotify)("robot-policy-service serve under systemd", () => {
  it("sends READY=1 once it accepts requests, WATCHDOG=1 while it runs, STOPPING=1 when it stops", async () => {
    await using socket = await openNotifySocket(join(folder, "notify"));
    const program = startProgram(["serve", "--data", join(folder, "data"), "--listen", "127.0.0.1:0"], {
      NOTIFY_SOCKET: socket.path,
      WATCHDOG_USEC: "200000",
    });
    const { lines } = await socket.awaits("READY=1");
    const url = /^STATUS=Listening on (\S+)$/.exec(lines.find((line) => line.startsWith("STATUS=")) ?? "")?.[1];
    expect((await fetch(`${url}/readyz`)).status).toBe(200);
    await socket.awaits("WATCHDOG=1");
    program.child.kill("SIGTERM");
    await socket.awaits("STOPPING=1");
    expect(await program.ended).toBe(0);
  });
});

describe("systemd/robot-policy-service.service", () => {
  const UNIT = fileURLToPath(new URL("../../../systemd/robot-policy-service.service", import.meta.url));

  it.skipIf(!hasProgram("systemd-analyze"))("systemd-analyze security → exposure level 2.0 at most", () => {
    const report = execFileSync("systemd-analyze", ["security", "--offline=true", "--threshold=20", UNIT], {
      encoding: "utf8",
    });
    expect(Number(/Overall exposure level for \S+: ([\d.]+)/.exec(report)?.[1])).toBeLessThanOrEqual(2);
  });
});
