import { readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";

import { apiKeyListSchema } from "../../../src/api/keys.ts";
import { systemClock } from "../../../src/platform/clock.ts";
import { endedWith, openOperatorSite, type OperatorSite } from "../../support/operator/operator.ts";

let site: OperatorSite;
beforeAll(async () => void (site = await openOperatorSite()));
afterAll(() => site[Symbol.asyncDispose]());

async function keys() {
  return apiKeyListSchema.parse(await (await site.service.send("GET", "/v1/me/api-keys")).json()).items;
}

describe("keys", () => {
  it("create → the key on stdout; no later command shows it", async () => {
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

  it.each([
    ["--scope", "robots:setup", "--scope", "robots:read", "--expires", "90d"],
    ["--enroll", "--uses", "500", "--expires", "7d", "--site", "plant-1"],
  ])("create %s %s … → confirmed by the answer, so no warning", async (...args) => {
    const { exitCode, err } = await site.run("keys", "create", "limited", ...args);
    expect([exitCode, err]).toEqual([
      0,
      expect.stringMatching(/^The key limited \(key_\w+\)\. It is shown only once:\n$/),
    ]);
  });

  it("create --expires later than the key that makes it → warns: the new one ends with that", async () => {
    const { out } = await site.run("keys", "create", "short", "--everything", "--expires", "1d");
    const environment = { ROBOT_POLICY_URL: site.urls.whole, ROBOT_POLICY_API_KEY: out.trim() };
    const ran = await site.runWith({ environment }, "keys", "create", "long", "--everything", "--expires", "90d");
    expect(ran).toMatchObject(endedWith(0, "warning: the answer does not confirm --expires.\n  What the key may do"));
  });

  it("list → times in words at a terminal, in full elsewhere; of a service whose clock is ahead, none in the future", async () => {
    const { created_at: createdAt, expires_at: expiresAt } = await site.json(
      "keys",
      "create",
      "timed",
      "--everything",
      "--expires",
      "7d",
    );
    const clock = { ...systemClock, wallMs: () => Date.parse(createdAt) - 7000 };
    const list = ["keys", "list", "--columns", "label,created,last-used,expires"];
    const full = (iso: string) => `${iso.slice(0, 19)}Z`;
    expect((await site.runWith({ clock }, ...list)).out).toMatch(
      new RegExp(`^timed +${full(createdAt)} +never +${full(expiresAt)}$`, "m"),
    );
    expect((await site.runWith({ clock, columns: 200 }, ...list)).out).toMatch(/^timed +now +never +in 7 d$/m);
  });

  it("list: a key that was used just now → is not said to be never used", async () => {
    const { out } = await site.run("keys", "create", "used", "--everything");
    const listed = () => site.runWith({ columns: 200 }, "keys", "list", "--columns", "label,last-used");
    expect((await listed()).out).toMatch(/^used +never$/m);
    const environment = { ROBOT_POLICY_URL: site.urls.whole, ROBOT_POLICY_API_KEY: out.trim() };
    for (let use = 0; use < 4; use += 1) await site.runWith({ environment }, "robots", "list");
    expect((await listed()).out).toMatch(/^used +(now|\d+ s ago)$/m);
  });

  it("create --out → the key in a file of mode 600, and not in the output", async () => {
    const path = join(site.home, "cell-5.key");
    const { exitCode, out, err } = await site.run("keys", "create", "cell 5", "--everything", "--out", path, "--json");
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
    ["an existing file", () => join(site.home, "models.yaml"), "[key-file-exists]"],
    ["a file in a missing folder", () => join(site.home, "nowhere/key"), "[key-file-unwritable]"],
  ])("create --out: %s → refused, and no key is created", async (_case, path, problem) => {
    const before = (await keys()).length;
    expect(await site.run("keys", "create", "cell 6", "--everything", "--out", path())).toMatchObject(
      endedWith(1, problem),
    );
    expect(await keys()).toHaveLength(before);
  });

  it("create: what it may do is required; more than robots:setup ends after 90 days unless --no-expiry", async () => {
    expect(await site.run("keys", "create", "all")).toMatchObject(endedWith(2, "what the key may do is missing"));
    const daysOf = async (label: string, ...args: string[]) => {
      const { expires_at: at } = await site.json("keys", "create", label, ...args);
      return at === null ? null : Math.round((Date.parse(String(at)) - Date.now()) / 86_400_000);
    };
    expect(await daysOf("all", "--everything")).toBe(90);
    expect(await daysOf("reader", "--scope", "robots:setup", "--scope", "robots:read")).toBe(90);
    expect(await daysOf("robot", "--scope", "robots:setup")).toBeNull();
    expect(await daysOf("ever", "--everything", "--no-expiry")).toBeNull();
    expect((await site.run("keys", "create", "said", "--everything")).err).toMatch(
      /^It expires 20\d\d-.*--no-expiry none\.$/m,
    );
    expect(await site.run("keys", "create", "x", "--everything", "--scope", "robots:read")).toMatchObject(
      endedWith(2, "--everything and --scope exclude each other"),
    );
  });

  it("rotate: a new key of the same label and scopes in the file; the former one works until the overlap is over", async () => {
    const { api_key: former } = await site.json("keys", "create", "cell 8", "--scope", "robots:read", "--no-expiry");
    const path = join(site.home, "cell-8.key");
    const statusOf = async (key: string) =>
      (await fetch(`${site.urls.whole}/v1/robots`, { headers: { authorization: `Bearer ${key}` } })).status;
    const declined = await site.runWith({ answers: ["n"] }, "keys", "rotate", "cell 8", "--out", path);
    expect([declined.exitCode, declined.err]).toEqual([
      1,
      expect.stringMatching(
        /^This replaces the key cell 8 \(sk_rps_…\w{4}\), never used\. A new key with the same scopes/,
      ),
    ]);
    const rotated = await site.run("keys", "rotate", "cell 8", "--out", path, "--overlap", "2h");
    expect([rotated.exitCode, rotated.out, rotated.err]).toEqual([
      0,
      expect.stringMatching(/^The key cell 8 \(key_\w+\) is in \S+, which only you can read\.\n$/),
      expect.stringMatching(/^The former key ends 20\d\d-\S+: replace it before\.\n$/),
    ]);
    const key = (await readFile(path, "utf8")).trim();
    expect([await statusOf(String(former)), await statusOf(key)]).toEqual([200, 200]);
    expect(await site.run("keys", "rotate", "cell 8", "--out", path)).toMatchObject(endedWith(2, "2 keys have the id"));
    const [before, after] = (await keys()).filter(({ label }) => label === "cell 8");
    expect(after).toMatchObject({ scopes: ["robots:read"], expires_at: null });
    expect(Math.round((Date.parse(before?.expires_at ?? "") - Date.now()) / 3_600_000)).toBe(2);
    // An existing file is refused before anything is rotated; without an overlap the former key ends at once.
    expect(await site.run("keys", "rotate", after?.id ?? "", "--out", path)).toMatchObject(
      endedWith(1, "[key-file-exists]"),
    );
    const last = await site.run("keys", "rotate", after?.id ?? "", "--overlap", "0");
    expect([last.err, await statusOf(key), await statusOf(last.out.trim())]).toEqual([
      expect.stringContaining("The former key has ended."),
      401,
      200,
    ]);
  });

  it("rotate: a service without it → says so", async () => {
    await site.run("keys", "create", "kept", "--scope", "robots:setup");
    expect(await site.eleven("keys", "rotate", "kept")).toMatchObject(
      endedWith(6, "this service does not offer to replace an API key by a new one with the same scopes"),
    );
  });

  it("revoke: a label → the service refuses the key from then on", async () => {
    const { out } = await site.run("keys", "create", "cell 7", "--everything");
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

  it("revoke: a label of two keys → exit 2 with their ids, and both stay", async () => {
    await site.run("keys", "create", "twin", "--everything");
    await site.run("keys", "create", "twin", "--everything");
    const ambiguous = await site.run("keys", "revoke", "twin");
    expect([ambiguous.exitCode, ambiguous.err]).toEqual([
      2,
      expect.stringMatching(/2 keys have the id or label twin.*\n.*key_\w+, key_\w+/),
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
  ])("revoke: asks once; answer %j → exit %i", async (answer, exitCode, message) => {
    await site.run("keys", "create", "asked", "--everything");
    const ran = await site.runWith({ answers: [answer] }, "keys", "revoke", "asked");
    expect([ran.exitCode, ran.out + ran.err]).toEqual([exitCode, expect.stringContaining(message)]);
    expect(ran.err).toMatch(/^This revokes the key asked \(sk_rps_…\w{4}\), never used\.\n/);
    expect(ran.err.match(/\[y\/N\]/g)).toHaveLength(1);
    expect((await keys()).some(({ label, revoked_at: revokedAt }) => label === "asked" && revokedAt === null)).toBe(
      exitCode !== 0,
    );
    await site.run("keys", "revoke", "asked");
  });

  it("revoke: --yes, or a key that is already revoked → no question", async () => {
    const { id } = await site.json("keys", "create", "once", "--everything");
    for (const args of [["once", "--yes"], [id]]) {
      expect(await site.runWith({ answers: [] }, "keys", "revoke", ...args)).toMatchObject({ exitCode: 0, err: "" });
    }
  });

  describe("revoke: the key in use", () => {
    const createKeyInUse = async () => {
      const { api_key: apiKey } = await site.json("keys", "create", "own", "--everything");
      onTestFinished(async () => void (await site.run("keys", "revoke", "own")));
      return { ROBOT_POLICY_URL: site.urls.whole, ROBOT_POLICY_API_KEY: String(apiKey) };
    };

    it("no terminal → refused, unless --yes is given", async () => {
      const environment = await createKeyInUse();
      expect(await site.runWith({ environment }, "keys", "revoke", "own")).toEqual({
        exitCode: 2,
        out: "",
        err: expect.stringMatching(
          /^error: you use the key own yourself: the key in ROBOT_POLICY_API_KEY \[own-key\]\n {2}→ replace it instead: robot-policy keys rotate key_\w+ --out FILE;/,
        ),
      });
      expect((await site.runWith({ environment }, "robots", "list")).exitCode).toBe(0);
      expect((await site.runWith({ environment }, "keys", "revoke", "own", "--yes")).exitCode).toBe(0);
      expect((await site.runWith({ environment }, "robots", "list")).exitCode).toBe(5);
    });

    it("terminal → says that the key is in use, and asks", async () => {
      const environment = await createKeyInUse();
      const declined = await site.runWith({ environment, answers: ["no"] }, "keys", "revoke", "own");
      expect([declined.exitCode, declined.err]).toEqual([
        1,
        expect.stringContaining("You use it yourself: the key in ROBOT_POLICY_API_KEY."),
      ]);
      expect((await site.runWith({ environment, answers: ["y"] }, "keys", "revoke", "own")).exitCode).toBe(0);
    });
  });

  it("revoke: a key with which others were created → a script needs --yes; a person is told which keys also end", async () => {
    const parent = await site.json("keys", "create", "parent", "--everything");
    const environment = { ROBOT_POLICY_URL: site.urls.whole, ROBOT_POLICY_API_KEY: String(parent.api_key) };
    for (const label of ["first", "second"])
      await site.runWith({ environment }, "keys", "create", label, "--everything");
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

  it("create: the service refuses the label → the error names LABEL", async () => {
    const { exitCode, err } = await site.run("keys", "create", "x".repeat(300), "--everything");
    const finding = /^error: LABEL "x+…: String should have at most 256 /m;
    expect([exitCode, err]).toEqual([6, expect.stringMatching(finding)]);
  });

  it.each([
    ["robot:setup", "did you mean robots:setup?"],
    ["everything", "it is one of robots:setup, "],
  ])("create: unknown --scope %s → exit 2 with a suggestion", async (scope, fix) => {
    expect(await site.run("keys", "create", "x", "--scope", "robots:read", "--scope", scope)).toMatchObject(
      endedWith(2, `--scope '${scope}' is not a scope [usage]\n  → ${fix}`),
    );
  });

  it.each(["", " "])(
    "create: label %j, as from an unset shell variable → exit 2, and no key is created",
    async (label) => {
      const before = (await keys()).length;
      expect(await site.run("keys", "create", label)).toMatchObject(endedWith(2, "the LABEL is empty"));
      expect(await keys()).toHaveLength(before);
    },
  );
});

it("a key file that others can read → refused, with the chmod that fixes it", async () => {
  const path = join(site.home, "open.key");
  await writeFile(path, site.service.key, { mode: 0o644 });
  expect(await site.run("robots", "list", "--key-file", path)).toMatchObject(endedWith(5, `chmod 600 ${path}`));
});

it("a missing key file → a remedy for operators, not for the agent", async () => {
  const { exitCode, err } = await site.run("robots", "list", "--key-file", "/nowhere");
  expect([exitCode, err]).toEqual([
    5,
    expect.stringContaining("[key-missing]\n  → correct the path, or give --key-file FILE; robot-policy keys"),
  ]);
  expect(err).not.toContain("agent");
});

it("empty --key-file → exit 2, although the environment has a key", async () => {
  expect(await site.run("robots", "list", "--key-file", "")).toMatchObject(endedWith(2, "--key-file is empty"));
});
