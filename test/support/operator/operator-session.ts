/** Every command of robot-policy in one operator session: on a terminal of 80 columns, and as JSON. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { endpointListSchema } from "../../../src/api/endpoints.ts";
import { type Clock, systemClock } from "../../../src/platform/clock.ts";
import { REGION, ROBOT_TYPE } from "../../conformance/api/catalog.ts";
import type { Surroundings } from "../programs/in-process.ts";
import { startHostedStub } from "./hosted-stub.ts";
import { HASTY_CLOCK, openOperatorSite, type OperatorSite, runOperator } from "./operator.ts";

export interface SessionStep {
  readonly words: readonly string[];
  /** Also run with --json: everywhere if the document is this program's own; at the stub if it is the service's answer. */
  readonly json?: true | "stub";
  /** Only at one of the services. */
  readonly only?: "ours" | "stub";
  /** The output depends on the time of day or on the speed of the machine. */
  readonly unsteady?: true;
  /** The output has paths below the home folder: a longer home widens the terminal, so that the same text is truncated. */
  readonly hasPaths?: true;
}

/** One command and its result, as text. */
export interface SessionEntry {
  readonly words: readonly string[];
  readonly exitCode: number;
  readonly out: string;
  readonly err: string;
  readonly isSteady: boolean;
}

/** Splits a shell command line; single quotes keep blanks. */
const words = (line: string) => Array.from(line.matchAll(/'([^']*)'|\S+/g), ([word, quoted]) => quoted ?? word);

const COLUMNS = 80;
/** Length of `/tmp/operator-home-` and six more characters. */
const HOME_LENGTH = 25;
const HOUR_MS = 3_600_000;

/** An operator's session that contains every command. `HOME` stands for the home folder. */
export const SESSION: readonly SessionStep[] = [
  { words: words("whoami"), json: true },
  { words: words("robots list"), json: "stub" },
  { words: words("robots list --site hall-3") },
  { words: words("robots list --state offline") },
  { words: words("robots list --changed-since 1d --columns name,changed") },
  { words: words("robots list --csv --columns name,state,site,labels") },
  { words: words("status"), json: true },
  {
    words: words(`robots setup --name arm-4 --type ${ROBOT_TYPE} --region ${REGION} --file HOME/limits.yaml`),
    json: true,
  },
  {
    words: words(`robots setup --name arm-5 --type ${ROBOT_TYPE} --region ${REGION} --file HOME/limits.yaml --dry-run`),
  },
  { words: words("robots show arm-4 --contract") },
  { words: words("robots history arm-4") },
  { words: words("robots diff arm-4") },
  { words: words("robots diff arm-4 arm-2") },
  { words: words("robots show nobody") },
  { words: words("robots pending") },
  { words: words("robots approve WXYZ-2345") },
  { words: words("robots approve --all --site hall-2") },
  { words: words("robots deny WXYZ-2345") },
  { words: words("robots thaw arm-4") },
  { words: words("robots allow-recovery arm-4 --times 5") },
  { words: words("models list") },
  { words: words("models show pi0.5"), json: "stub" },
  { words: words("models show no-such-model") },
  { words: words("deployments list") },
  { words: words("deployments show arm-1"), json: true },
  { words: words("deployments retire arm-1 --dry-run") },
  { words: words("deployments retire arm-1") },
  { words: words("deployments list --all") },
  { words: words("usage"), json: "stub", unsteady: true },
  { words: words("usage --by robot") },
  { words: words("usage --by model --csv") },
  { words: words("usage --month 2020-02 --by robot --csv") },
  { words: words("deploy pi0.5 --robot arm-2 --dry-run") },
  { words: words("deploy pi0.5 --robot arm-2"), only: "stub", json: "stub" },
  { words: words("deploy pi0.5 --robot arm-2 --wait"), unsteady: true },
  { words: words("deploy no-such-model --robot nobody") },
  { words: words("fleets list") },
  { words: words("fleets create --name packing --model pi0.5 --site hall-2 --peak 2 --dry-run") },
  {
    words: words("fleets create --name packing --model pi0.5 --site hall-2 --peak 2 --wait"),
    unsteady: true,
  },
  { words: words("fleets create --name empty --model pi0.5 --robot nobody") },
  { words: words("fleets list"), json: "stub" },
  { words: words("fleets show packing"), json: "stub" },
  { words: words("robots show arm-2") },
  { words: words("fleets diff packing") },
  { words: words("fleets reconcile packing") },
  { words: words("fleets update-model packing picky-vla --dry-run") },
  { words: words("fleets update-model packing dead-vla --wait --timeout 1s"), only: "ours", unsteady: true },
  { words: words("fleets update-model packing pi0.6 --wait"), only: "stub" },
  { words: words("fleets update-model packing pi0.7"), only: "stub", json: "stub" },
  { words: words("fleets rollback packing") },
  { words: words("fleets rollback packing") },
  { words: words("fleets show nobody") },
  { words: words("fleets remove packing --dry-run") },
  { words: words("fleets remove packing") },
  { words: words("robots rename arm-3 arm-9") },
  { words: words("robots remove arm-9"), json: true },
  { words: words("keys create 'cell 4' --scope robots:setup --expires 2030-01-31 --dry-run") },
  {
    words: words("keys create 'cell 4' --scope robots:setup --expires 2030-01-31 --out HOME/cell-4.key"),
  },
  { words: words("keys create 'cell 5' --scope robot:setup") },
  { words: words("keys create 'cell 6' --everything --expires 2030-01-31"), only: "stub", json: "stub" },
  { words: words("keys list"), json: "stub" },
  { words: words("keys create 'cell 6'") },
  { words: words("keys rotate 'cell 4' --overlap 0 --out HOME/cell-4-new.key") },
  { words: words("keys revoke 'cell 4'") },
  { words: words("keys revoke k-1 --dry-run"), only: "stub" },
  { words: words("keys revoke k-1"), only: "stub", json: "stub" },
  { words: words("webhooks list"), json: true },
  { words: words("webhooks create https://hooks.example.com/robots --event robot.frozen --dry-run") },
  { words: words("webhooks create https://10.0.0.1/robots") },
  { words: words("webhooks test hooks.example.com") },
  { words: words("webhooks rotate hooks.example.com") },
  { words: words("webhooks remove hooks.example.com") },
  { words: words("audit --by bootstrap --since 1d --columns what,from") },
  { words: words("api GET /v1/robots/nobody") },
  { words: words("contexts add lab --url SERVICE --key-file HOME/cell-4.key") },
  { words: words("contexts list"), json: true, hasPaths: true },
  { words: words("contexts use lab") },
  { words: words("robots list --context lab") },
  { words: words("contexts remove lab") },
  { words: words("logout") },
  { words: words("robots lst") },
  { words: words("deployments shw") },
];

const ROBOTS = ["arm-1", "arm-2", "arm-3"];

/** Runs the session against our service. */
export async function* runSession(): AsyncGenerator<SessionEntry> {
  // Far enough in the past that a slow machine does not change the printed times.
  let aheadMs = -3.5 * HOUR_MS;
  const clock = clockAhead(() => aheadMs);
  await using site = await openOperatorSite({ clock });
  for (const name of ROBOTS) await site.register(name, { site: "hall-2" });
  await site.service.send("POST", "/v1/me/deployments", { model: "pi0.5", robot: "arm-1" });
  await endpointsAreKnown(site, 0);
  // Two hours of use.
  aheadMs = -1.5 * HOUR_MS;
  await endpointsAreKnown(site, clock.wallMs());
  const { url, key } = site.service;
  yield* runSteps("ours", { home: site.home, url, key }, ({ json, unsteady }) => ({
    withJson: json === true,
    isSteady: unsteady !== true,
  }));
}

/** Runs the session against a service that has only what the service document describes, and other names where it leaves them open. */
export async function* runStubSession(): AsyncGenerator<SessionEntry> {
  await using service = await startHostedStub({
    createdMs: systemClock.wallMs() - 3.5 * HOUR_MS,
    robots: ROBOTS,
    restartsOnce: true,
  });
  const home = await mkdtemp(join(tmpdir(), "operator-home-"));
  try {
    const site = { home, url: service.url, key: "sk_hosted_operator" };
    yield* runSteps("stub", site, ({ json }) => ({ withJson: json !== undefined, isSteady: true }));
  } finally {
    await rm(home, { recursive: true });
  }
}

interface SessionSite {
  readonly home: string;
  readonly url: string;
  readonly key: string;
}

async function* runSteps(
  which: "ours" | "stub",
  site: SessionSite,
  howOf: (step: SessionStep) => { readonly withJson: boolean; readonly isSteady: boolean },
): AsyncGenerator<SessionEntry> {
  const { home, url, key } = site;
  await writeFile(join(home, "limits.yaml"), "limits: { velocity: 1.2 }\n");
  const fill = (word: string) => word.replace("HOME", home).replace("SERVICE", url);
  const environment = { HOME: home, ROBOT_POLICY_URL: url, ROBOT_POLICY_API_KEY: key };
  for (const step of SESSION.filter(({ only = which }) => only === which)) {
    const { withJson, isSteady } = howOf(step);
    const filled = step.words.map(fill);
    const columns = COLUMNS + (step.hasPaths === true ? home.length - HOME_LENGTH : 0);
    // A wait is redrawn at a terminal.
    const screen = step.words.includes("--wait") ? {} : { columns };
    yield { ...(await record(home, { environment, ...screen }, filled)), isSteady };
    if (withJson) yield { ...(await record(home, { environment }, [...filled, "--json"])), isSteady };
  }
}

function clockAhead(aheadMs: () => number): Clock {
  return {
    ...systemClock,
    wallMs: () => systemClock.wallMs() + aheadMs(),
    monotonicMs: () => systemClock.monotonicMs() + aheadMs(),
  };
}

/** Waits until every endpoint has been probed since then, and is healthy or unhealthy. */
async function endpointsAreKnown(site: OperatorSite, sinceMs: number): Promise<void> {
  for (;;) {
    const { items } = endpointListSchema.parse(await (await site.service.send("GET", "/v1/endpoints")).json());
    const isKnown = items.every(
      ({ status, checked_at: checkedAt }) => status !== "unknown" && Date.parse(checkedAt ?? "") >= sinceMs,
    );
    if (isKnown) return;
    await sleep(20);
  }
}

/** The entry as text that is the same in every run: ids and times are replaced. */
export function steadyText({ words, exitCode, out, err }: SessionEntry): string {
  const command = `$ robot-policy ${words.map((word) => (/[\s']/.test(word) ? `'${word}'` : word)).join(" ")}`;
  const text = [command, out.trimEnd(), err.trimEnd(), `→ ${exitCode}`].filter((part) => part !== "").join("\n");
  return REPLACED.reduce((steady, [pattern, name]) => steady.replaceAll(pattern, name), text);
}

const REPLACED: readonly (readonly [RegExp, string])[] = [
  [/http:\/\/127\.0\.0\.1:\d+/g, "http://127.0.0.1:PORT"],
  [/\b(org|rob|key|dep|gen|use|ses|aud|fleet)_[0-9a-z]{26}\b/g, "$1_00000000000000000000000000"],
  [/\bsk_rps_[0-9A-Za-z]{28}\b/g, "sk_rps_KEY"],
  [/(…|"key_last4": ")[0-9A-Za-z]{4}\b/g, "$1LAST"],
  [/\b20[12]\d-\d{2}-\d{2}(?:([T ])\d{2}:\d{2}(?::\d{2}(?:\.\d+)?Z?)?)?/g, "DATE"],
  [/(?:\bx-request-id: )\w+/g, "x-request-id: ID"],
  [/^date: .*$/gm, "date: DATE"],
  [/("quantity": )\d+/g, "$1N"],
  [/("last_used_at": )(?:null|"DATE")/g, "$1WHEN"],
  [/,\d+,second,[\d.]+,/g, ",N,second,H,"],
  // Present only in some runs, because the last use of a key is recorded with a delay.
  [/(^bootstrap .* everything +)(?:[13] h ago|never  )/gm, "$1WHEN   "],
];

async function record(
  home: string,
  surroundings: Surroundings,
  words: readonly string[],
): Promise<Omit<SessionEntry, "isSteady">> {
  const { exitCode, out, err } = await runOperator({ ...surroundings, clock: HASTY_CLOCK }, words);
  const withoutHome = (text: string) => text.replaceAll(home, "HOME");
  return { words: words.map(withoutHome), exitCode, out: withoutHome(out), err: withoutHome(err) };
}
