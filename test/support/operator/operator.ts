/** robot-policy at a terminal: a service with models, robots and endpoints, and a home folder. The program runs in this process. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { expect } from "vitest";

import { endpointListSchema } from "../../../src/api/endpoints.ts";
import { runOperatorProgram } from "../../../src/operator/program.ts";
import type { ProcessContext } from "../../../src/cli/process-context.ts";
import { DEFAULT_TIMEOUTS } from "../../../src/client/transport/transport.ts";
import { type Clock, systemClock } from "../../../src/platform/clock.ts";
import { type Files, systemFiles } from "../../../src/platform/files/files.ts";
import { systemMachine } from "../../../src/platform/machine.ts";
import { catalogText, REGION, ROBOT_TYPE } from "../../conformance/api/catalog.ts";
import { type InferenceServer, startInferenceServer } from "../../conformance/api/inference.ts";
import { eventually } from "../eventually.ts";
import { type Ran, runInProcess, type Surroundings } from "../programs/in-process.ts";
import { QUICK } from "../service/replicas.ts";
import type { RunningService, ServiceOptions } from "../service/service.ts";
import { startEleven } from "./eleven.ts";

export interface OperatorSite extends AsyncDisposable {
  readonly service: RunningService;
  /** The complete service, or the same one with the documented operations only. */
  readonly urls: { readonly whole: string; readonly eleven: string };
  readonly inference: InferenceServer;
  /** The operator's home folder. */
  readonly home: string;
  /** Runs a command with the service's address and key in the environment. */
  run(...argv: string[]): Promise<Ran>;
  /** Runs a command with --json and resolves with the parsed document. */
  json(...argv: string[]): Promise<ReturnType<JSON["parse"]>>;
  /** Like `run`, with the documented operations only. */
  eleven(...argv: string[]): Promise<Ran>;
  /** Like `run`, with other variables, a terminal, or input on stdin. */
  runWith(surroundings: OperatorSurroundings, ...argv: string[]): Promise<Ran>;
  register(name: string, more?: object): Promise<void>;
}

export interface OperatorSiteOptions extends ServiceOptions {
  /** Default clock of commands. */
  readonly commandClock?: Clock;
}

/** A site whose printed times do not depend on the speed of the machine: its wall clock stands still. */
export function openSiteAtOneTime(options: ServiceOptions = {}): Promise<OperatorSite> {
  const nowMs = systemClock.wallMs();
  const clock = { ...systemClock, wallMs: () => nowMs };
  return openOperatorSite({ ...options, clock, commandClock: clock });
}

export async function openOperatorSite({ commandClock, ...options }: OperatorSiteOptions = {}): Promise<OperatorSite> {
  await using stack = new AsyncDisposableStack();
  const home = await mkdtemp(join(tmpdir(), "operator-home-"));
  stack.defer(() => rm(home, { recursive: true, force: true }));
  const inference = stack.use(await startInferenceServer(["cold", "dead"]));
  const modelsFile = join(home, "models.yaml");
  await writeFile(modelsFile, catalogText(inference));
  const configuration = { modelsFile, rateLimit: null, readiness: QUICK, ...options.configuration };
  const eleven = stack.use(await startEleven({ ...options, configuration }));
  const service = eleven.whole;
  await endpointsProbed(service);
  const environment = { ROBOT_POLICY_URL: service.url, ROBOT_POLICY_API_KEY: service.key };
  const runWith = (surroundings: OperatorSurroundings, ...argv: string[]) =>
    runOperator(
      {
        ...(commandClock === undefined ? {} : { clock: commandClock }),
        ...surroundings,
        environment: { HOME: home, ...(surroundings.environment ?? environment) },
      },
      argv,
    );
  const owned = stack.move();
  return {
    service,
    urls: { whole: service.url, eleven: eleven.url },
    inference,
    home,
    run: (...argv) => runWith({}, ...argv),
    json: async (...argv) => JSON.parse((await runWith({}, ...argv, "--json")).out),
    eleven: (...argv) => runWith({ environment: { ...environment, ROBOT_POLICY_URL: eleven.url } }, ...argv),
    runWith,
    async register(name, more = {}) {
      const body = {
        name,
        robot_type_id: ROBOT_TYPE,
        region: REGION,
        configuration_digest: `sha256:${"0".repeat(64)}`,
        ...more,
      };
      const answer = await service.send("POST", "/v1/robots/setup", body);
      if (!answer.ok) throw new Error(await answer.text());
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** Waits for the first probe of every endpoint, because deployments are preparing until then. */
async function endpointsProbed(service: RunningService): Promise<void> {
  await eventually(async () => {
    const { items } = endpointListSchema.parse(await (await service.send("GET", "/v1/endpoints")).json());
    return items.every(({ checked_at: checkedAt }) => checkedAt !== null) ? items : undefined;
  }, "a first probe of every endpoint");
}

/** Matches a command that ended with this exit code and this text on stderr. */
export function endedWith(exitCode: number, err: string | RegExp) {
  return { exitCode, err: typeof err === "string" ? expect.stringContaining(err) : expect.stringMatching(err) };
}

export interface OperatorSurroundings extends Surroundings {
  readonly clock?: Clock;
  readonly files?: Files;
}

const SHORTEST_LIMIT_MS = Math.min(...Object.values(DEFAULT_TIMEOUTS));

/** Divides waits between polls by fifty. Request timeouts stay, because a busy machine needs them. */
export const HASTY_CLOCK: Clock = {
  ...systemClock,
  sleep: (ms, signal) => systemClock.sleep(ms < SHORTEST_LIMIT_MS ? ms / 50 : ms, signal),
};

/** Runs robot-policy in this process. */
export function runOperator(
  { clock = systemClock, files = systemFiles, ...surroundings }: OperatorSurroundings,
  argv: readonly string[],
): Promise<Ran> {
  const run = (own: ProcessContext) =>
    runOperatorProgram(argv, own, { ...systemMachine({}, own.processId), clock, files });
  const environment = { NO_COLOR: "1", ...surroundings.environment };
  return runInProcess(`robot-policy ${argv.join(" ")}`, run, { ...surroundings, environment });
}
