import { readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";

import { apiKeyListSchema } from "../../../src/api/keys.ts";
import { endedWith, openOperatorSite, type OperatorSite } from "../../support/operator/operator.ts";

let site: OperatorSite;
beforeAll(async () => void (site = await openOperatorSite()));
afterAll(() => site[Symbol.asyncDispose]());

async function keys() {
  return apiKeyListSchema.parse(await (await site.service.send("GET", "/v1/me/api-keys")).json()).items;
}

describe("keys", () => {
  it("create: shows the key once, alone on stdout", async () => {
    const { exitCode, out, err } = await site.run(
      "keys",
      "create",
      "cell 4",
      "--scope",
      "robots:setup",
      "--expires",
      "90d",
    );
    expect([exitCode, out]).toEqual([0, expect.stringMatching(/^sk_rps_\w+\n$/)]);
    expect(err).toContain("shown only once");
    const answer = await fetch(`${site.urls.whole}/v1/robots`, { headers: { authorization: `Bearer ${out.trim()}` } });
    expect(answer.status).toBe(403);
    expect((await keys()).at(-1)).toMatchObject({
      label: "cell 4",
      scopes: ["robots:setup"],
      expires_at: expect.any(String),
    });
    expect(`${(await site.run("keys", "list")).out}${(await site.run("keys", "list", "--json")).out}`).not.toContain(
      out.trim(),
    );
  });

  it("create --out: writes it for this person alone, and shows it nowhere", async () => {
    const path = join(site.home, "cell-5.key");
    const { exitCode, out, err } = await site.run("keys", "create", "cell 5", "--out", path, "--json");
    const key = (await readFile(path, "utf8")).trim();
    expect([exitCode, (await stat(path)).mode & 0o777]).toEqual([0, 0o600]);
    expect(out + err).not.toContain(key);
    expect(JSON.parse(out)).toMatchObject({ label: "cell 5", key_file: path });
    expect(
      (await site.runWith({ environment: { ROBOT_POLICY_URL: site.urls.whole } }, "robots", "list", "--key-file", path))
        .exitCode,
    ).toBe(0);
  });

  it.each([
    ["a file that is there", () => join(site.home, "models.yaml"), "[key-file-exists]"],
    ["a folder that is not there", () => join(site.home, "nowhere/key"), "[key-file-unwritable]"],
  ])("create --out: %s is refused before a key is made", async (_case, path, problem) => {
    const before = (await keys()).length;
    expect(await site.run("keys", "create", "cell 6", "--out", path())).toMatchObject(endedWith(1, problem));
    expect(await keys()).toHaveLength(before);
  });

  it("revoke: by the label, and the key is refused from then on", async () => {
    const { out } = await site.run("keys", "create", "cell 7");
    const revoked = await site.run("keys", "revoke", "cell 7");
    expect(revoked).toMatchObject({ exitCode: 0, out: expect.stringContaining("cell 7 is revoked") });
    const environment = { ROBOT_POLICY_URL: site.urls.whole, ROBOT_POLICY_API_KEY: out.trim() };
    const refused = await site.runWith({ environment }, "robots", "list");
    expect(refused.exitCode).toBe(5);
    expect(refused.err).toContain(
      "API key has been revoked: the service does not accept the key in ROBOT_POLICY_API_KEY",
    );
    expect(await site.run("keys", "revoke", "cell 7")).toMatchObject({ exitCode: 6 });
  });

  it("revoke: a label that two keys have is not guessed", async () => {
    await site.run("keys", "create", "twin");
    await site.run("keys", "create", "twin");
    const ambiguous = await site.run("keys", "revoke", "twin");
    expect([ambiguous.exitCode, ambiguous.err]).toEqual([
      2,
      expect.stringMatching(/2 keys are labelled twin.*\n.*key_\w+, key_\w+/),
    ]);
    expect(
      (await keys()).filter(({ label, revoked_at: revokedAt }) => label === "twin" && revokedAt === null),
    ).toHaveLength(2);
  });

  it.each([
    ["y", 0, "is revoked"],
    ["yes", 0, "is revoked"],
    ["", 1, "[not-confirmed]"],
    ["n", 1, "[not-confirmed]"],
  ])("revoke: a person is asked once, and %j ends with %i", async (answer, exitCode, told) => {
    await site.run("keys", "create", "asked");
    const ran = await site.runWith({ answers: [answer] }, "keys", "revoke", "asked");
    expect([ran.exitCode, ran.out + ran.err]).toEqual([exitCode, expect.stringContaining(told)]);
    expect(ran.err).toMatch(/^This revokes the key asked \(sk_rps_…\w{4}\), never used\.\n/);
    expect(ran.err.match(/\[y\/N\]/g)).toHaveLength(1);
    expect((await keys()).some(({ label, revoked_at: revokedAt }) => label === "asked" && revokedAt === null)).toBe(
      exitCode !== 0,
    );
    await site.run("keys", "revoke", "asked");
  });

  it("revoke: nobody is asked with --yes, nor about a key that is revoked already", async () => {
    const { id } = await site.json("keys", "create", "once");
    for (const words of [["once", "--yes"], [id]]) {
      expect(await site.runWith({ answers: [] }, "keys", "revoke", ...words)).toMatchObject({ exitCode: 0, err: "" });
    }
  });

  describe.each([
    ["the whole service", () => site.urls.whole],
    ["a service that does not say whose a credential is", () => site.urls.eleven],
  ])("revoke, at %s: the key in use", (_what, url) => {
    const own = async () => {
      const { api_key: apiKey } = await site.json("keys", "create", "own");
      onTestFinished(async () => void (await site.run("keys", "revoke", "own")));
      return { ROBOT_POLICY_URL: url(), ROBOT_POLICY_API_KEY: String(apiKey) };
    };

    it("is refused to a script, unless it says --yes", async () => {
      const environment = await own();
      expect(await site.runWith({ environment }, "keys", "revoke", "own")).toEqual({
        exitCode: 2,
        out: "",
        err: expect.stringMatching(
          /^error: you use the key own yourself: the key in ROBOT_POLICY_API_KEY \[own-key\]\n {2}→ create another one first/,
        ),
      });
      expect((await site.runWith({ environment }, "robots", "list")).exitCode).toBe(0);
      expect((await site.runWith({ environment }, "keys", "revoke", "own", "--yes")).exitCode).toBe(0);
      expect((await site.runWith({ environment }, "robots", "list")).exitCode).toBe(5);
    });

    it("is told to a person, who may want it all the same", async () => {
      const environment = await own();
      const declined = await site.runWith({ environment, answers: ["no"] }, "keys", "revoke", "own");
      expect([declined.exitCode, declined.err]).toEqual([
        1,
        expect.stringContaining("You use it yourself: the key in ROBOT_POLICY_API_KEY."),
      ]);
      expect((await site.runWith({ environment, answers: ["y"] }, "keys", "revoke", "own")).exitCode).toBe(0);
    });
  });

  it("revoke: a key that others end with is refused to a script, unless it says --yes, and a person is told of them", async () => {
    const parent = await site.json("keys", "create", "parent");
    const environment = { ROBOT_POLICY_URL: site.urls.whole, ROBOT_POLICY_API_KEY: String(parent.api_key) };
    for (const label of ["first", "second"]) await site.runWith({ environment }, "keys", "create", label);
    const listed = await site.run("keys", "list", "--columns", "label,made-with");
    expect(listed.out).toMatch(/^parent +bootstrap$/m);
    expect(listed.out).toMatch(/^first +parent$/m);
    expect(await site.run("keys", "revoke", "parent")).toMatchObject(
      endedWith(2, "revoking the key parent also ends 2 keys made with it [keys-end-too]"),
    );
    const declined = await site.runWith({ answers: ["no"] }, "keys", "revoke", "parent");
    expect(declined.err).toContain("It also ends 2 keys made with it: first, second.");
    expect(await site.run("keys", "revoke", "parent", "--yes")).toMatchObject({
      exitCode: 0,
      out: "The key parent is revoked, and so are 2 keys made with it: their next requests are refused.\n",
    });
    expect((await keys()).slice(-2).every(({ revoked_at: revokedAt }) => revokedAt !== null)).toBe(true);
  });

  it("create --independent: a key that others may end without", async () => {
    const created = await site.json("keys", "create", "alone", "--independent");
    expect(created.parent_id).toBeNull();
    expect((await site.run("keys", "list")).out).toMatch(/^alone .* bootstrap, independent/m);
    await site.run("keys", "revoke", "alone");
  });

  it("revoke: the key of the context of this service counts as in use, also where another one is stronger", async () => {
    const keyFile = join(site.home, "context.key");
    await site.run("keys", "create", "of the context", "--out", keyFile);
    await site.run("contexts", "add", "here", "--url", site.urls.whole, "--key-file", keyFile);
    expect(await site.run("keys", "revoke", "of the context")).toMatchObject(
      endedWith(2, `the key in ${keyFile}, which the context names`),
    );
    await site.run("contexts", "remove", "here");
  });

  it("create: a refusal names LABEL", async () => {
    const { exitCode, err } = await site.run("keys", "create", "x".repeat(300));
    const told = /^error: LABEL "x+…: String should have at most 256 /m;
    expect([exitCode, err]).toEqual([6, expect.stringMatching(told)]);
  });

  it.each([
    ["robot:setup", "did you mean robots:setup?"],
    ["everything", "it is one of robots:setup, "],
  ])("create: --scope %s, which there is not, is refused before anything is sent", async (scope, fix) => {
    expect(await site.run("keys", "create", "x", "--scope", "robots:read", "--scope", scope)).toMatchObject(
      endedWith(2, `--scope '${scope}' is not a scope [usage]\n  → ${fix}`),
    );
  });

  it.each(["", " "])("create: %j labels no key, which a shell writes whose variable is not set", async (label) => {
    const before = (await keys()).length;
    expect(await site.run("keys", "create", label)).toMatchObject(endedWith(2, "the LABEL is empty"));
    expect(await keys()).toHaveLength(before);
  });
});

it("a key file that others can read is refused, with the command that mends it", async () => {
  const path = join(site.home, "open.key");
  await writeFile(path, site.service.key, { mode: 0o644 });
  expect(await site.run("robots", "list", "--key-file", path)).toMatchObject(endedWith(5, `chmod 600 ${path}`));
});

it("a key file that is not there is told in the words of an operator", async () => {
  const { exitCode, err } = await site.run("robots", "list", "--key-file", "/nowhere");
  expect([exitCode, err]).toEqual([
    5,
    expect.stringContaining("[key-missing]\n  → correct the path; robot-policy keys"),
  ]);
  expect(err).not.toContain("agent");
});

it("an empty --key-file does not stand for the key in the environment", async () => {
  expect(await site.run("robots", "list", "--key-file", "")).toMatchObject(endedWith(2, "--key-file names no file"));
});
