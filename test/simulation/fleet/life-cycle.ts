import type { Dice } from "../dice.ts";
import type { Kind } from "./plan.ts";
import { type Belongings, type Call, type DECISIONS, LISTS } from "./requests.ts";
import type { FleetRobot } from "./robots.ts";

/** Operations that create and remove: enrolment, removal. */
export interface LifeCycle {
  readonly kinds: readonly Kind[];
  /** Performs what robots with an identity need a person for: approval, thawing, recovery, a new enrolment. */
  attend(dice: Dice): void;
}

interface LifeCycleOptions {
  readonly robots: readonly FleetRobot[];
  readonly ids: Belongings;
  readonly call: Call;
  onRemove(what: string): void;
  fail(message: string): void;
}

const RECOVERIES = 5;
/** Often longer than the lifetime of a credential. */
const OFF_MS = { minimum: 20_000, maximum: 240_000 } as const;

export function createLifeCycle({ robots, ids, call, onRemove, fail }: LifeCycleOptions): LifeCycle {
  const enrolled = robots.filter(({ world }) => world.isEnrolled);

  async function decide(dice: Dice, decision: (typeof DECISIONS)[number], robot: FleetRobot): Promise<void> {
    const userCode = robot.userCode();
    if (userCode === null) return;
    const choice = decision === "/deny" ? {} : { name: robot.name, confirm_replace: true };
    await call(dice, "POST", `/v1/robots${decision}`, { user_code: userCode, ...choice });
  }

  /** Approves or denies a waiting robot. */
  async function decideOne(dice: Dice, decision: (typeof DECISIONS)[number]): Promise<void> {
    const waiting = enrolled.filter((robot) => robot.userCode() !== null);
    if (waiting.length > 0) await decide(dice, decision, dice.pick(waiting));
  }

  async function removeFleet(dice: Dice): Promise<void> {
    if (ids.fleets.length === 0) return;
    const id = dice.pick(ids.fleets);
    onRemove(id);
    await call(dice, "DELETE", `/v1/fleets/${id}`);
  }

  async function removeRobot(dice: Dice): Promise<void> {
    if (robots.length === 0) return;
    const { name } = dice.pick(robots);
    onRemove(name);
    await call(dice, "DELETE", `/v1/robots/${name}`);
  }

  async function switchOff(dice: Dice): Promise<void> {
    if (robots.length > 0) dice.pick(robots).switchOff(dice.between(OFF_MS.minimum, OFF_MS.maximum));
  }

  /** Uses a robot's credential for what it does not allow. */
  async function exceed(dice: Dice): Promise<void> {
    const credential = enrolled.length === 0 ? null : dice.pick(enrolled).credential();
    if (credential === null) return;
    const path = dice.pick(LISTS);
    const answer = await call(dice, "GET", path, undefined, credential);
    if (answer?.isDone === true) fail(`the credential of a robot may GET ${path}`);
  }

  const acts: readonly (readonly [what: string, weight: number, act: (dice: Dice) => Promise<void>])[] = [
    ["an operator approves an enrolment", 8, (dice) => decideOne(dice, "/approve")],
    ["an operator denies an enrolment", 1, (dice) => decideOne(dice, "/deny")],
    ["an operator removes a fleet", 1, removeFleet],
    ["an operator removes a robot", 1, removeRobot],
    ["a robot is switched off for a while", 3, switchOff],
    ["a client exceeds the rights of a robot's credential", 1, exceed],
  ];

  return {
    kinds: acts.map(([what, weight, act]) => ({ what, weight, run: (dice) => void act(dice) })),
    attend(dice) {
      for (const robot of enrolled) {
        robot.enrollAgain();
        const state = robot.world.daemon?.agent?.status().identity?.state;
        const installation = `/v1/robots/${robot.name}/installation`;
        if (robot.userCode() !== null) void decide(dice, "/approve", robot);
        if (state === "frozen") void call(dice, "PATCH", installation, { frozen: false });
        if (state === "lapsed") void call(dice, "PATCH", installation, { recoveries_remaining: RECOVERIES });
      }
    },
  };
}
