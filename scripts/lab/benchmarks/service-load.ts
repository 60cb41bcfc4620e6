/** Load on a service with the /v1 API, by wrk (https://github.com/wg/wrk): one thread, 64 connections. */
import { spawn, spawnSync } from "node:child_process";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { endWithScript, scratchFolder } from "../../support/end-of-script.ts";

/** A service and a key with all scopes. */
export interface Target {
  readonly url: string;
  readonly key: string;
}

/** `mixed`: nine lists, then a setup, so that each list differs from the previous one. */
export type Kind = "list" | "setups" | "mixed";

export interface Load {
  readonly perS: number;
  readonly p99Ms: number;
}

const CONNECTIONS = 64;
const NAMES = 1000;

/** Sets up a thousand robots in turn, each time with another digest; prints the totals of a run as one line of JSON. */
const SCRIPT = `
local counter = 0
function init(args)
  kind = args[2]
  headers = { ["authorization"] = "Bearer " .. args[1], ["content-type"] = "application/json" }
end
function request()
  counter = counter + 1
  if kind == "list" or kind == "mixed" and counter % 10 ~= 0 then return wrk.format("GET", "/v1/robots", headers) end
  local robot = counter % ${NAMES}
  local body = string.format(
    '{"name":"arm-%d","robot_type_id":"so101","region":"us-west-2","configuration_digest":"sha256:%064x","site":"lab %d","labels":{"line":"%d","owner":"Zo\\195\\171"}}',
    robot, counter, robot % 7, robot % 13)
  return wrk.format("POST", "/v1/robots/setup", headers, body)
end
function done(summary, latency)
  local errors = summary.errors
  print(string.format('\\n{"requests":%d,"duration_us":%d,"p99_us":%d,"broken":%d,"refused":%d}', summary.requests,
    summary.duration, latency:percentile(99), errors.connect + errors.read + errors.write, errors.status))
end
`;

export function hasWrk(): boolean {
  // wrk has no flag that exits with 0; without arguments it prints its usage.
  return spawnSync("wrk", []).error === undefined;
}

/** @throws when a request was refused or a connection broke, because then the figures are meaningless. */
export async function drive({ url, key }: Target, kind: Kind, durationS: number): Promise<Load> {
  const folder = scratchFolder("wrk-");
  try {
    const script = join(folder, "load.lua");
    await writeFile(script, SCRIPT);
    const flags = ["-t1", `-c${CONNECTIONS}`, `-d${durationS}s`, "--timeout", "30s", "-s", script];
    const output = await run("wrk", [...flags, url, "--", key, kind]);
    const line = output.split("\n").findLast((each) => each.startsWith("{")) ?? "{}";
    const sums = JSON.parse(line) as Record<string, number | undefined>;
    const { requests = 0, duration_us: durationUs = 0, p99_us: p99Us = 0, broken = 0, refused = 0 } = sums;
    if (requests === 0 || broken + refused > 0) throw new Error(`${url}, ${kind}: ${line}`);
    return { perS: requests / (durationUs / 1e6), p99Ms: p99Us / 1000 };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Registers the robots `arm-0` to `arm-<count-1>`, which the load uses. */
export async function register({ url, key }: Target, count: number): Promise<void> {
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  for (let robot = 0; robot < count; robot += 1) {
    const setup = {
      name: `arm-${robot}`,
      robot_type_id: "so101",
      region: "us-west-2",
      configuration_digest: `sha256:${"0".repeat(64)}`,
      site: `lab ${robot % 7}`,
      labels: { line: `${robot % 13}`, owner: "Zoë" },
    };
    const answer = await fetch(`${url}/v1/robots/setup`, { method: "POST", headers, body: JSON.stringify(setup) });
    if (answer.status !== 200) throw new Error(`${url} answers ${answer.status}: ${await answer.text()}`);
    await answer.arrayBuffer();
  }
}

async function run(program: string, args: readonly string[]): Promise<string> {
  const child = spawn(program, args, { stdio: ["ignore", "pipe", "inherit"] });
  endWithScript(child);
  let output = "";
  for await (const text of child.stdout.setEncoding("utf8")) output += String(text);
  return output;
}
