import { afterAll, beforeAll, expect, it } from "vitest";

import { PushedClock } from "../../support/pushed-clock.ts";
import { type Enrolling, openEnrolling, steady } from "../../support/operator/enrolling.ts";
import {
  endedWith,
  HASTY_CLOCK,
  openOperatorSite,
  type OperatorSite,
  type OperatorSurroundings,
} from "../../support/operator/operator.ts";

let site: OperatorSite;
let enrolling: Enrolling;
beforeAll(async () => {
  site = await openOperatorSite({ commandClock: HASTY_CLOCK });
  enrolling = openEnrolling(site);
});
afterAll(() => site[Symbol.asyncDispose]());

type Step = readonly [text: string, act: () => Promise<unknown>];

/** Runs a command. Once it has written the text of a step, performs the action of that step. */
function runAlong(steps: readonly Step[], ...args: string[]) {
  return runAlongWith({}, steps, ...args);
}

async function runAlongWith(surroundings: OperatorSurroundings, steps: readonly Step[], ...args: string[]) {
  const remaining = [...steps];
  const actions: Promise<unknown>[] = [];
  let output = "";
  const onOutput = (text: string) => {
    output += text;
    while (remaining[0] !== undefined && output.includes(remaining[0][0]))
      actions.push(remaining.shift()?.[1]() ?? Promise.resolve());
  };
  const ran = await site.runWith({ ...surroundings, onOutput }, ...args);
  await Promise.all(actions);
  return ran;
}

it("approve --wait: prints the computer's progress until its robot is registered", async () => {
  const { code, poll, computer } = await enrolling.start("arm-1");
  const { exitCode, err, out } = await runAlong(
    [
      [
        "fetches its credential",
        async () => {
          expect(await poll()).toBe("approved");
          await computer.heartbeat({ readiness: "not_ready", reason: "no manifest" });
        },
      ],
      ["yet: no manifest", () => computer.heartbeat()],
    ],
    "robots",
    "approve",
    code,
    "--wait",
  );
  expect(exitCode).toBe(0);
  const lines = steady(err)
    .split("\n")
    .filter((line) => !line.endsWith("registered with it yet"));
  expect(lines.join("\n") + out).toMatchInlineSnapshot(`
    "arm-1 is approved; its computer fetches its credential
    arm-1 has its credential, and is not registered with it yet: no manifest
    arm-1 is approved, in us-west-2.
    arm-1 is registered.
    "
  `);
});

it("approve --wait: the robot already has a computer → waits for the new one", async () => {
  const { computer: old } = await enrolling.enroll("arm-2");
  await old.heartbeat();
  const { code, poll, computer } = await enrolling.start("arm-2");
  const ran = await runAlong(
    [["fetches its credential", async () => (await poll()) === "approved" && computer.heartbeat()]],
    "robots",
    "approve",
    code,
    "--replace",
    "arm-2",
    "--wait",
  );
  expect([ran.exitCode, ran.out]).toEqual([0, expect.stringContaining("arm-2 is registered.")]);
  expect((await old.heartbeat()).status).toBe(401);
});

it("approve --wait: the key is in use on two computers → says how to thaw the robot", async () => {
  const { code, poll, computer } = await enrolling.start("arm-4");
  const freeze = async () => {
    const notReady = { readiness: "not_ready", reason: "no manifest" } as const;
    await poll();
    await computer.heartbeat(notReady);
    const copy = computer.copy();
    await computer.renew();
    await computer.heartbeat(notReady);
    await copy.renew();
    await copy.heartbeat(notReady);
    expect((await computer.heartbeat(notReady)).status).toBe(403);
  };
  const ran = await runAlong([["fetches its credential", freeze]], "robots", "approve", code, "--wait");
  expect(ran).toMatchObject(
    endedWith(6, "arm-4 is frozen: its key is in use on two computers [frozen]\n  → enroll the right computer again"),
  );
  expect(ran.err).toContain("after a false alarm: robot-policy robots thaw arm-4\n");
});

it("approve --wait: the computer never polls → ends after --timeout", async () => {
  const { code } = await enrolling.start("arm-3");
  const ran = await site.run("robots", "approve", code, "--wait", "--timeout", "0s");
  expect(ran).toMatchObject(
    endedWith(1, "after 0 s: arm-3 is approved; its computer fetches its credential [timeout]\n  → is the computer on"),
  );
  expect(ran.out).toContain("arm-3 is approved");
  expect(await site.run("robots", "approve", code, "--wait", "--timeout", "soon")).toMatchObject(
    endedWith(2, "--timeout 'soon' is not a duration"),
  );
});

it("approve --wait: the robot gets another name meanwhile → waits for it all the same", async () => {
  const { code, poll, computer } = await enrolling.start("arm-5");
  const { exitCode, out } = await runAlong(
    [
      [
        "fetches its credential",
        async () => (await poll()) && computer.heartbeat({ readiness: "not_ready", reason: "no manifest" }),
      ],
      [
        "yet: no manifest",
        async () => {
          expect(await site.run("robots", "rename", "arm-5", "arm-6")).toMatchObject({ exitCode: 0 });
          await computer.heartbeat();
        },
      ],
    ],
    "robots",
    "approve",
    code,
    "--wait",
  );
  expect([exitCode, out]).toEqual([0, expect.stringContaining("arm-5 is registered.")]);
});

it("approve --wait: the computer has its credential, and does not register → does not ask for the code", async () => {
  const { code, poll, computer } = await enrolling.start("arm-7");
  const clock = new PushedClock();
  const ran = await runAlongWith(
    { clock },
    [
      [
        "fetches its credential",
        async () => (await poll()) && computer.heartbeat({ readiness: "not_ready", reason: "no manifest" }),
      ],
      ["yet: no manifest", async () => clock.push(3_600_000)],
    ],
    "robots",
    "approve",
    code,
    "--wait",
  );
  const what = "not registered with it yet: no manifest [timeout]";
  expect(ran).toMatchObject(endedWith(1, `${what}\n  → see what it lacks: robot-policy robots show rob_`));
});
