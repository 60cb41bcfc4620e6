/** Other programs, run to their end. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir } from "node:fs/promises";
import { dirname } from "node:path";
import { text } from "node:stream/consumers";

import { PATIENCE_MS } from "../run/patience.ts";
import { endWithTest } from "./children.ts";

export interface Executed {
  /** The exit code; 128 and the signal's number where a signal ended it, as in a shell. */
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface ExecuteOptions {
  readonly input?: string;
  /** After this it is killed, and that is an error. */
  readonly limitMs?: number;
  /** An exit code beside 0 is an answer like another. */
  readonly may_fail?: boolean;
  readonly environment?: Readonly<Record<string, string>>;
}

/** @throws what the program wrote, when it fails or does not come to an end. */
export async function execute(words: readonly string[], options: ExecuteOptions = {}): Promise<Executed> {
  const { input = "", limitMs = PATIENCE_MS, may_fail: mayFail = false, environment } = options;
  const [program = "", ...args] = words;
  const child = spawn(program, args, { env: { ...process.env, ...environment }, stdio: ["pipe", "pipe", "pipe"] });
  endWithTest(child);
  let isLate = false;
  const alarm = setTimeout(() => {
    isLate = true;
    child.kill("SIGKILL");
  }, limitMs);
  // A program that does not read its input ends all the same.
  child.stdin.on("error", () => {}).end(input);
  const [stdout, stderr, [code, signal]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, "close") as Promise<[number | null, NodeJS.Signals | null]>,
  ]);
  clearTimeout(alarm);
  const executed = { code: code ?? (signal === "SIGKILL" ? 137 : 143), stdout, stderr };
  if (isLate) throw new Error(`${words.join(" ")}: no end after ${limitMs} ms\n${stdout}${stderr}`);
  return requireSuccess(words.join(" "), executed, mayFail);
}

/** @throws what the program wrote, when it failed and may not. */
export function requireSuccess(command: string, executed: Executed, mayFail: boolean): Executed {
  const { code, stdout, stderr } = executed;
  if (code !== 0 && !mayFail) throw new Error(`${command}: exit ${code}\n${stdout}${stderr}`);
  return executed;
}

/** The holder may be making a root file system on a busy machine. */
const LOCK_LIMIT_MS = 600_000;

/** Runs the action while no other process does so under this lock. The kernel drops the lock with its holder (flock(2)). */
export async function locked<T>(lockPath: string, action: () => Promise<T>): Promise<T> {
  await mkdir(dirname(lockPath), { recursive: true });
  const holder = spawn("flock", [lockPath, "sh", "-c", "echo held; cat"], { stdio: ["pipe", "pipe", "inherit"] });
  endWithTest(holder);
  const ended = once(holder, "close");
  const alarm = setTimeout(() => holder.kill("SIGKILL"), LOCK_LIMIT_MS);
  try {
    const held = await Promise.race([once(holder.stdout, "data"), ended.then(() => null)]);
    if (held === null) throw new Error(`Cannot lock ${lockPath} within ${LOCK_LIMIT_MS} ms`);
    clearTimeout(alarm);
    return await action();
  } finally {
    clearTimeout(alarm);
    holder.stdin.end();
    await ended;
  }
}
