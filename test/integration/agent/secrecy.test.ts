/** Scenario 16: the key leaves the agent only in the authorization header of its requests. */
import { readFile, readdir, rename } from "node:fs/promises";
import { join } from "node:path";

import { expect } from "vitest";

import { replaceIn, writeAtOnce } from "../../support/robot/robot.ts";
import { type Fault, startFaultProxy } from "../../support/service/fault-proxy.ts";
import { test } from "../../support/service/scene-test.ts";
import { expectOneRobot } from "../../support/service/scene.ts";

const ROBOT = {
  id: "rob_1",
  name: "arm-7",
  robot_type_id: "lerobot.so101-follower.v1",
  region: "eu-north",
  created_at: "2030-01-01T00:00:00Z",
};

/** Answers with the key in every place that the agent reads. */
function echoing(key: string): readonly Fault[] {
  const error = { loc: ["body", key], msg: `you sent ${key}`, type: key, input: { authorization: key }, ctx: { key } };
  const answer = (status: number, body: string, headers: Readonly<Record<string, string>> = {}): Fault => ({
    kind: "answer",
    status,
    headers,
    body,
  });
  return [
    answer(503, JSON.stringify({ detail: `no ${key}` }), { "x-request-id": key }),
    answer(200, `<html>${key}</html>`, { "content-type": `text/html; ${key}` }),
    answer(302, "", { location: `https://login.invalid/?key=${key}` }),
    answer(302, "", { location: `https://${key}.invalid/` }),
    // The limit on the length of texts may cut the key in the middle.
    answer(500, JSON.stringify({ detail: `${"x".repeat(490)}${key}` })),
    answer(200, JSON.stringify({ robot: { name: key } })),
    answer(200, JSON.stringify({ robot: { ...ROBOT, name: key } })),
    answer(200, JSON.stringify({ robot: { ...ROBOT, id: key, labels: { [key]: key } } })),
    answer(422, JSON.stringify({ detail: [error] })),
  ];
}

test(
  "scenario 16: the service repeats the key → it is in no output, log, argument or state file",
  { tags: "needs/program" },
  async ({ scene, proxy, robot, service }) => {
    const { key } = service;
    const texts = new Map<string, string>();
    const faults = echoing(key);
    for (const fault of faults) proxy.inject(fault);

    await using daemon = await robot.startProcess();
    await daemon.until(({ daemon: counts }) => (counts?.attempts ?? 0) >= 1);
    for (const [index] of faults.entries()) {
      texts.set(`status after answer ${index}`, await daemon.ask("GET", "/status"));
      // Skips the backoff between the attempts.
      await daemon.ask("POST", "/register");
    }
    texts.set("argv", await readFile(`/proc/${daemon.process_id}/cmdline`, "utf8"));
    texts.set("environment", await readFile(`/proc/${daemon.process_id}/environ`, "utf8"));
    for (const path of ["/metrics", "/healthz", "/readyz", "/status"]) texts.set(path, await daemon.ask("GET", path));
    for (const args of COMMANDS) texts.set(`${args.join(" ")} beside the daemon`, await outputOf(args));

    await replaceIn(robot.path("left.yaml"), "offset: 1", "offset: 2");
    await expectOneRobot(scene, daemon);
    await daemon.stop();
    texts.set("log", daemon.output());
    for (const args of COMMANDS) texts.set(`${args.join(" ")} alone`, await outputOf(args));
    for (const fault of faults) {
      proxy.inject(fault);
      texts.set(`--setup, ${fault.kind}`, await outputOf(["--setup"]));
    }
    for (const name of await readdir(robot.state_directory)) {
      texts.set(`state file ${name}`, await readFile(join(robot.state_directory, name), "utf8"));
    }

    expect(daemon.logged("registered").length).toBeGreaterThan(0);
    expect(texts.size).toBeGreaterThan(30);
    expectNowhere(texts, key);
    // Proves that the search finds a key.
    expect(() => expectNowhere(new Map([["x", `…${key}…`]]), key)).toThrow("x");

    async function outputOf(args: readonly string[]): Promise<string> {
      const { stdout, stderr } = await robot.run(args);
      return stdout + stderr;
    }
  },
);

/** The commands that change no input. */
const COMMANDS: readonly (readonly string[])[] = [
  ["status"],
  ["status", "--json"],
  ["check"],
  ["check", "--json"],
  ["digest", "--explain"],
  ["digest", "--json"],
  ["--setup", "--dry-run"],
  ["--setup", "--dry-run", "--json"],
  ["reload"],
  ["doctor"],
  ["doctor", "--json"],
  ["contract"],
];

test("scenario 16: a key in the wrong place of the configuration → exit 3, and the key is not shown", async ({
  robot,
  service,
}) => {
  const { key } = service;
  const text = await readFile(robot.config_path, "utf8");
  const texts = new Map<string, string>();
  const mistakes: Readonly<Record<string, string>> = {
    "as a value": text.replace("  url:", `  api_key: ${key}\n  url:`),
    "as key_file": text.replace(robot.keyPath, key),
    "in the address": text.replace("http://", `http://robot:${key}@`),
    "as a label": text.replace("{line: a}", `{line: ${key}}`),
    "in a comment": `${text}# ${key}\n`,
    "beside a syntax error": `${text}x: [${key}\n`,
  };
  for (const [mistake, configuration] of Object.entries(mistakes)) {
    await writeAtOnce(robot.config_path, configuration);
    for (const args of [["check"], ["check", "--json"], ["run"]]) {
      const { code, stdout, stderr } = await robot.run(args);
      expect([mistake, args, code]).toEqual([mistake, args, 3]);
      texts.set(`${args.join(" ")}: ${mistake}`, stdout + stderr);
    }
  }
  expectNowhere(texts, key);
});

test("scenario 16: a proxy that refuses and repeats its password and the key → neither is shown", async ({
  robot,
  service,
}) => {
  const password = "canary-of-the-proxy";
  await using forward = await startFaultProxy(service.url);
  forward.inject({ kind: "answer", status: 407, body: `${password} ${service.key}` }, Number.POSITIVE_INFINITY);
  const address = forward.url.replace("http://", `http://robot:${password}@`);
  await replaceIn(robot.config_path, "  key_file:", `  proxy: ${address}\n  key_file:`);
  await using daemon = await robot.start();
  const { failure } = await daemon.until(({ state }) => state === "unreachable");
  expect(failure?.reason).toBe("proxy");
  const { stdout, stderr } = await robot.run(["status"]);
  const texts = new Map([
    ["log", daemon.output()],
    ["status", stdout + stderr],
    ["status document", await daemon.ask("GET", "/status")],
  ]);
  expectNowhere(texts, service.key);
  expectNowhere(texts, password);
});

test("scenario 16: --setup with the key in the environment → the key is in no output or state file", async ({
  robot,
  service,
}) => {
  await rename(robot.keyPath, robot.path("elsewhere"));
  const { code, stdout, stderr } = await robot.run(["--setup", "--json"], { ROBOT_POLICY_API_KEY: service.key });
  expect([code, stderr]).toEqual([0, ""]);
  const state = await readFile(join(robot.state_directory, "registration.json"), "utf8");
  expectNowhere(
    new Map([
      ["output", stdout + stderr],
      ["state", state],
    ]),
    service.key,
  );
});

/** Asserts that no text contains the secret, a usable part of it, or either in base64 or hex. */
function expectNowhere(texts: ReadonlyMap<string, string>, secret: string): void {
  const forms = [
    secret.slice(8, 20),
    secret.slice(-12),
    Buffer.from(secret).toString("base64").slice(8, 24),
    Buffer.from(secret).toString("hex").slice(16, 40),
  ];
  const leaks = [...texts].filter(([, text]) => forms.some((form) => text.includes(form))).map(([source]) => source);
  expect(leaks).toEqual([]);
}
