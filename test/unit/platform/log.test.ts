import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";

import { expect, test } from "vitest";

import { maskWholeKeys } from "../../../src/api/wire/service-key.ts";
import { createLog, type LogOptions } from "../../../src/platform/log/log.ts";
import { endWithTest } from "../../support/programs/children.ts";
import { execute } from "../../support/programs/execute.ts";

/** The log line of one event in this format, without its time. */
async function lineOf(format: LogOptions["format"], fields: Readonly<Record<string, unknown>>): Promise<string> {
  const written = Promise.withResolvers<string>();
  createLog({ level: "info", format }, maskWholeKeys, () => ({ write: written.resolve })).warn("finding", fields);
  const line = await written.promise;
  return line.replace(/"time":"[^"]+",|^[\d:]+ /, "");
}

const LINK = "x\n12:00:00 info  registered robot=evil\u001B[2J\u202Eabc";

test.each([
  [
    "json",
    { path: LINK },
    String.raw`{"level":"warn","path":"x\n12:00:00 info  registered robot=evil\u001b[2J\u202eabc","event":"finding"}`,
  ],
  ["text", { path: LINK }, String.raw`warn  finding path="x\n12:00:00 info  registered robot=evil\u001b[2J\u202eabc"`],
  ["text", { id: "file_missing", where: "/etc/a.yaml:3:1" }, "warn  finding id=file_missing where=/etc/a.yaml:3:1"],
  ["text", { detail: "no robot=b", lines: 3, empty: "" }, 'warn  finding detail="no robot=b" lines=3 empty=""'],
] as const)(
  "createLog: untrusted text as %s → neither starts a line nor adds a field: %j",
  async (format, fields, expected) => {
    expect(await lineOf(format, fields)).toBe(`${expected}\n`);
  },
);

test.each(["json", "text"] as const)("createLog: any line as %s → bounded, without keys", async (format) => {
  const key = "sk_live_0123456789abcdef";
  const long = "N".repeat(900_000);
  const line = await lineOf(format, { detail: `not ${key}`, robot: { id: key }, name: long, list: [long] });
  expect(line).not.toContain(key);
  expect(line.length).toBeLessThan(10_000);
});

const outputPath = JSON.stringify(join(import.meta.dirname, "../../../src/platform/log/log-output.ts"));
const logPath = JSON.stringify(join(import.meta.dirname, "../../../src/platform/log/log.ts"));

/** Writes 5,000 lines of a kilobyte while nobody reads, and one more on request. */
const CHATTY = `
  import { createLog } from ${logPath};
  import { openLogOutput } from ${outputPath};
  const log = createLog({ level: "info", format: "json" }, (text) => text, (dropped) => openLogOutput({ stderr: process.stderr, environment: {} }, dropped));
  log.info("first");
  while (process.stderr.bytesWritten === 0) await new Promise(setImmediate);
  for (let index = 0; index < 5000; index += 1) log.info("written", { text: "x".repeat(1000) });
  console.log(process.stderr.writableLength);
  process.stdin.once("data", () => log.info("last")).once("end", () => process.exit());`;

test("createLog: reader stalls → the program continues, dropped lines are counted", async () => {
  const child = spawn(process.execPath, ["--input-type=module", "-e", CHATTY], { stdio: "pipe" });
  endWithTest(child);
  expect(Number(await once(child.stdout, "data"))).toBeLessThan(1_000_000);
  let log = "";
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
    log += chunk;
  });
  await expect.poll(() => log).toContain("log-lines-dropped");
  child.stdin.write("\n");
  await expect.poll(() => log).toContain('"event":"last"');
  child.stdin.end();
  await once(child, "exit");
  const lines = log
    .trimEnd()
    .split("\n")
    .map((line): { event: string; lines?: number } => JSON.parse(line));
  const [dropped, ...again] = lines.filter(({ event }) => event === "log-lines-dropped");
  expect(again).toEqual([]);
  expect(lines.filter(({ event }) => event === "written").length + (dropped?.lines ?? 0)).toBe(5000);
  expect(dropped?.lines).toBeGreaterThan(1000);
});

test("openLogOutput: disk full → lines are lost, the program continues", async () => {
  const script = `
    import { openLogOutput } from ${outputPath};
    const output = openLogOutput({ stderr: process.stderr, environment: {} }, () => {});
    for (const line of ["a\\n", "b\\n"]) output.write(line);
    console.log("alive");`;
  const args = ["-c", 'exec "$@" 2>/dev/full', "sh", process.execPath, "--input-type=module", "-e", script];
  const { stdout } = await execute(["sh", ...args]);
  expect(stdout).toBe("alive\n");
});

/** A log of every level whose stderr is what JOURNAL_STREAM names, or not. */
const PRIORITIES = `
  import { fstatSync } from "node:fs";
  import { createLog } from ${logPath};
  import { openLogOutput } from ${outputPath};
  const { dev, ino } = fstatSync(2);
  const environment = { JOURNAL_STREAM: process.argv[1].replace("stderr", dev + ":" + ino) };
  const context = { stderr: process.stderr, environment };
  const log = createLog({ level: "debug", format: process.argv[2] }, (text) => text, (dropped) => openLogOutput(context, dropped));
  for (const level of ["error", "warn", "notice", "info", "debug"]) log[level]("said", { text: "two\\nlines" });`;

test.each([
  ["stderr", "json", ["<3>{", "<4>{", "<5>{", "<6>{", "<7>{"]],
  ["stderr", "text", ["<3>", "<4>", "<5>", "<6>", "<7>"]],
  ["8:12345", "json", ["{", "{", "{", "{", "{"]],
  ["", "json", ["{", "{", "{", "{", "{"]],
])("openLogOutput: JOURNAL_STREAM '%s', %s → each line begins with %j", async (stream, format, begins) => {
  const argv = ["--input-type=module", "-e", PRIORITIES, stream, format];
  const { stderr } = await execute([process.execPath, ...argv]);
  const lines = stderr.trimEnd().split("\n");
  expect(lines.map((line, index) => line.startsWith(begins[index] ?? "?") && !line.slice(3).includes("<"))).toEqual(
    begins.map(() => true),
  );
});
