/**
 * robot-policy-service in this process, for its output and exit code. Tests of signals, kills and systemd start SERVICE_PROGRAM instead.
 */
import { readFile } from "node:fs/promises";

import { onTestFinished } from "vitest";
import * as z from "zod";

import { runServiceProgram } from "../../../src/service/program.ts";
import { createTerminal } from "../../../src/cli/terminal.ts";
import type { StoreLocation } from "../../../src/service/kernel/store/store.ts";
import { eventually } from "../robot/robot.ts";

const listeningSchema = z.object({ event: z.literal("listening"), url: z.string() });

export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A running command such as `serve`. */
export interface RunningServiceCommand {
  readonly stdout: () => string;
  readonly stderr: () => string;
  /** Resolves with the exit code. */
  readonly ended: Promise<number>;
  /** Same as SIGTERM. */
  stop(): void;
  /** Same as SIGHUP. */
  hangUp(): void;
}

/** Starts a command, and stops it when the test ends. */
export function startServiceCommand(...argv: readonly string[]): RunningServiceCommand {
  const output = { stdout: "", stderr: "" };
  const stopping = new AbortController();
  let hangUp = () => {};
  const write = (stream: "stdout" | "stderr") => (text: string) => {
    output[stream] += text;
    return true;
  };
  const environment = { NO_COLOR: "1" };
  const ended = runServiceProgram(argv, {
    terminal: createTerminal({ stdout: { write: write("stdout") }, stderr: { write: write("stderr") }, environment }),
    // A log goes to the process's stream unless that is a file, which this one is not.
    stderr: { write: write("stderr"), once() {}, writableLength: 0, isTTY: true },
    openQuestions: () => null,
    openPerson: () => null,
    readSecret: async () => null,
    readInput: async () => "",
    environment,
    signal: stopping.signal,
    divertSignals: () => ({ [Symbol.dispose]() {} }),
    onHangup(callback) {
      hangUp = callback;
    },
    stopWithTerminal() {},
    program: "robot-policy-service",
    processId: process.pid,
    userId: process.getuid?.() ?? 0,
  });
  onTestFinished(async () => {
    stopping.abort();
    await ended;
  });
  return {
    stdout: () => output.stdout,
    stderr: () => output.stderr,
    ended,
    stop: () => stopping.abort(),
    hangUp: () => hangUp(),
  };
}

/** Runs a command and waits for its end. */
export async function runServiceCommand(...argv: readonly string[]): Promise<Ran> {
  const { ended, stdout, stderr } = startServiceCommand(...argv);
  const code = await ended;
  return { code, stdout: stdout(), stderr: stderr() };
}

/** Resolves when `serve` listens, with its URL and the key of the bootstrap key file. @throws the output, if the command ends instead. */
export async function listening(
  { stdout, stderr, ended }: Pick<RunningServiceCommand, "stdout" | "stderr"> & { readonly ended: Promise<unknown> },
  keyFile: string,
): Promise<{ url: string; key: string }> {
  let hasEnded = false;
  void ended.then(() => (hasEnded = true));
  const line = await eventually(async () => {
    if (stdout().includes("\n")) return stdout();
    if (hasEnded) throw new Error(`It ended: ${stderr()}`);
    return undefined;
  }, "the line with the URL");
  const { url } = listeningSchema.parse(JSON.parse(line));
  return { url, key: (await readFile(keyFile, "utf8")).trim() };
}

/** The flags that select the store. */
export function storeFlags(location: StoreLocation): readonly string[] {
  return location.kind === "sqlite" ? ["--data", location.dataDirectory] : ["--database", location.url];
}
