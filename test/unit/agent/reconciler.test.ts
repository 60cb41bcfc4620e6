import { rename, writeFile } from "node:fs/promises";

import { describe, expect, test } from "vitest";

import { loadRegistration, registrationPath } from "../../../src/agent/registration/registration.ts";
import { systemFiles } from "../../../src/platform/files/files.ts";
import { keyOf, reconciledRobot } from "./robot-in-process.ts";

/** Content of the state file. */
async function savedIn(directory: string) {
  const loaded = await loadRegistration(systemFiles, directory);
  return loaded.kind === "content" ? loaded.content : null;
}

describe("reconcile: failures and unanswered requests", () => {
  test("no answers → the backoff grows; success → it resets", async () => {
    const { clock, reconciler, answer, write, run } = await reconciledRobot();
    const delaysMs: number[] = [];
    const fail = async () => {
      expect((await run()).kind).toBe("failed");
      const delayMs = (reconciler.failure?.retryAtMs ?? 0) - clock.monotonicMs();
      delaysMs.push(delayMs);
      clock.step(delayMs);
    };
    answer("reset");
    for (let times = 0; times < 4; times++) await fail();
    answer("ok");
    expect((await run()).kind).toBe("registered");
    expect(reconciler.failure).toBeNull();
    answer("reset");
    await write("second\n");
    await fail();
    expect(delaysMs).toEqual([1000, 2000, 4000, 8000, 1000]);
  });

  test("hurry: outage over → waits at most half a minute and no longer than before; after a refusal → full wait", async () => {
    const robot = await reconciledRobot();
    const { clock, reconciler, answer, write, run } = robot;
    const leftMs = () => (reconciler.failure?.retryAtMs ?? 0) - clock.monotonicMs();
    answer("reset");
    await run();
    reconciler.hurry();
    expect(leftMs()).toBe(1000);
    for (let times = 0; times < 8; times++) {
      clock.step(leftMs());
      await run();
    }
    expect(leftMs()).toBe(256_000);
    reconciler.hurry();
    expect(leftMs()).toBe(30_000);
    clock.step(30_000);
    // The outage ends during a request.
    robot.onRequest = async () => reconciler.hurry();
    await run();
    expect(leftMs()).toBe(30_000);
    robot.onRequest = async () => {};
    clock.step(30_000);
    await run();
    expect(leftMs()).toBe(300_000);
    clock.step(300_000);
    answer(422);
    await write("second\n");
    await run();
    const refusedMs = leftMs();
    reconciler.hurry();
    expect([leftMs() > 30_000, leftMs()]).toEqual([true, refusedMs]);
  });

  test("hurry → not sooner than the first retry after a failure", async () => {
    const { clock, reconciler, answer, machine, run } = await reconciledRobot();
    const leftMs = () => (reconciler.failure?.retryAtMs ?? 0) - clock.monotonicMs();
    answer("reset");
    await run();
    clock.step(leftMs());
    await run();
    expect(leftMs()).toBe(2000);
    Object.assign(machine.random, { unit: () => 0 });
    reconciler.hurry();
    expect(leftMs()).toBe(1000);
  });

  test("refusal, then files reverted → nothing is sent, the registration is certain", async () => {
    const { answer, write, run, reconciler, requests } = await reconciledRobot();
    await run();
    answer(422);
    await write("second\n");
    expect((await run()).kind).toBe("failed");
    expect(reconciler.registration?.in_doubt).toBe(false);
    await write("first\n");
    expect((await run()).kind).toBe("unchanged");
    expect(requests.length).toBe(2);
  });

  test("lost answer, then refusal → the registration stays uncertain", async () => {
    const { clock, answer, write, run, reconciler, digests } = await reconciledRobot();
    await run();
    // The service may have accepted this one.
    answer("reset", 422, "ok");
    await write("second\n");
    expect((await run()).kind).toBe("failed");
    expect(reconciler.registration?.in_doubt).toBe(true);
    clock.step(1000);
    await write("third\n");
    expect(await run()).toMatchObject({ kind: "failed", failure: { state: "rejected" } });
    expect(reconciler.registration?.in_doubt).toBe(true);
    await write("first\n");
    expect((await run()).kind).toBe("registered");
    expect(reconciler.registration?.in_doubt).toBe(false);
    expect(digests().at(-1)).toBe(digests()[0]);
  });

  test("uncertainty: saved before the request is sent, cleared by the answer", async () => {
    const robot = await reconciledRobot();
    const { stateDirectory, write, run } = robot;
    await run();
    expect(await savedIn(stateDirectory)).toMatchObject({ in_doubt: false });
    const seen: unknown[] = [];
    robot.onRequest = async () => {
      seen.push((await savedIn(stateDirectory))?.in_doubt);
    };
    await write("second\n");
    expect((await run()).kind).toBe("registered");
    expect(seen).toEqual([true]);
    expect(await savedIn(stateDirectory)).toEqual(robot.reconciler.registration);
  });

  test("uncertainty: many failed requests → written once", async () => {
    const { clock, disk, answer, write, run } = await reconciledRobot();
    await run();
    let writes = 0;
    disk.createExclusive = (...args) => {
      writes += 1;
      return systemFiles.createExclusive(...args);
    };
    answer("reset", "reset", 422, "reset");
    for (const content of ["second\n", "third\n", "fourth\n", "fifth\n"]) {
      await write(content);
      clock.step(60_000);
      expect((await run()).kind).toBe("failed");
    }
    expect(writes).toBe(1);
  });
});

describe("reconcile: the key", () => {
  test("key replaced after a refusal → noticed without an event, tried at once", async () => {
    const { clock, keyPath, answer, run, reconciler, requests } = await reconciledRobot();
    answer(401, "ok");
    expect(await run()).toMatchObject({ kind: "failed", failure: { state: "unauthorized" } });
    clock.step(60_000);
    expect((await run()).kind).toBe("waiting");
    expect(await reconciler.isUnchanged()).toBe(true);
    await writeFile(`${keyPath}.new`, `${keyOf("b")}\n`, { mode: 0o600 });
    await rename(`${keyPath}.new`, keyPath);
    expect(await reconciler.isUnchanged()).toBe(false);
    expect((await run()).kind).toBe("registered");
    expect(requests.map(({ headers }) => headers["authorization"])).toEqual([
      `Bearer ${keyOf("a")}`,
      `Bearer ${keyOf("b")}`,
    ]);
  });
});

describe("reconcile: the certificate authority", () => {
  test("its file corrected in place → noticed without an event, tried at once", async () => {
    const { clock, caPath, answer, run, reconciler, requests } = await reconciledRobot();
    await writeFile(caPath, "another authority");
    answer("reset", "reset", "ok");
    expect((await run()).kind).toBe("failed");
    clock.step(1000);
    expect((await run()).kind).toBe("failed");
    expect((await run()).kind).toBe("waiting");
    clock.step(1500);
    expect((await run()).kind).toBe("waiting");
    expect(await reconciler.isUnchanged()).toBe(true);
    await writeFile(caPath, "the right authority");
    expect(await reconciler.isUnchanged()).toBe(false);
    expect((await run()).kind).toBe("registered");
    expect(requests).toHaveLength(3);
  });
});

describe("reconcile: registration", () => {
  test("unchanged files → sent again only if requested", async () => {
    const { clock, run, reconciler, requests } = await reconciledRobot();
    expect((await run()).kind).toBe("registered");
    clock.step(60_000);
    expect((await run()).kind).toBe("unchanged");
    expect(await reconciler.isUnchanged()).toBe(true);
    expect(requests.length).toBe(1);
    expect((await run({ forced: true })).kind).toBe("registered");
    expect(requests.length).toBe(2);
  });

  test("settling files → the request's modules are loaded meanwhile", async () => {
    const { write, run, prepared } = await reconciledRobot();
    await write("second\n");
    await run();
    expect(prepared()).toBeGreaterThan(0);
  });

  test("another id for the same name → reported, the service had lost the robot", async () => {
    const robot = await reconciledRobot();
    await robot.run();
    await robot.run({ forced: true });
    expect(robot.logged).toEqual([]);
    robot.robotId = "rob_2";
    await robot.run({ forced: true });
    expect(robot.logged).toEqual(["registration-lost"]);
  });

  test("confirmation: asked when due or requested; a lost registration is sent again", async () => {
    const robot = await reconciledRobot();
    const { clock, run, requests, reconciler } = robot;
    await run();
    clock.step(60_000);
    await run();
    expect(requests.map(({ method }) => method)).toEqual(["POST"]);
    // 404 to the question.
    expect((await run({ confirm: true })).kind).toBe("registered");
    expect(requests.map(({ method }) => method)).toEqual(["POST", "GET", "POST"]);
    clock.step(reconciler.confirmation.dueMs - clock.monotonicMs() - 1);
    await run();
    expect(requests.length).toBe(3);
    clock.step(1);
    await run();
    expect(requests.slice(3).map(({ method }) => method)).toEqual(["GET", "POST"]);
    // To a service without the operation, the parts of one digest are sent once.
    expect(robot.partRequests.length).toBe(1);
    expect(robot.logged).toEqual(["registration-unconfirmed", "registration-unconfirmed"]);
  });
});

describe("reconcile: unwritable disk", () => {
  test("registers, reports the disk, and saves the state later without another request", async () => {
    const { clock, disk, stateDirectory, run, reconciler, requests } = await reconciledRobot();
    disk.createExclusive = async () => {
      throw Object.assign(new Error("full"), { code: "ENOSPC" });
    };
    expect((await run()).kind).toBe("registered");
    expect(reconciler.stateProblem).toContain("ENOSPC");
    clock.step(60_000);
    await run();
    // The resync tries again.
    expect(await reconciler.isUnchanged()).toBe(false);
    disk.createExclusive = systemFiles.createExclusive;
    expect((await run()).kind).toBe("unchanged");
    expect(reconciler.stateProblem).toBeNull();
    expect(await reconciler.isUnchanged()).toBe(true);
    expect(await savedIn(stateDirectory)).toEqual(reconciler.registration);
    expect(requests.length).toBe(1);
  });
});

describe("forgetMoved", () => {
  test("forgets only a registration whose file was moved away", async () => {
    const { stateDirectory, run, reconciler, requests } = await reconciledRobot();
    await run();
    expect(await reconciler.forgetMoved()).toBe(false);
    expect(reconciler.registration).not.toBeNull();
    await rename(registrationPath(stateDirectory), `${registrationPath(stateDirectory)}.rebound`);
    expect(await reconciler.forgetMoved()).toBe(true);
    expect(reconciler.registration).toBeNull();
    expect((await run()).kind).toBe("registered");
    expect(requests.length).toBe(2);
    expect(await savedIn(stateDirectory)).toMatchObject({ in_doubt: false });
  });
});

test("reconcile: answer after the stop → ignored", async () => {
  const robot = await reconciledRobot();
  const stopping = new AbortController();
  robot.onRequest = async () => stopping.abort(new Error("stopped"));
  await expect(robot.run({ signal: stopping.signal })).rejects.toThrow("stopped");
  expect(robot.requests.length).toBe(1);
  expect(robot.reconciler.registration).toBeNull();
});
