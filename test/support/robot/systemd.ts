/** The receiving end of sd_notify(3). Node has no unix datagram sockets, so a Python program prints each datagram as a line of JSON. */
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import type { Writable } from "node:stream";

import { eventually } from "../eventually.ts";
import { endWithTest } from "../programs/children.ts";

export interface Notification {
  /** Such as `READY=1` and `STATUS=…`; one datagram may contain several. */
  readonly lines: readonly string[];
}

export interface NotifySocket extends AsyncDisposable {
  /** The value of NOTIFY_SOCKET. */
  readonly path: string;
  /** Every datagram so far, oldest first. */
  readonly received: readonly Notification[];
  /** Resolves with the first datagram, from index `since` on, that has a line with this prefix. */
  awaits(start: string, since?: number): Promise<Notification>;
}

/** Listens at each path that it reads. A path that it reads again is closed. */
const RECEIVER = `
import json, os, selectors, socket, sys

selector = selectors.DefaultSelector()
listening = {}

def tell(path, lines):
    print(json.dumps({"path": path, "lines": lines}), flush=True)

def listen(path):
    receiver = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    receiver.bind(path)
    os.chmod(path, 0o777)
    selector.register(receiver, selectors.EVENT_READ, path)
    listening[path] = receiver
    tell(path, None)

def leave(path):
    receiver = listening.pop(path)
    selector.unregister(receiver)
    receiver.close()

def receive(receiver, path):
    # systemd-notify(1) waits until a file descriptor that it sends along is closed here.
    data, descriptors, _, _ = socket.recv_fds(receiver, 65536, 16)
    for descriptor in descriptors:
        os.close(descriptor)
    tell(path, data.decode().splitlines())

selector.register(0, selectors.EVENT_READ)
unread = b""
while True:
    for key, _ in selector.select():
        if key.fd != 0:
            if key.data in listening:
                receive(key.fileobj, key.data)
            continue
        data = os.read(0, 65536)
        if not data:
            sys.exit()
        *paths, unread = (unread + data).split(b"\\n")
        for path in map(os.fsdecode, paths):
            leave(path) if path in listening else listen(path)
`;

interface Receiver {
  readonly input: Writable;
  /** Receives each datagram of a path; null once the socket listens. */
  readonly listeners: Map<string, (lines: readonly string[] | null) => void>;
}

/** One receiver for all tests of a worker, because it starts slower than most of them run. It ends with the worker. */
let receiver: Receiver | undefined;

function startReceiver(): Receiver {
  const child = spawn("python3", ["-c", RECEIVER], { stdio: ["pipe", "pipe", "inherit"] });
  endWithTest(child);
  child.unref();
  const listeners: Receiver["listeners"] = new Map();
  createInterface({ input: child.stdout }).on("line", (line) => {
    const { path, lines } = JSON.parse(line) as { path: string; lines: readonly string[] | null };
    listeners.get(path)?.(lines);
  });
  return { input: child.stdin, listeners };
}

export async function openNotifySocket(path: string): Promise<NotifySocket> {
  receiver ??= startReceiver();
  const { input, listeners } = receiver;
  const received: Notification[] = [];
  const opened = Promise.withResolvers<void>();
  listeners.set(path, (lines) => {
    if (lines === null) opened.resolve();
    else received.push({ lines });
  });
  input.write(`${path}\n`);
  await opened.promise;
  return {
    path,
    received,
    awaits: (start, since = 0) =>
      eventually(
        async () => received.slice(since).find((datagram) => datagram.lines.some((line) => line.startsWith(start))),
        `a notification ${start}`,
      ),
    async [Symbol.asyncDispose]() {
      listeners.delete(path);
      input.write(`${path}\n`);
    },
  };
}
