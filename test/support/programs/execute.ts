/** Runs other programs and waits for their end. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir } from "node:fs/promises";
import { dirname } from "node:path";
import { text } from "node:stream/consumers";

import { PATIENCE_MS } from "../run/patience.ts";
import { endWithTest } from "./children.ts";

export interface Executed {
  /** The exit code; 128 plus the signal number after a signal, as in a shell. */
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface ExecuteOptions {
  readonly input?: string;
  /** When exceeded, the program is killed and an error is thrown. */
  readonly limitMs?: number;
  /** Accept exit codes other than 0. */
  readonly may_fail?: boolean;
  readonly environment?: Readonly<Record<string, string>>;
}

/** @throws the output of the program, when it fails or exceeds its time limit. */
export async function execute(argv: readonly string[], options: ExecuteOptions = {}): Promise<Executed> {
  const { input = "", limitMs = PATIENCE_MS, may_fail: mayFail = false, environment } = options;
  const [program = "", ...args] = argv;
  const child = spawn(program, args, { env: { ...process.env, ...environment }, stdio: ["pipe", "pipe", "pipe"] });
  endWithTest(child);
  let isLate = false;
  const alarm = setTimeout(() => {
    isLate = true;
    child.kill("SIGKILL");
  }, limitMs);
  // A program may end without reading its input.
  child.stdin.on("error", () => {}).end(input);
  const [stdout, stderr, [code, signal]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, "close") as Promise<[number | null, NodeJS.Signals | null]>,
  ]);
  clearTimeout(alarm);
  const executed = { code: code ?? (signal === "SIGKILL" ? 137 : 143), stdout, stderr };
  if (isLate) throw new Error(`${argv.join(" ")}: no end after ${limitMs} ms\n${stdout}${stderr}`);
  return requireSuccess(argv.join(" "), executed, mayFail);
}

/** @throws the output of the program, when it failed and `mayFail` is false. */
export function requireSuccess(command: string, executed: Executed, mayFail: boolean): Executed {
  const { code, stdout, stderr } = executed;
  if (code !== 0 && !mayFail) throw new Error(`${command}: exit ${code}\n${stdout}${stderr}`);
  return executed;
}

/** The holder may be making a root file system on a busy machine. */
const LOCK_LIMIT_MS = 600_000;

/** Runs the action under an exclusive lock between processes. The kernel releases the lock when its holder dies (flock(2)). */
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
