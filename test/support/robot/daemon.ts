/** `robot-policy-agent run`, in this process or in a child process. */
import type { ChildProcess } from "node:child_process";
import { request as sendRequest } from "node:http";

import { askDaemon } from "../../../src/agent/control/client.ts";
import type { StatusDocument } from "../../../src/agent/status.ts";
import { Interrupted } from "../../../src/cli/process-context.ts";
import { runAgentProgram } from "../../../src/agent/program.ts";
import type { Clock } from "../../../src/platform/clock.ts";
import { eventually } from "../eventually.ts";
import { startProgram } from "../programs/children.ts";
import { runInProcess } from "../programs/in-process.ts";

export interface Daemon extends AsyncDisposable {
  /** All output so far, mostly the log. */
  output(): string;
  /** Parsed log lines of one event so far. */
  logged(event: string): readonly Readonly<Record<string, unknown>>[];
  /** Waits for the first such line: the status may change before the line is logged. */
  untilLogged(event: string): Promise<readonly Readonly<Record<string, unknown>>[]>;
  status(): Promise<StatusDocument>;
  /** Current answer of the control socket. */
  ask(method: "GET" | "POST", path: string): Promise<string>;
  /** Makes the daemon check everything once more. After that it sends nothing until something changes. */
  lookAgain(): Promise<void>;
  /** Resolves with the first status that meets the condition. */
  until(condition: (status: StatusDocument) => boolean | Promise<boolean>): Promise<StatusDocument>;
  /** Same as SIGHUP. */
  hangUp(): void;
  /** Same as SIGTERM. Resolves with the exit code. */
  stop(): Promise<number | string>;
}

export interface DaemonProcess extends Daemon {
  readonly child: ChildProcess;
  readonly process_id: number;
  /** Resolves with the exit code or the name of the signal. */
  stop(signal?: NodeJS.Signals): Promise<number | string>;
}

/** Common part of both implementations. */
interface Handle {
  /** Exit code or signal; null while the daemon runs. */
  end(): number | string | null;
  output(): string;
}

export function startDaemon(socketPath: string, environment: Readonly<Record<string, string>>, clock?: Clock): Daemon {
  const stopping = new AbortController();
  let output = "";
  let end: number | null = null;
  let hangUp = () => {};
  const running = runInProcess("robot-policy-agent run", (own) => runAgentProgram(["run"], own, clock), {
    environment,
    signal: stopping.signal,
    onOutput(text) {
      output += text;
    },
    isLogShown: true,
    onHangup(callback) {
      hangUp = callback;
    },
  });
  const ended = running.then(({ exitCode }) => (end = exitCode));
  // The error is reported to callers that wait for the end.
  ended.catch(() => {});
  const stop = () => {
    stopping.abort(new Interrupted());
    return ended;
  };
  return {
    ...observe(socketPath, { end: () => end, output: () => output }),
    hangUp: () => hangUp(),
    stop,
    async [Symbol.asyncDispose]() {
      await stop();
    },
  };
}

/** @param argv command line of the program, optionally behind a prefix that executes it. */
export function startDaemonProcess(
  argv: readonly string[],
  socketPath: string,
  environment: Readonly<Record<string, string>>,
): DaemonProcess {
  const { child, output, ended } = startProgram(argv, environment);
  const end = () => child.exitCode ?? child.signalCode;
  const stop = (signal: NodeJS.Signals = "SIGTERM") => {
    if (end() === null) child.kill(signal);
    return ended;
  };
  return {
    ...observe(socketPath, { end, output }),
    child,
    process_id: child.pid ?? 0,
    hangUp: () => void child.kill("SIGHUP"),
    stop,
    async [Symbol.asyncDispose]() {
      await stop("SIGKILL");
    },
  };
}

function observe(
  socketPath: string,
  { end, output }: Handle,
): Omit<Daemon, "hangUp" | "stop" | typeof Symbol.asyncDispose> {
  const askStatus = async () => {
    if (end() !== null) throw new Error(`the daemon ended with ${end()}: ${output()}`);
    const answer = await askDaemon(socketPath, "GET", "/status", new AbortController().signal);
    return answer.kind === "answer" ? (answer.body as StatusDocument) : undefined;
  };
  const logged = (event: string) => parseLog(output()).filter((line) => line["event"] === event);
  return {
    output,
    logged,
    async untilLogged(event) {
      await eventually(async () => logged(event)[0], `a log line ${event}`);
      return logged(event);
    },
    ask: (method, path) => askSocket(socketPath, method, path),
    async lookAgain() {
      await askSocket(socketPath, "POST", "/reload");
    },
    status: () => eventually(askStatus, "an answer from the daemon"),
    async until(condition) {
      let last: StatusDocument | undefined;
      try {
        return await eventually(async () => {
          last = await askStatus();
          return last !== undefined && (await condition(last)) ? last : undefined;
        }, "the awaited status");
      } catch (error) {
        throw new Error(`${String(error)}\nlast status: ${JSON.stringify(last, null, 2)}`, { cause: error });
      }
    },
  };
}

function parseLog(output: string): readonly Readonly<Record<string, unknown>>[] {
  return output
    .split("\n")
    .filter((line) => line.startsWith("{") && line.endsWith("}"))
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

function askSocket(socketPath: string, method: string, path: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const request = sendRequest({ socketPath, method, path, agent: false }, (response) => {
      let body = "";
      response.setEncoding("utf8").on("data", (text: string) => {
        body += text;
      });
      response.on("end", () => resolve(body));
    });
    request.on("error", reject).end();
  });
}
