import { spawn } from "node:child_process";
import type { ChildProcessWithoutNullStreams } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import * as z from "zod";
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from "vitest";

import { systemRandom } from "../../../src/platform/random.ts";
import { createApiKey, isApiKey } from "../../../src/service/auth/api-key.ts";

const PROGRAM = fileURLToPath(new URL("../../../src/service.ts", import.meta.url));
const listeningSchema = z.object({ event: z.literal("listening"), url: z.string() });
const DIGEST = `sha256:${"0".repeat(64)}`;

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "serve-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

interface Program {
  readonly child: ChildProcessWithoutNullStreams;
  readonly stdout: () => string;
  readonly stderr: () => string;
  /** Resolves with the exit code, or the name of the signal. */
  readonly ended: Promise<number | string>;
}

function run(...words: readonly string[]): Program {
  const child = spawn(process.execPath, [PROGRAM, ...words]);
  onTestFinished(() => void child.kill("SIGKILL"));
  const output = { stdout: "", stderr: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output.stdout += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    output.stderr += text;
  });
  const ended = once(child, "close").then(([code, signal]) => code ?? signal);
  return { child, stdout: () => output.stdout, stderr: () => output.stderr, ended };
}

const serveHere = (...words: readonly string[]) =>
  run(
    "serve",
    "--data",
    join(folder, "data"),
    "--listen",
    "127.0.0.1:0",
    "--bootstrap-key-file",
    join(folder, "key"),
    ...words,
  );

async function listening(program: Program): Promise<{ url: string; key: string }> {
  await Promise.race([once(program.child.stdout, "data"), program.ended]);
  const { url } = listeningSchema.parse(JSON.parse(program.stdout()));
  return { url, key: (await readFile(join(folder, "key"), "utf8")).trim() };
}

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
  it("prints one line, makes a key for its user alone, and stops cleanly when told to", async () => {
    const program = serveHere();
    const { url, key } = await listening(program);
    expect(isApiKey(key)).toBe(true);
    expect((await stat(join(folder, "key"))).mode & 0o777).toBe(0o600);
    expect((await stat(join(folder, "data"))).mode & 0o777).toBe(0o700);
    expect((await register(url, key, "r1")).status).toBe(200);
    program.child.kill("SIGTERM");
    expect(await program.ended).toBe(0);
    expect(program.stdout()).toBe(`${JSON.stringify({ event: "listening", url })}\n`);
    expect(program.stderr()).not.toContain(key.slice(0, 20));
  });

  it("holds every acknowledged registration when it is killed in the middle", async () => {
    const first = serveHere();
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
    const again = await listening(serveHere());
    expect(again.key).toBe(key);
    expect(await namesAt(again.url, key)).toEqual(expect.arrayContaining(acknowledged));
  });

  it("adopts the key a lab has put there, on a data directory that knows others", async () => {
    const first = serveHere();
    const before = await listening(first);
    await register(before.url, before.key, "r1");
    first.child.kill("SIGTERM");
    await first.ended;
    const key = createApiKey(systemRandom);
    await writeFile(join(folder, "key"), ` ${key}\r\n`);
    await chmod(join(folder, "key"), 0o644);
    const second = serveHere();
    const after = await listening(second);
    expect(await namesAt(after.url, key)).toEqual(["r1"]);
    expect(await namesAt(after.url, before.key)).toEqual(["r1"]);
    expect(second.stderr()).toContain(`chmod 600 ${join(folder, "key")}`);
  });

  it("refuses a directory another one serves, and names it", async () => {
    await listening(serveHere());
    const second = serveHere();
    expect(await second.ended).toBe(1);
    expect(second.stdout()).toBe("");
    expect(second.stderr()).toContain("Another robot-policy-service runs on this data directory");
    expect(second.stderr()).toContain(join(folder, "data"));
  });

  it.each([
    ["a key file without a key", async () => writeFile(join(folder, "key"), "hello"), "holds no API key"],
    [
      "a key file that is a pipe",
      async () => void (await once(spawn("mkfifo", [join(folder, "key")]), "close")),
      "not a regular file",
    ],
    ["data that is a file", async () => writeFile(join(folder, "data"), ""), "data directory cannot be used"],
  ])("refuses %s, with what to do", async (_what, prepare, message) => {
    await prepare();
    const program = serveHere();
    expect(await program.ended).toBe(1);
    expect(program.stderr()).toContain(message);
    expect(program.stderr()).not.toMatch(/\n\s+at /);
  });

  it("refuses a port that is taken", async () => {
    const { url } = await listening(serveHere());
    const other = run("serve", "--data", join(folder, "other"), "--listen", new URL(url).host);
    expect(await other.ended).toBe(1);
    expect(other.stderr()).toContain("Another program listens there");
  });

  it.each([
    [["serve"], "--data"],
    [["serve", "--data", "x", "--listen", "nowhere"], "HOST:PORT"],
    [["serve", "--data", "x", "--listen", "127.0.0.1:70000"], "HOST:PORT"],
    [["serve", "--data", "x", "--log-level", "loud"], "--log-level"],
    [["fly"], "fly"],
  ])("%j: usage", async (words, message) => {
    const program = run(...words);
    expect(await program.ended).toBe(2);
    expect(program.stderr()).toContain(message);
  });
});
