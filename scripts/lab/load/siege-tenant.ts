/**
 * The honest organization of scripts/lab/siege: fifty requests a second on a fixed schedule, whether or not the previous one was answered,
 * as from independent robots and people. Prints its measurements when it is asked to end.
 */
import http from "node:http";

const [url = "", key = "", localAddress = ""] = process.argv.slice(2);
const INTERVAL_MS = 20;
const TIMEOUT_MS = 10_000;
const ROBOTS = 20;

const { hostname, port } = new URL(url);
const agent = new http.Agent({ keepAlive: true, maxSockets: 50 });
const took: number[] = [];
let errors = 0;
let sent = 0;

const timer = setInterval(() => {
  sent += 1;
  if (sent % 5 === 0) send("GET", "/v1/robots?limit=20");
  else if (sent % 5 === 1) send("GET", "/v1/me/account");
  else send("POST", "/v1/robots/setup", registration(sent), sent % 5 === 2);
}, INTERVAL_MS);

process.once("SIGTERM", () => {
  clearInterval(timer);
  const sorted = took.toSorted((left, right) => left - right);
  const at = (part: number) => Math.round(sorted[Math.floor((sorted.length - 1) * part)] ?? Number.NaN);
  const noticed = { requests: took.length, errors, p50_ms: at(0.5), p99_ms: at(0.99), worst_ms: at(1) };
  process.stdout.write(JSON.stringify(noticed), () => process.exit(0));
});

function registration(number: number): string {
  const digest = number.toString(16).padStart(64, "0");
  const name = `honest-${number % ROBOTS}`;
  return JSON.stringify({ name, robot_type_id: "arm", region: "here", configuration_digest: `sha256:${digest}` });
}

/** @param isNew uses a new connection, as agents do. */
function send(method: string, path: string, body?: string, isNew = false): void {
  const startedMs = performance.now();
  const headers = {
    authorization: `Bearer ${key}`,
    ...(body === undefined ? {} : { "content-type": "application/json" }),
  };
  let isOver = false;
  const end = (isError: boolean) => {
    if (isOver) return;
    isOver = true;
    took.push(performance.now() - startedMs);
    if (isError) errors += 1;
  };
  const request = http.request(
    { hostname, port, method, path, headers, agent: isNew ? false : agent, localAddress },
    (answer) => {
      answer.resume();
      answer.once("end", () => end(answer.statusCode !== 200));
      answer.once("error", () => end(true));
    },
  );
  request.setTimeout(TIMEOUT_MS, () => request.destroy());
  request.once("error", () => end(true));
  request.end(body);
}
