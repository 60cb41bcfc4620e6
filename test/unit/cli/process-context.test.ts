import { join } from "node:path";

import { describe, expect, test } from "vitest";

import { startWords } from "../../support/command.ts";

const module_path = join(import.meta.dirname, "../../../src/cli/process-context.ts");

/** A program of these lines, with `context` as its process context. */
function start(lines: string) {
  const text = `
    import { endProcess, openProcess } from ${JSON.stringify(module_path)};
    const context = openProcess(process);
    ${lines}`;
  return startWords([process.execPath, "--input-type=module", "-e", text]);
}

describe("openProcess", () => {
  test("openProcess: the first SIGINT aborts, the second one ends a program that does not listen", async () => {
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

  test("openProcess: SIGHUP calls back, and before anybody listens it harms nobody", async () => {
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

  test("openProcess: nobody can be asked off a terminal", async () => {
    await using program = start(`console.log(String(context.openQuestions())); process.exit(0);`);
    await program.wrote("null");
  });
});

describe("endProcess", () => {
  test("endProcess: everything is written, and what is still open does not hold the process", async () => {
    await using program = start(`
      setInterval(() => {}, 60_000);
      process.stdout.write("x".repeat(3_000_000));
      void endProcess(process, 3);`);
    expect(await program.ended()).toBe(3);
    expect(program.output().length).toBe(3_000_000);
  });
});
