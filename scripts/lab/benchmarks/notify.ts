/** The service manager's end of NOTIFY_SOCKET: a real datagram socket, held by Python because Node has none. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";

import { endWithScript } from "../../support/end-of-script.ts";
import { endProcess, until } from "./robot.ts";

/** A datagram as received by the service manager, with a time on the clock of `nowMs`. */
export interface Notification {
  readonly at_ms: number;
  readonly text: string;
}

export interface NotifySocket extends AsyncDisposable {
  /** The value of NOTIFY_SOCKET. */
  readonly path: string;
  /** Resolves with the first datagram after `sinceMs` that contains the assignment. */
  received(assignment: string, sinceMs: number): Promise<Notification>;
}

const RECEIVER = `
import socket, sys, time
receiver = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
receiver.bind(sys.argv[1])
print("listening", flush=True)
while True:
    data = receiver.recv(65536)
    print(time.monotonic_ns(), data.decode().replace("\\n", " "), flush=True)
`;

/** @returns null if Python is missing. */
export async function openNotifySocket(folder: string): Promise<NotifySocket | null> {
  const path = join(folder, "notify.sock");
  const child = spawn("python3", ["-c", RECEIVER, path], { stdio: ["ignore", "pipe", "inherit"] });
  endWithScript(child);
  const isThere = await Promise.race([once(child, "spawn").then(() => true), once(child, "error").then(() => false)]);
  if (!isThere) return null;
  const notifications: Notification[] = [];
  const lines = createInterface(child.stdout);
  const [greeting] = await once(lines, "line");
  if (greeting !== "listening") throw new Error(`the receiver said ${greeting}`);
  lines.on("line", (line) => {
    const [stamp = "", ...rest] = line.split(" ");
    notifications.push({ at_ms: Number(stamp) / 1e6, text: rest.join(" ") });
  });
  return {
    path,
    received: (assignment, sinceMs) =>
      until(
        () => notifications.find(({ at_ms: atMs, text }) => atMs > sinceMs && text.split(" ").includes(assignment)),
        assignment,
      ),
    [Symbol.asyncDispose]: () => endProcess(child),
  };
}
