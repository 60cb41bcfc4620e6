import * as z from "zod";

import { READINESS_MODES } from "../../../src/api/fleets.ts";
import { GENERAL_SCOPES } from "../../../src/api/wire/scopes.ts";
import { DEFAULT_TIMEOUTS, type HttpRequest } from "../../../src/client/transport/transport.ts";
import type { Dice } from "../dice.ts";
import type { Scheduler } from "../scheduler.ts";
import { createLifeCycle, type LifeCycle } from "./life-cycle.ts";
import type { Kind } from "./plan.ts";
import { type Belongings, type Call, DECISIONS, LISTS } from "./requests.ts";
import type { FleetRobot } from "./robots.ts";
import type { Cluster } from "./service/cluster.ts";
import { MARKS, MODELS, type Organization, REGION } from "./service/prepared-database.ts";

/** An operator of an organization, who uses the entire API, also with ids of other organizations. */
export interface Operator {
  readonly address: string;
  /** Prefix of its robots' names. */
  readonly names: readonly string[];
  readonly ids: Belongings;
  kinds(others: readonly Operator[]): readonly Kind[];
  /** Gives every robot of the organization a valid key. */
  mend(): void;
  readonly lifeCycle: LifeCycle;
}

export interface OperatorOptions {
  readonly organization: Organization;
  readonly robots: readonly FleetRobot[];
  readonly scheduler: Scheduler;
  readonly cluster: Cluster;
  /** Called before the removal of the robot of this name, or the fleet of this id. */
  onRemove(what: string): void;
  fail(message: string): void;
}

const WAY_MS = 60;
const LOSS = 0.05;
const identified = z.looseObject({ id: z.string() });
const createdKey = z.looseObject({ id: z.string(), api_key: z.string() });

function registrationOf(name: string): string {
  return `/v1/robots/${name}/registration`;
}

export function createOperator(options: OperatorOptions): Operator {
  const { organization, robots, scheduler, cluster, fail } = options;
  const keyed = robots.filter(({ world }) => !world.isEnrolled);
  const ids: Belongings = { fleets: [], deployments: [], keys: new Map() };
  /** Keys with only the scope to set up robots. */
  const restricted: string[] = [];
  const address = `10.1.0.${1 + MARKS.indexOf(organization.mark)}`;
  let fleetsMade = 0;

  function wait(dice: Dice): Promise<void> {
    return new Promise((resolve) => scheduler.after(dice.between(1, WAY_MS), null, "operator's request", resolve));
  }

  const call: Call = async (dice, method, path, body, key = organization.key) => {
    const json = body === undefined ? null : JSON.stringify(body);
    const request: HttpRequest = {
      method,
      url: `https://policy.example${path}`,
      headers: {
        authorization: `Bearer ${key}`,
        ...(json === null ? {} : { "content-type": "application/json" }),
      },
      body: json,
      timeouts: DEFAULT_TIMEOUTS,
      answerLimitBytes: 1_000_000,
    };
    await wait(dice);
    if (dice.chance(LOSS)) return null;
    const answer = await cluster.serve(organization.mark, address, request);
    await wait(dice);
    if (answer === null || dice.chance(LOSS)) return null;
    const { status } = answer;
    const isGuessed = status === 429 && DECISIONS.some((decision) => path.endsWith(decision));
    if (key === organization.key && !isGuessed && ![200, 201, 404, 409, 422, 503].includes(status))
      fail(`an operator is answered ${status} to ${method} ${path}`);
    const parsed: unknown = JSON.parse(new TextDecoder().decode(answer.body));
    return { status, body: parsed, isDone: status < 300 };
  };

  async function createKey(dice: Dice): Promise<string | null> {
    const scopes = dice.pick([null, ["robots:setup"], [...GENERAL_SCOPES]]);
    const made = await call(dice, "POST", "/v1/me/api-keys", { label: "robots", scopes });
    if (made?.isDone !== true) return null;
    const { id, api_key: apiKey } = createdKey.parse(made.body);
    ids.keys.set(id, apiKey);
    if (scopes?.length === 1) restricted.push(apiKey);
    return apiKey;
  }

  /** Gives a robot a new key and revokes the old one. */
  async function rotateKey(dice: Dice): Promise<void> {
    const robot = keyed.length === 0 ? null : dice.pick(keyed);
    const key = await createKey(dice);
    if (robot === null || key === null) return;
    const [old] = [...ids.keys].find(([, secret]) => secret === robot.world.key) ?? [];
    giveKey(robot, key);
    await wait(dice);
    if (old !== undefined && !keyed.some(({ world }) => world.key === ids.keys.get(old))) await revoke(dice, old);
  }

  function giveKey({ world, actors }: FleetRobot, key: string): void {
    world.key = key;
    actors.placeKey();
  }

  async function revoke(dice: Dice, id: string): Promise<void> {
    await call(dice, "DELETE", `/v1/me/api-keys/${id}`);
  }

  async function createFleet(dice: Dice): Promise<void> {
    const selection =
      robots.length > 0 && dice.chance(0.5)
        ? { robots: [dice.pick(robots).name] }
        : { selector: { region: REGION }, membership: "snapshot" };
    fleetsMade += 1;
    const made = await call(dice, "POST", "/v1/fleets", {
      // Sometimes the name is taken.
      name: `fleet ${dice.chance(0.1) ? 1 : fleetsMade}`,
      subject: dice.pick(MODELS),
      selection,
      peak_active_robots: 1,
      readiness_mode: dice.pick(READINESS_MODES.filter((mode) => mode !== "scheduled")),
    });
    if (made?.isDone === true) ids.fleets.push(identified.parse(made.body).id);
  }

  async function deploy(dice: Dice): Promise<void> {
    if (robots.length === 0) return;
    const made = await call(dice, "POST", "/v1/me/deployments", {
      model: dice.pick(MODELS),
      robot: dice.pick(robots).name,
    });
    if (made?.isDone === true) ids.deployments.push(identified.parse(made.body).id);
  }

  /** Uses a robot's key for what it does not allow. */
  async function exceed(dice: Dice): Promise<void> {
    if (restricted.length === 0) return;
    const path = dice.pick(LISTS);
    const answer = await call(dice, "GET", path, undefined, dice.pick(restricted));
    if (answer?.isDone === true) fail(`a key that may only set up robots may GET ${path}`);
  }

  /** Tries to read or change resources of another organization. */
  async function intrude(dice: Dice, others: readonly Operator[]): Promise<void> {
    const strangers = others.filter((other) => other !== operator);
    if (strangers.length === 0) return;
    const { names, ids } = dice.pick(strangers);
    const { fleets, deployments, keys } = ids;
    const attempts = [
      ...names.map((name) => ["GET", registrationOf(name), undefined] as const),
      ...fleets.map((id) => ["GET", `/v1/fleets/${id}`, undefined] as const),
      ...fleets.map((id) => ["POST", `/v1/fleets/${id}/model`, { subject: MODELS[1] }] as const),
      ...deployments.map((id) => ["DELETE", `/v1/me/deployments/${id}`, undefined] as const),
      ...deployments.map((id) => ["GET", `/v1/deployments/${id}`, undefined] as const),
      ...[...keys.keys()].map((id) => ["DELETE", `/v1/me/api-keys/${id}`, undefined] as const),
    ];
    if (attempts.length === 0) return;
    const [method, path, body] = dice.pick(attempts);
    const answer = await call(dice, method, path, body);
    if (answer?.isDone === true) fail(`${organization.mark} may ${method} ${path}, which is not theirs`);
  }

  const operator: Operator = {
    address,
    names: robots.map(({ name }) => name),
    ids,
    kinds: (others) =>
      (
        [
          ["an operator makes a key", 1, (dice) => createKey(dice)],
          ["an operator rotates a robot's key", 2, rotateKey],
          [
            "an operator revokes a key",
            1,
            async (dice) => {
              if (ids.keys.size > 0) await revoke(dice, dice.pick([...ids.keys.keys()]));
            },
          ],
          ["an operator makes a fleet", 2, createFleet],
          [
            "an operator updates a fleet",
            2,
            async (dice) => {
              if (ids.fleets.length === 0) return;
              await call(dice, "POST", `/v1/fleets/${dice.pick(ids.fleets)}/model`, { subject: dice.pick(MODELS) });
            },
          ],
          ["an operator deploys a model", 4, deploy],
          [
            "an operator retires a deployment",
            2,
            async (dice) => {
              if (ids.deployments.length > 0)
                await call(dice, "DELETE", `/v1/me/deployments/${dice.pick(ids.deployments)}`);
            },
          ],
          ["an operator looks at a list", 6, (dice) => call(dice, "GET", dice.pick(LISTS))],
          [
            "an operator looks at a robot",
            2,
            async (dice) => {
              if (robots.length > 0) await call(dice, "GET", registrationOf(dice.pick(robots).name));
            },
          ],
          ["a client exceeds the rights of a robot's key", 1, exceed],
          ["an operator tries ids of other organizations", 2, (dice) => intrude(dice, others)],
        ] satisfies readonly (readonly [string, number, (dice: Dice) => Promise<unknown>])[]
      ).map(([what, weight, act]) => ({
        what,
        weight,
        run(dice) {
          void act(dice);
        },
      })),
    mend() {
      for (const robot of keyed) giveKey(robot, organization.key);
    },
    lifeCycle: createLifeCycle({ robots, ids, call, onRemove: options.onRemove, fail }),
  };
  return operator;
}
