/** The listening end of sd_notify(3). Node has no unix datagram sockets, so Python receives, and prints each datagram as a line of JSON. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

import { endWithTest } from "./children.ts";
import { eventually } from "./robot.ts";

export interface Notification {
  /** `READY=1`, `STATUS=…`: one datagram may hold several. */
  readonly lines: readonly string[];
  /** When it came, by a clock of its own: a test that is kept waiting changes nothing about it. */
  readonly at_ms: number;
}

export interface NotifySocket extends AsyncDisposable {
  /** What belongs into NOTIFY_SOCKET. */
  readonly path: string;
  /** Every datagram so far, oldest first. */
  readonly received: readonly Notification[];
  /** Resolves with the first datagram that has a line with this beginning, from `since` on. */
  awaits(start: string, since?: number): Promise<Notification>;
}

const RECEIVER = `
import json, os, socket, sys, time
receiver = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
receiver.bind(sys.argv[1])
os.chmod(sys.argv[1], 0o777)
print("[]", flush=True)
while True:
    # systemd-notify(1) waits until a file descriptor that it sends along is closed here.
    data, descriptors, _, _ = socket.recv_fds(receiver, 65536, 16)
    for descriptor in descriptors:
        os.close(descriptor)
    print(json.dumps({"lines": data.decode().splitlines(), "at_ms": time.monotonic() * 1000}), flush=True)
`;

export async function openNotifySocket(path: string): Promise<NotifySocket> {
  const child = spawn("python3", ["-c", RECEIVER, path], { stdio: ["ignore", "pipe", "inherit"] });
  endWithTest(child);
  const ended = once(child, "exit");
  const received: Notification[] = [];
  const lines = createInterface({ input: child.stdout });
  await once(lines, "line");
  lines.on("line", (line) => received.push(JSON.parse(line) as Notification));
  return {
    path,
    received,
    awaits: (start, since = 0) =>
      eventually(
        async () => received.slice(since).find((datagram) => datagram.lines.some((line) => line.startsWith(start))),
        `a notification ${start}`,
      ),
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await ended;
    },
  };
}
