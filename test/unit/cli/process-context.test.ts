/** @module-tag needs/program */
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { describe, expect, test } from "vitest";

import { EXIT } from "../../../src/platform/terminal.ts";
import { type RunningCommand, startWords } from "../../support/programs/command.ts";

const modulePath = join(import.meta.dirname, "../../../src/cli/process-context.ts");

/** Starts a program of these lines, with `context` as its process context. */
function start(lines: string): RunningCommand {
  return startWords(wordsFor(lines));
}

function wordsFor(lines: string): readonly string[] {
  const text = `
    import { endProcess, openProcess } from ${JSON.stringify(modulePath)};
    const context = openProcess(process);
    ${lines}`;
  return [process.execPath, "--input-type=module", "-e", text];
}

describe("openProcess", () => {
  test("openProcess: first SIGINT → abort; second one → ends a program that ignores the abort", async () => {
    await using program = start(`
      context.signal.addEventListener("abort", () => console.log(context.signal.reason.name));
      setInterval(() => {}, 60_000);
      console.log("ready");`);
    await program.wrote("ready");
    program.child.kill("SIGINT");
    await program.wrote("Interrupted");
    expect(program.child.exitCode).toBeNull();
    program.child.kill("SIGINT");
    expect(await program.ended()).toBe(130);
  });

  test("openProcess: signals are diverted → received, and nothing stops; afterwards they stop", async () => {
    await using program = start(`
      context.signal.addEventListener("abort", () => console.log(context.signal.reason.name));
      const seen = [];
      const diverted = context.divertSignals((signal) => {
        console.log(seen.push(signal) + signal);
        if (seen.length === 3) diverted[Symbol.dispose]();
      });
      setInterval(() => {}, 60_000);
      console.log("ready");`);
    await program.wrote("ready");
    for (const [index, signal] of (["SIGINT", "SIGINT", "SIGTERM"] as const).entries()) {
      program.child.kill(signal);
      await program.wrote(`${index + 1}${signal}`);
    }
    expect(program.output()).not.toContain("Interrupted");
    program.child.kill("SIGTERM");
    await program.wrote("Interrupted");
  });

  test("openProcess: SIGHUP → callback; without a listener → ignored", async () => {
    await using program = start(`
      process.stdin.once("data", () => context.onHangup(() => { console.log("hangup"); process.exit(0); }));
      process.stdin.on("data", () => console.log("listening"));
      console.log("ready");`);
    await program.wrote("ready");
    program.child.kill("SIGHUP");
    program.child.stdin?.write("go on\n");
    await program.wrote("listening");
    program.child.kill("SIGHUP");
    await program.wrote("hangup");
    expect(await program.ended()).toBe(0);
  });

  test("openProcess: no terminal → no questions", async () => {
    await using program = start(`console.log(String(context.openQuestions())); process.exit(0);`);
    await program.wrote("null");
  });
});

describe("endProcess", () => {
  const print = 'context.terminal.print("once"); context.terminal.print("more"); void endProcess(process, 0);';

  test("endProcess: unwritable output → reported once, exit code of a failure", async () => {
    await using program = startWords(["sh", "-c", 'exec "$@" >/dev/full', "sh", ...wordsFor(print)]);
    expect(await program.ended()).toBe(1);
    expect(program.output().match(/cannot write the output \(ENOSPC\)/g)).toHaveLength(1);
  });

  test("endProcess: last write fails → failure", async () => {
    const lines = 'context.terminal.print("the key"); void endProcess(process, 0);';
    await using program = startWords(["sh", "-c", 'exec "$@" >/dev/full', "sh", ...wordsFor(lines)]);
    expect(await program.ended()).toBe(1);
    expect(program.output()).toContain("cannot write the output (ENOSPC)");
  });

  test("endProcess: nothing written to an unwritable output → success", async () => {
    await using program = startWords([
      "sh",
      "-c",
      'exec "$@" >/dev/full',
      "sh",
      ...wordsFor("void endProcess(process, 0);"),
    ]);
    expect(await program.ended()).toBe(0);
    expect(program.output()).toBe("");
  });

  test("endProcess: reader closes the pipe → success", async () => {
    const lines = `setTimeout(() => { ${print} }, 100);`;
    await using program = startWords([
      "bash",
      "--norc",
      "-c",
      '"$@" | true; exit ${PIPESTATUS[0]}',
      "bash",
      ...wordsFor(lines),
    ]);
    expect(await program.ended()).toBe(0);
    expect(program.output()).toBe("");
  });

  test("endProcess: log that nobody reads → the process ends", async () => {
    await using program = start(`
      process.stderr.write("x".repeat(3_000_000));
      void endProcess(process, 3);`);
    program.child.stderr?.pause();
    const [code] = await once(program.child, "exit");
    expect(code).toBe(3);
  });

  test.each([
    [EXIT.ok, 0],
    [EXIT.failed, 1],
    [EXIT.usage, 2],
    [EXIT.invalid, 78],
    [EXIT.unreachable, 69],
    [EXIT.unauthorized, 77],
    [EXIT.rejected, 65],
    [EXIT.conflict, 79],
    [EXIT.interrupted, 130],
  ])(
    "endProcess: exit code %i, in a unit → %i, by a name of systemd that says the same, or none",
    async (code, inUnit) => {
      const words = wordsFor(`void endProcess(process, ${code});`);
      await using unit = startWords(["env", "ROBOT_POLICY_EXIT_CODES=sysexits", ...words]);
      await using shell = startWords(words);
      expect([await unit.ended(), await shell.ended()]).toEqual([inUnit, code]);
    },
  );

  test("endProcess: open handles → all output is written, the process ends", async () => {
    await using program = start(`
      setInterval(() => {}, 60_000);
      process.stdout.write("x".repeat(3_000_000));
      void endProcess(process, 3);`);
    expect(await program.ended()).toBe(3);
    expect(program.output().length).toBe(3_000_000);
  });

  test("endProcess: hanging disk → the process ends", async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), "end-process-"));
    const pipe = join(folder.path, "pipe");
    expect(spawnSync("mkfifo", [pipe]).status).toBe(0);
    await using program = start(`
      import { open } from "node:fs";
      open(${JSON.stringify(pipe)}, "r", () => {});
      void endProcess(process, 3);`);
    expect(await program.ended()).toBe(3);
  });
});
