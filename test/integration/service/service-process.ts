/** robot-policy-service in a process of its own, for tests that kill it or send it signals. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";

import { endWithTest } from "../../support/programs/children.ts";
import { SERVICE_PROGRAM } from "../../support/programs/programs-built.ts";
import { showOnFailure } from "../../support/run/outputs.ts";
import { listening } from "../../support/service/service-command.ts";

export interface ServiceProcess {
  readonly child: ChildProcess;
  stdout(): string;
  stderr(): string;
  /** Resolves with the exit code, or the name of the signal. */
  readonly ended: Promise<number | string>;
  /** Sends SIGKILL, and waits until the process has ended. */
  kill(): Promise<void>;
}

export function startServiceProcess(
  argv: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): ServiceProcess {
  const env = { ...process.env, NOTIFY_SOCKET: "", ...environment };
  const child = spawn(process.execPath, [SERVICE_PROGRAM, ...argv], { stdio: ["ignore", "pipe", "pipe"], env });
  endWithTest(child);
  const output = { stdout: "", stderr: "" };
  for (const stream of ["stdout", "stderr"] as const) {
    child[stream].setEncoding("utf8").on("data", (text: string) => {
      output[stream] += text;
    });
  }
  const endShowing = showOnFailure(argv.join(" "), () => output.stderr);
  const ended = once(child, "close").then(([code, signal]: (number | string | null)[]) => {
    endShowing();
    return code ?? signal ?? 0;
  });
  return {
    child,
    stdout: () => output.stdout,
    stderr: () => output.stderr,
    ended,
    async kill() {
      child.kill("SIGKILL");
      await ended;
    },
  };
}

/** Starts `serve` with these flags on a free port. Resolves, once it listens, with its URL and the key in `keyFile`. */
export async function startServe(
  keyFile: string,
  ...flags: readonly string[]
): Promise<ServiceProcess & { readonly url: string; readonly key: string }> {
  const service = startServiceProcess(["serve", "--listen", "127.0.0.1:0", "--bootstrap-key-file", keyFile, ...flags]);
  return { ...service, ...(await listening(service, keyFile)) };
}
