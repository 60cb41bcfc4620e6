/** The attacks of one client on a service. Each repeats until its signal aborts, and returns what the attacker achieved. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import net, { type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

import type { Answered, Besieged } from "./siege-service.ts";

export interface Scene extends Besieged {
  readonly signal: AbortSignal;
}

export interface Attack {
  readonly number: number;
  readonly title: string;
  /** For an attack on one kind of store only. */
  readonly store?: "sqlite";
  /** The honest organization sends from the attacker's address. */
  readonly isSameAddress?: boolean;
  /** True to leave the service's log unread. */
  readonly isLogStalled?: boolean;
  /** Runs before the measurement. */
  prepare?(service: Besieged): Promise<void>;
  run(scene: Scene): Promise<string>;
}

const KIBIBYTE = 1024;
const LARGE_CONTRACT = `{"a":[{}${",{}".repeat(348_999)}]}`;

export const ATTACKS: readonly Attack[] = [
  {
    number: 1,
    title: "spaces around integers",
    async run(scene) {
      const spaces = "%20".repeat(5000);
      const body = JSON.stringify(fleet("f", { robots: ["r"] })).replace(
        /"peak_active_robots":1/,
        `"peak_active_robots":"${" ".repeat(200_000)}x"`,
      );
      return repeat(scene, 8, (index) =>
        index % 2 === 0 ? scene.send("GET", `/v1/robots?limit=${spaces}x`) : scene.send("POST", "/v1/fleets", body),
      );
    },
  },
  {
    number: 2,
    title: "1 MiB of JSON without a credential",
    async run(scene) {
      const body = `{"verifier":[{}${",{}".repeat(348_999)}]}`;
      return repeat(scene, 40, () => scene.send("POST", "/v1/cli/login/start", body, null));
    },
  },
  {
    number: 3,
    title: "contracts of 349,000 values",
    run: (scene) =>
      repeat(scene, 64, (index) =>
        scene.send(
          "POST",
          "/v1/robots/setup",
          JSON.stringify(robot(`r${index}`)).replace(/}$/, `,"contract":${LARGE_CONTRACT}}`),
        ),
      ),
  },
  {
    number: 4,
    title: "labels of quotes",
    async prepare(service) {
      const labels = Object.fromEntries(range(15).map((index) => [`k${index}`, '"'.repeat(1024)]));
      await each(range(50), 8, (index) => service.send("POST", "/v1/robots/setup", robot(`r${index}`, { labels })));
    },
    run: (scene) =>
      repeat(scene, 16, () =>
        scene.send("POST", "/v1/fleets/preview", { selector: { labels: { ['"'.repeat(256)]: "x" } } }),
      ),
  },
  {
    number: 5,
    title: "contracts judged again and again",
    async prepare(service) {
      const pads = range(1300).map((index) => ({ role: `role-${index}-${"x".repeat(160)}` }));
      await each(range(100), 8, (index) =>
        service.send(
          "POST",
          "/v1/robots/setup",
          robot(`r${index}`, { contract: { cameras: [...pads, { role: `${index}` }] } }),
        ),
      );
    },
    run: (scene) =>
      repeat(scene, 8, (index) =>
        index % 2 === 0
          ? scene.send("POST", "/v1/fleets/preview", { selector: { region: "here" }, subject: "pi0.5" })
          : scene.send("POST", "/v1/me/deployments", { model: "pi0.5", robot: `r${index % 100}` }),
      ),
  },
  {
    number: 6,
    title: "reads while another process holds SQLite's lock",
    store: "sqlite",
    async run(scene) {
      // Three seconds, during which writes wait and none is refused.
      const holder = spawn("python3", ["-c", HOLD_LOCK, scene.databaseFile], { stdio: ["ignore", "pipe", "inherit"] });
      await once(holder.stdout, "data");
      await once(holder, "exit");
      return "held the lock for 100 ms, 20 times";
    },
  },
  {
    number: 7,
    title: "unfinished bodies",
    async run(scene) {
      const head = `POST /v1/robots/setup HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${scene.key}\r\ncontent-type: application/json\r\n`;
      const part = `${head}content-length: ${256 * KIBIBYTE}\r\n\r\n${" ".repeat(255 * KIBIBYTE)}`;
      return holdSockets(scene, 1500, (socket) => void socket.write(part));
    },
  },
  {
    number: 7,
    title: "unread answers",
    async prepare(service) {
      await each(range(2000), 32, (index) =>
        service.send("POST", "/v1/robots/setup", robot(`r${index}`, { site: "s".repeat(100) })),
      );
    },
    run: (scene) =>
      holdSockets(scene, 300, (socket) => {
        socket.pause();
        socket.write(`GET /v1/me/registrations HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${scene.key}\r\n\r\n`);
      }),
  },
  {
    number: 8,
    title: "12,000 silent connections",
    run: (scene) => holdSockets(scene, 12_000, () => {}),
  },
  {
    number: 10,
    title: "bad keys from the same address",
    isSameAddress: true,
    async run(scene) {
      const bad = `sk_rps_${"0".repeat(28)}`;
      const fresh = range(5).map(() => scene.makeKey("robots:read"));
      const flood = repeat(scene, 16, () => scene.send("GET", "/v1/robots", null, bad));
      await sleep(1000);
      const admitted: Answered[] = [];
      for (const key of fresh) admitted.push(await scene.send("GET", "/v1/robots", null, key));
      const good = admitted.filter(({ status }) => status === 200).length;
      return `${await flood}; keys not seen before: ${good} of ${fresh.length} admitted`;
    },
  },
  {
    number: 11,
    title: "a robot's key registers thousands",
    async run(scene) {
      const key = scene.makeKey("robots:setup");
      let index = 0;
      return repeat(scene, 32, () => scene.send("POST", "/v1/robots/setup", robot(`robot-${index++}`), key));
    },
  },
  {
    number: 12,
    title: "lists of 100 fleets of 1,000",
    async prepare(service) {
      await each(range(1000), 32, (index) =>
        service.send("POST", "/v1/robots/setup", robot(`r${index}`, { contract: { cameras: [{ role: `${index}` }] } })),
      );
      const robots = range(1000).map((index) => `r${index}`);
      await each(range(100), 4, (index) => service.send("POST", "/v1/fleets", fleet(`f${index}`, { robots })));
    },
    run: (scene) => repeat(scene, 8, () => scene.send("GET", "/v1/fleets")),
  },
  {
    number: 13,
    title: "100 fleets of 366 windows",
    async prepare(service) {
      await service.send("POST", "/v1/robots/setup", robot("r0"));
      const windows = range(366).map((day) => ({ starts_at: hour(24 * day + 1), ends_at: hour(24 * day + 2) }));
      const scheduled = { readiness_mode: "scheduled", operating_windows: windows };
      await each(range(100), 4, (index) =>
        service.send("POST", "/v1/fleets", fleet(`f${index}`, { robots: ["r0"] }, scheduled)),
      );
    },
    async run({ signal }) {
      await untilAborted(signal);
      return "its fleets are looked after";
    },
  },
  {
    number: 14,
    title: "64 pages that ask what changed, and load",
    async run(scene) {
      const pages = repeat(scene, 64, () => scene.send("GET", "/console/versions"));
      const load = repeat(scene, 4, (index) => scene.send("POST", "/v1/robots/setup", robot(`r${index % 50}`)));
      return `${await pages}; ${await load}`;
    },
  },
  {
    number: 15,
    title: "512 busy connections of one organization",
    run: (scene) => repeat(scene, 512, (index) => scene.send("POST", "/v1/robots/setup", robot(`r${index % 1000}`))),
  },
  {
    number: 17,
    title: "an unread log",
    isLogStalled: true,
    run: (scene) => repeat(scene, 8, (index) => scene.send("POST", "/v1/robots/setup", robot(`r${index % 10}`))),
  },
];

const HOLD_LOCK = `
import sqlite3, sys, time
database = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=10)
print("started", flush=True)
for _ in range(20):
    database.execute("begin immediate")
    time.sleep(0.1)
    database.execute("rollback")
    time.sleep(0.2)
`;

function robot(name: string, more: object = {}): object {
  return { name, robot_type_id: "arm", region: "here", configuration_digest: `sha256:${"0".repeat(64)}`, ...more };
}

function fleet(name: string, selection: object, more: object = {}): object {
  return { name, subject: "pi0.5", selection, peak_active_robots: 1, readiness_mode: "always_ready", ...more };
}

function hour(later: number): string {
  return new Date(Date.now() + later * 3_600_000).toISOString();
}

function range(count: number): readonly number[] {
  return Array.from({ length: count }, (_, index) => index);
}

async function each(items: readonly number[], width: number, send: (item: number) => Promise<Answered>): Promise<void> {
  const waiting = [...items];
  const next = async () => {
    for (let item = waiting.shift(); item !== undefined; item = waiting.shift()) await send(item);
  };
  await Promise.all(range(width).map(next));
}

/** Sends repeatedly, `width` requests at a time. @returns the number of answers by status. */
async function repeat({ signal }: Scene, width: number, send: (index: number) => Promise<Answered>): Promise<string> {
  const counts = new Map<number, number>();
  let index = 0;
  const next = async () => {
    while (!signal.aborted) {
      const { status } = await send(index++);
      counts.set(status, (counts.get(status) ?? 0) + 1);
      // A pause, so that refused connections do not turn this into a busy loop.
      if (status === 0) await sleep(10);
    }
  };
  await Promise.all(range(width).map(next));
  return [...counts]
    .toSorted(([left], [right]) => left - right)
    .map(([status, count]) => `${count} × ${status === 0 ? "no answer" : status}`)
    .join(", ");
}

/** Keeps this many connections open, and replaces those that are closed. */
async function holdSockets({ url, signal }: Scene, count: number, begin: (socket: Socket) => void): Promise<string> {
  const { hostname, port } = new URL(url);
  const sockets = new Set<Socket>();
  let closed = 0;
  const open = () => {
    const socket = net.connect(Number(port), hostname, () => begin(socket));
    sockets.add(socket);
    socket.on("error", () => {});
    socket.on("data", () => {});
    socket.on("close", () => {
      sockets.delete(socket);
      closed += 1;
    });
  };
  while (!signal.aborted) {
    for (let made = 0; made < 100 && sockets.size < count; made += 1) open();
    await sleep(20);
  }
  const held = sockets.size;
  for (const socket of sockets) socket.destroy();
  return `${held} connections held, ${closed} closed by the service`;
}

async function untilAborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, "abort");
}
