/** The measured services: ours as released, and optionally another one. */
import { type ChildProcess, spawn } from "node:child_process";
import { openSync } from "node:fs";
import { readFile, rm } from "node:fs/promises";
import { delimiter, dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { endWithScript, scratchFolder } from "../../support/end-of-script.ts";
import { endProcess } from "./robot.ts";
import type { Target } from "./service-load.ts";

/** A running service. Disposal ends it and removes its data. */
export interface Started extends AsyncDisposable {
  readonly target: Target;
  /** Null if this script did not start it. */
  readonly processId: number | null;
}

const PATIENCE_MS = 30_000;

/** The program as released, on its own store, without rate limits. `flags` can select another store. */
export async function startOurs(launcher: string, flags: readonly string[]): Promise<Started> {
  const folder = scratchFolder("robot-policy-service-");
  const remove = () => rm(folder, { recursive: true, force: true });
  try {
    const { child, target } = await launch(launcher, folder, ["--listen", "127.0.0.1:0", ...flags]);
    return {
      target,
      processId: child.pid ?? null,
      async [Symbol.asyncDispose]() {
        await endProcess(child);
        await remove();
      },
    };
  } catch (error) {
    await remove();
    throw error;
  }
}

/** Starts the launcher with its data and log in `folder`; resolves once it accepts requests. */
async function launch(
  launcher: string,
  folder: string,
  flags: readonly string[],
): Promise<{ readonly child: ChildProcess; readonly target: Target }> {
  const store = flags.includes("--database") ? [] : ["--data", join(folder, "data")];
  const keyFile = join(folder, "api-key");
  const args = [...store, "--bootstrap-key-file", keyFile, "--no-rate-limit", ...flags];
  const child = serve(launcher, args, join(folder, "log"));
  const url = await listening(child);
  return { child, target: { url, key: (await readFile(keyFile, "utf8")).trim() } };
}

/** The environment of a launcher. Its own first line sets the flags of Node with which it is released. */
export const LAUNCHER_ENVIRONMENT = { PATH: `${dirname(process.execPath)}${delimiter}${process.env["PATH"] ?? ""}` };

/** Starts a launcher of the service. @param log a file; null for a pipe that nobody reads. */
export function serve(
  launcher: string,
  args: readonly string[],
  log: string | null,
  environment: Readonly<Record<string, string>> = {},
): ChildProcess {
  const child = spawn(launcher, ["serve", ...args], {
    env: { ...LAUNCHER_ENVIRONMENT, ...environment },
    stdio: ["ignore", "pipe", log === null ? "pipe" : openSync(log, "a")],
  });
  endWithScript(child);
  return child;
}

/** Resolves with the URL that the service prints. */
export function listening(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let output = "";
    child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      output += text;
      const url = /"url":"([^"]+)"/.exec(output)?.[1];
      if (url !== undefined) resolve(url);
    });
    child.once("exit", (code, signal) => reject(new Error(`the service ended with ${code ?? signal}: ${output}`)));
    child.once("error", reject);
  });
}

/** Another service: started by a shell command that keeps its data in $BENCH_FOLDER, or already running. */
export async function startOther(target: Target, command: string | undefined): Promise<Started> {
  if (command === undefined) return { target, processId: null, [Symbol.asyncDispose]: () => Promise.resolve() };
  const folder = scratchFolder("beside-");
  const child = spawn("sh", ["-c", command], {
    env: { ...process.env, BENCH_FOLDER: folder, BENCH_KEY: target.key },
    stdio: ["ignore", "ignore", "inherit"],
  });
  endWithScript(child);
  const service: Started = {
    target,
    processId: child.pid ?? null,
    async [Symbol.asyncDispose]() {
      await endProcess(child);
      await rm(folder, { recursive: true, force: true });
    },
  };
  try {
    await answering(target);
    return service;
  } catch (error) {
    await service[Symbol.asyncDispose]();
    throw error;
  }
}

async function answering({ url, key }: Target): Promise<void> {
  const deadlineMs = Date.now() + PATIENCE_MS;
  for (;;) {
    const answer = await fetch(`${url}/v1/robots`, { headers: { authorization: `Bearer ${key}` } }).catch(() => null);
    if (answer?.status === 200) return;
    if (Date.now() > deadlineMs) throw new Error(`${url} does not answer with 200: ${answer?.status ?? "no answer"}`);
    await sleep(100);
  }
}
