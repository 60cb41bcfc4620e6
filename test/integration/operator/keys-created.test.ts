/** The answer that creates a key, whose members the service document leaves open. What else it leaves open is in session.test.ts. */
import { mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { describe, expect, it, onTestFinished } from "vitest";

import { type Files, systemFiles } from "../../../src/platform/files/files.ts";
import { endedWith, type OperatorSurroundings, runOperator } from "../../support/operator/operator.ts";
import { type HostedStubOptions, startHostedStub } from "../../support/operator/hosted-stub.ts";

async function start(created: NonNullable<HostedStubOptions["created"]>) {
  const service = await startHostedStub({ created });
  const home = await mkdtemp(join(tmpdir(), "operator-home-"));
  onTestFinished(async () => {
    await service[Symbol.asyncDispose]();
    await rm(home, { recursive: true });
  });
  const environment = { HOME: home, ROBOT_POLICY_URL: service.url, ROBOT_POLICY_API_KEY: "sk_test_CANARYcanaryCANARY" };
  const run = (...args: string[]) => runWith({}, ...args);
  const runWith = async (surroundings: OperatorSurroundings, ...args: string[]) => {
    const ran = await runOperator({ ...surroundings, environment }, args);
    expect(ran.err).not.toMatch(/captive portal|check --url/);
    return ran;
  };
  return { home, run, runWith };
}

const KEY = `sk_hosted_${"1".padStart(24, "k")}`;

const ROBOT = ["--scope", "robots:setup"];

describe("keys create: never loses the key", () => {
  it.each<[shape: string, created: (key: string, asked: object) => unknown]>([
    ["beside a record", (key) => ({ record: { uid: "k-1", begins: key.slice(0, 13) }, token: key })],
    ["deep", (key) => ({ data: [{ attributes: { secret: key, shown: `${key.slice(0, 9)}…` } }] })],
    ["an id that is a number, all else as ours", (key) => ({ id: 7, label: "cell 4", api_key: key })],
    ["a bare text", (key) => key],
  ])("%s → on stdout, or in the file of --out", async (_shape, created) => {
    const { home, run } = await start(created);
    expect(await run("keys", "create", "cell 4", ...ROBOT)).toMatchObject({ exitCode: 0, out: `${KEY}\n` });
    const out = join(home, "key");
    const written = await run("keys", "create", "cell 5", ...ROBOT, "--out", out, "--json");
    const second = KEY.replace("kk1", "kk2");
    expect([written.exitCode, await readFile(out, "utf8"), (await stat(out)).mode & 0o777]).toEqual([
      0,
      `${second}\n`,
      0o600,
    ]);
    expect(written.out + written.err).not.toContain(second);
    expect(JSON.parse(written.out)).toMatchObject({ key_file: out });
  });

  it.each<[shape: string, created: (key: string) => object]>([
    ["nothing like a key", () => ({ value: "opaque-0123456789" })],
    ["two of them", (key) => ({ one: key, two: key.replace("kk1", "kk3").replace("kk2", "kk3") })],
  ])("%s → the whole answer, once, and exit 1", async (_shape, created) => {
    const { home, run } = await start(created);
    const printed = await run("keys", "create", "cell 4", ...ROBOT);
    expect(JSON.parse(printed.out)).toEqual(created(KEY));
    expect(printed).toMatchObject(
      endedWith(1, "the key is created, but which part of the answer it is cannot be told"),
    );
    const out = join(home, "key");
    const written = await run("keys", "create", "cell 4", ...ROBOT, "--out", out);
    expect(written).toMatchObject({ out: "", ...endedWith(1, `the whole answer is in ${out}`) });
    expect(Object.keys(JSON.parse(await readFile(out, "utf8")))).toEqual(Object.keys(created(KEY)));
    expect(await run("keys", "create", "cell 4", ...ROBOT, "--json")).toMatchObject({ exitCode: 0 });
  });

  it("--out, and the disk is full → on stdout, and no file remains", async () => {
    const { home, runWith } = await start((key) => ({ token: key }));
    const out = join(home, "cell.key");
    const full = () => Promise.reject(Object.assign(new Error("full"), { code: "ENOSPC" }));
    const files: Files = {
      ...systemFiles,
      createExclusive: async (path, mode) => ({ ...(await systemFiles.createExclusive(path, mode)), write: full }),
    };
    const ran = await runWith({ files }, "keys", "create", "cell 4", ...ROBOT, "--out", out);
    expect(ran).toMatchObject({ ...endedWith(1, "the key works, and is shown above, only once"), out: `${KEY}\n` });
    await expect(stat(out)).rejects.toThrow("ENOENT");
  });

  it.each<[what: string, args: readonly string[], answer: object, warning: RegExp]>([
    ["neither", ["--scope", "robots:setup", "--expires", "2030-01-31"], {}, /does not confirm --scope, --expires\./],
    [
      "one of two scopes missing",
      ["--scope", "robots:setup"],
      { scopes: ["robots:setup", "fleets:write"] },
      /confirm --scope\./,
    ],
    [
      "a later end",
      ["--everything", "--expires", "2030-01-31"],
      { expires_at: "2031-01-31T00:00:00Z" },
      /confirm --expires\./,
    ],
    [
      "both, named otherwise",
      ["--scope", "robots:setup", "--expires", "2030-01-31"],
      { may: ["robots:setup"], until: "2030-01-31T01:00:00+01:00" },
      /^(?!.*does not confirm).*It is shown only once:\n$/s,
    ],
    [
      "seconds since 1970",
      ["--everything", "--expires", "2030-01-31"],
      { exp: Date.parse("2030-01-31") / 1000 },
      /^(?!.*does not confirm).*It is shown only once:\n$/s,
    ],
  ])("scope and expiry: the answer confirms %s → %s", async (_what, args, answer, warning) => {
    const { run } = await start((key) => ({ token: key, ...answer }));
    expect(await run("keys", "create", "cell 4", ...args)).toMatchObject({ ...endedWith(0, warning), out: `${KEY}\n` });
  });
});
