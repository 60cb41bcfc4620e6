/** `robot-policy __complete`, which the completion scripts call when a person presses Tab. */
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";

import { afterAll, beforeAll, expect, it, onTestFinished } from "vitest";

import { type Clock, systemClock } from "../../../src/platform/clock.ts";
import { openOperatorSite, type OperatorSite } from "../../support/operator/operator.ts";

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
  await site.run("keys", "create", "cell 4", "--everything");
  await site.run("keys", "create", "cell 5", "--everything");
  await site.run("keys", "revoke", "cell 5");
  await site.run("contexts", "add", "lab", "--url", site.urls.whole);
});
afterAll(() => site[Symbol.asyncDispose]());

/** Lengthens the command's own time limit, for busy machines. */
const PATIENT_CLOCK: Clock = { ...systemClock, sleep: (ms, signal) => systemClock.sleep(60 * ms, signal) };

/** What completes the last of these words, after the program has answered. */
async function complete(line: string, environment?: Readonly<Record<string, string>>) {
  const answered = new AbortController();
  const surroundings = { signal: answered.signal, clock: PATIENT_CLOCK, ...(environment && { environment }) };
  const { exitCode, out, err } = await site.runWith(surroundings, "__complete", ...line.split(" "));
  answered.abort();
  expect([exitCode, err]).toEqual([0, ""]);
  const [kind, ...lines] = out.trimEnd().split("\n");
  expect(kind).toBe("words");
  return lines.map((each) => each.split("\t")[0]);
}

it.each([
  ["robots show ", ["arm-1", "arm-2"]],
  ["fleets show ", ["night shift"]],
  ["deployments retire ", ["arm-2"]],
  ["keys revoke ", ["bootstrap", "cell 4"]],
  ["contexts use l", ["lab"]],
  ["robots list --site ", ["hall 1", "hall 2"]],
  ["robots list --region m", ["moon"]],
  ["robots list --type ", ["so101_follower", "wheelbarrow"]],
  ["robots list --label ", ["line=4", "shift=day"]],
  ["models show pi0", ["pi0.5"]],
  ["robots setup --type w", ["wheelbarrow"]],
  ["robots setup --type lerobot.so", ["lerobot.so101-follower.v1"]],
])("%j: %j", async (line, names) => {
  expect(await complete(line)).toEqual(names);
});

it("incomplete command line with --context or --url → the names of that service", async () => {
  const environment = { ROBOT_POLICY_API_KEY: site.service.key };
  for (const line of ["--context lab robots show ", `robots show --contract --url=${site.urls.whole} `]) {
    expect([line, await complete(line, environment)]).toEqual([line, ["arm-1", "arm-2"]]);
  }
});

it.each([
  ["no service", {}, "robots show "],
  ["no credential", { ROBOT_POLICY_URL: "http://127.0.0.1:1" }, "robots show "],
  ["an unknown context", {}, "robots show --context moon "],
])("%s → no names, exit 0", async (_case, environment, line) => {
  expect(await site.runWith({ environment }, "__complete", ...line.split(" "))).toMatchObject({
    exitCode: 0,
    out: "words\n",
  });
});

it("a service without the list → no names, exit 0", async () => {
  expect(await site.run("__complete", "models", "show", "--url", site.urls.eleven, "")).toMatchObject({
    exitCode: 0,
    out: "words\n",
  });
});

it("a service that does not answer → no names, exit 0, before the usual request timeout", async () => {
  const silent = createServer(() => {}).listen(0, "127.0.0.1");
  await once(silent, "listening");
  onTestFinished(() => void silent.close());
  const { port } = silent.address() as AddressInfo;
  const startedMs = performance.now();
  const words = ["robots", "show", "--url", `http://127.0.0.1:${port}`, ""];
  expect(await site.run("__complete", ...words)).toMatchObject({ exitCode: 0, out: "words\n" });
  // Other commands wait 15 seconds for an answer.
  expect(performance.now() - startedMs).toBeLessThan(10_000);
});
