/** The programs as released, and requests to the service. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { openSync } from "node:fs";
import http from "node:http";
import { delimiter, dirname, join } from "node:path";

import { endWithScript, scratchFolder } from "../../support/end-of-script.ts";

/** The release launcher of a program, built for this script. */
export function freshBuild(program: string): string {
  const out = scratchFolder("robot-policy-build-");
  const args = [join(import.meta.dirname, "../../build.ts"), "--out", out];
  const { status } = spawnSync(process.execPath, args, { stdio: ["ignore", 2, "inherit"] });
  if (status !== 0) throw new Error("the build failed");
  return join(out, `${program}.cjs`);
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

/** From the answer of GET /metrics: the longest time for which the event loop of the service ran no timer, since the last question. */
export function longestTurnMs(metrics: string): number {
  return Number(/^nodejs_eventloop_lag_max_seconds (.+)$/m.exec(metrics)?.[1]) * 1000;
}

export interface Answer {
  readonly status: number;
  readonly text: string;
  /** The header Link. */
  readonly link: string;
}

interface AskOptions {
  readonly agent: http.Agent;
  readonly method: string;
  /** Null for a request without one. */
  readonly key: string | null;
  /** JSON. */
  readonly body: string | null;
  readonly timeoutMs?: number;
}

/** Sends one request, with less work for this process than `fetch` has. Rejects if there is no answer. */
export function sendRequest(url: URL, { agent, method, key, body, timeoutMs = 0 }: AskOptions): Promise<Answer> {
  const headers = {
    ...(key === null ? {} : { authorization: `Bearer ${key}` }),
    ...(body === null ? {} : { "content-type": "application/json", "content-length": Buffer.byteLength(body) }),
  };
  return new Promise((resolve, reject) => {
    const request = http.request(url, { method, headers, agent }, (answer) => {
      const parts: Buffer[] = [];
      answer.on("data", (part: Buffer) => void parts.push(part));
      answer.once("error", reject);
      answer.once("end", () => {
        const text = Buffer.concat(parts).toString();
        resolve({ status: answer.statusCode ?? 0, text, link: String(answer.headers["link"]) });
      });
    });
    request.setTimeout(timeoutMs, () => request.destroy());
    request.once("error", reject);
    request.end(body ?? undefined);
  });
}
