/** `robot-policy __complete`, which the completion scripts call when a person presses Tab. */
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";

import { afterAll, beforeAll, expect, it, onTestFinished } from "vitest";

import { type Clock, systemClock } from "../../../src/platform/clock.ts";
import { openOperatorSite, type OperatorSite } from "../../support/operator/operator.ts";
import type { Ran } from "../../support/programs/in-process.ts";

let site: OperatorSite;
beforeAll(async () => {
  site = await openOperatorSite();
  const far = { region: "moon", robot_type_id: "wheelbarrow" };
  await site.register("arm-1", { site: "hall 2", labels: { line: "4", shift: "day" }, ...far });
  await site.register("arm-2", { site: "hall 1", labels: { line: "4" } });
  // Its name has an invisible character, so no completion offers it.
  await site.register("arm-1\u200b");
  await site.run("deploy", "pi0.5", "--robot", "arm-2");
  await site.run("fleets", "create", "--name", "night shift", "--model", "pi0.5", "--robot", "arm-1");
  await site.run("keys", "create", "cell 4");
  await site.run("keys", "create", "cell 5");
  await site.run("keys", "revoke", "cell 5");
  await site.run("contexts", "add", "lab", "--url", site.urls.whole);
});
afterAll(() => site[Symbol.asyncDispose]());

/** Lengthens the command's own time limit, for busy machines. */
const PATIENT_CLOCK: Clock = { ...systemClock, sleep: (ms, signal) => systemClock.sleep(60 * ms, signal) };

/** Runs `__complete` and waits until it has its answer. */
async function complete(args: readonly string[], environment?: Readonly<Record<string, string>>): Promise<Ran> {
  const answered = new AbortController();
  const surroundings = { signal: answered.signal, clock: PATIENT_CLOCK, ...(environment && { environment }) };
  const ran = await site.runWith(surroundings, "__complete", ...args);
  answered.abort();
  return ran;
}

it.each([
  ["robots", ["arm-1", "arm-2"]],
  ["fleets", ["night shift"]],
  ["deployments", ["arm-2"]],
  ["keys", ["bootstrap", "cell 4"]],
  ["contexts", ["lab"]],
  ["sites", ["hall 1", "hall 2"]],
  ["regions", ["moon", "us-west-2"]],
  ["types", ["so101_follower", "wheelbarrow"]],
  ["labels", ["line=4", "shift=day"]],
])("%s: %j", async (kind, names) => {
  const { exitCode, out, err } = await complete([kind, "robot-policy", "some", "command"]);
  expect([exitCode, out.trimEnd().split("\n"), err]).toEqual([0, names, ""]);
});

it("models → their slugs", async () => {
  expect((await complete(["models"])).out.split("\n")).toContain("pi0.5");
});

it("catalog → the robot types of the catalog and those of registered robots", async () => {
  const { out } = await complete(["catalog"]);
  expect(out.split("\n")).toEqual(expect.arrayContaining(["lerobot.so101-follower.v1", "wheelbarrow"]));
});

it("incomplete command line with --context or --url → the names of that service", async () => {
  const environment = { ROBOT_POLICY_API_KEY: site.service.key };
  for (const args of [
    ["--context", "lab", "robots"],
    ["robots", "show", "--history", `--url=${site.urls.whole}`, "--"],
  ]) {
    const { out } = await complete(["robots", "robot-policy", ...args], environment);
    expect([args, out]).toEqual([args, "arm-1\narm-2\n"]);
  }
});

it.each([
  ["no service", {}, ["robots"]],
  ["no credential", { ROBOT_POLICY_URL: "http://127.0.0.1:1" }, ["robots"]],
  ["an unknown context", {}, ["robots", "--context", "moon"]],
  ["--url without an address", {}, ["fleets", "--url"]],
  ["an unknown kind", {}, ["moons"]],
])("%s → no names, exit 0", async (_case, environment, args) => {
  expect(await site.runWith({ environment }, "__complete", ...args)).toMatchObject({ exitCode: 0, out: "" });
});

it("a service without the list → no names, exit 0", async () => {
  expect(await site.run("__complete", "models", "--url", site.urls.eleven)).toMatchObject({ exitCode: 0, out: "" });
});

it("a service that does not answer → no names, exit 0, before the usual request timeout", async () => {
  const silent = createServer(() => {}).listen(0, "127.0.0.1");
  await once(silent, "listening");
  onTestFinished(() => void silent.close());
  const { port } = silent.address() as AddressInfo;
  const startedMs = performance.now();
  expect(await site.run("__complete", "robots", "--url", `http://127.0.0.1:${port}`)).toMatchObject({
    exitCode: 0,
    out: "",
  });
  // Other commands wait 15 seconds for an answer.
  expect(performance.now() - startedMs).toBeLessThan(10_000);
});
