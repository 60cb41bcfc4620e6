import { readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";

import * as z from "zod";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";

import { apiKeyCreatedSchema, apiKeyListSchema } from "../../../src/api/keys.ts";
import { systemClock } from "../../../src/platform/clock.ts";
import type { Clock } from "../../../src/platform/clock.ts";
import type { OperatorSite } from "../../support/operator/operator.ts";
import { HASTY_CLOCK, openOperatorSite } from "../../support/operator/operator.ts";

const DIGEST = `sha256:${"0".repeat(64)}`;

/** For all tests that leave nothing deployed. */
let site: OperatorSite;
beforeAll(async () => {
  site = await openOperatorSite();
  for (const name of ["arm-1", "arm-2", "arm-3"]) await site.register(name);
});
afterAll(() => site[Symbol.asyncDispose]());

interface SiteInTime extends OperatorSite {
  /** Lets time pass, for the service and its commands. */
  pass(durationMs: number): void;
}

/** A site with one robot, `arm-1`, for a test that looks at all there is or lets time pass. */
async function openSiteInTime(): Promise<SiteInTime> {
  let aheadMs = 0;
  const clock: Clock = {
    ...systemClock,
    wallMs: () => systemClock.wallMs() + aheadMs,
    monotonicMs: () => systemClock.monotonicMs() + aheadMs,
  };
  const own = await openOperatorSite({ clock });
  await own.register("arm-1");
  const runWith: OperatorSite["runWith"] = (surroundings, ...words) =>
    own.runWith({ clock, ...surroundings }, ...words);
  return {
    ...own,
    runWith,
    run: (...words) => runWith({}, ...words),
    pass: (durationMs) => void (aheadMs += durationMs),
  };
}

const whole = ({ urls, service } = site) => ({
  ROBOT_POLICY_URL: urls.whole,
  ROBOT_POLICY_API_KEY: service.key,
});
const eleven = ({ urls, service } = site) => ({
  environment: { ROBOT_POLICY_URL: urls.eleven, ROBOT_POLICY_API_KEY: service.key },
});

let refits = 0;
/** Refusals are written down every few seconds, by a task that wakes when a robot is fitted otherwise. */
async function passPeriod(own: SiteInTime): Promise<void> {
  own.pass(5000);
  refits += 1;
  await own.register("refitted", { region: `region-${refits}` });
}

async function keys() {
  return apiKeyListSchema.parse(await (await site.service.send("GET", "/v1/me/api-keys")).json()).items;
}

describe("keys", () => {
  it("create: shows the key once, alone on stdout", async () => {
    const {
      exit_code: exitCode,
      out,
      err,
    } = await site.run("keys", "create", "cell 4", "--scope", "robots:setup", "--expires", "90d");
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
    const { exit_code: exitCode, out, err } = await site.run("keys", "create", "cell 5", "--out", path, "--json");
    const key = (await readFile(path, "utf8")).trim();
    expect([exitCode, (await stat(path)).mode & 0o777]).toEqual([0, 0o600]);
    expect(out + err).not.toContain(key);
    expect(JSON.parse(out)).toMatchObject({ label: "cell 5", key_file: path });
    expect(
      (await site.runWith({ environment: { ROBOT_POLICY_URL: site.urls.whole } }, "robots", "list", "--key-file", path))
        .exit_code,
    ).toBe(0);
  });

  it.each([
    ["a file that is there", () => join(site.home, "models.yaml"), "[key-file-exists]"],
    ["a folder that is not there", () => join(site.home, "nowhere/key"), "[key-file-unwritable]"],
  ])("create --out: %s is refused before a key is made", async (_case, path, problem) => {
    const before = (await keys()).length;
    const { exit_code: exitCode, err } = await site.run("keys", "create", "cell 6", "--out", path());
    expect([exitCode, err]).toEqual([1, expect.stringContaining(problem)]);
    expect(await keys()).toHaveLength(before);
  });

  it("revoke: by the label, and the key is refused from then on", async () => {
    const { out } = await site.run("keys", "create", "cell 7");
    const revoked = await site.run("keys", "revoke", "cell 7");
    expect(revoked).toMatchObject({ exit_code: 0, out: expect.stringContaining("cell 7 is revoked") });
    const environment = { ROBOT_POLICY_URL: site.urls.whole, ROBOT_POLICY_API_KEY: out.trim() };
    const refused = await site.runWith({ environment }, "robots", "list");
    expect(refused.exit_code).toBe(5);
    expect(refused.err).toContain(
      "API key has been revoked: the service does not accept the key in ROBOT_POLICY_API_KEY",
    );
    expect(await site.run("keys", "revoke", "cell 7")).toMatchObject({ exit_code: 6 });
  });

  it("revoke: a label that two keys have is not guessed", async () => {
    await site.run("keys", "create", "twin");
    await site.run("keys", "create", "twin");
    const ambiguous = await site.run("keys", "revoke", "twin");
    expect([ambiguous.exit_code, ambiguous.err]).toEqual([
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
    const ran = await site.runWith({ environment: whole(), answers: [answer] }, "keys", "revoke", "asked");
    expect([ran.exit_code, ran.out + ran.err]).toEqual([exitCode, expect.stringContaining(told)]);
    expect(ran.err).toMatch(/^This revokes the key asked \(sk_rps_…\w{4}\), never used\.\n/);
    expect(ran.err.match(/\[y\/N\]/g)).toHaveLength(1);
    expect((await keys()).some(({ label, revoked_at: revokedAt }) => label === "asked" && revokedAt === null)).toBe(
      exitCode !== 0,
    );
    await site.run("keys", "revoke", "asked");
  });

  it("revoke: nobody is asked with --yes, nor about a key that is revoked already", async () => {
    const { id } = JSON.parse((await site.run("keys", "create", "once", "--json")).out);
    for (const words of [["once", "--yes"], [id]]) {
      const { exit_code: exitCode, err } = await site.runWith(
        { environment: whole(), answers: [] },
        "keys",
        "revoke",
        ...words,
      );
      expect([exitCode, err]).toEqual([0, ""]);
    }
  });

  describe.each([
    ["the whole service", () => site.urls.whole],
    ["a service that does not say whose a credential is", () => site.urls.eleven],
  ])("revoke, at %s: the key in use", (_what, url) => {
    const own = async () => {
      const { api_key: apiKey } = JSON.parse((await site.run("keys", "create", "own", "--json")).out);
      onTestFinished(async () => void (await site.run("keys", "revoke", "own")));
      return { ROBOT_POLICY_URL: url(), ROBOT_POLICY_API_KEY: String(apiKey) };
    };

    it("is refused to a script, unless it says --yes", async () => {
      const environment = await own();
      expect(await site.runWith({ environment }, "keys", "revoke", "own")).toEqual({
        exit_code: 2,
        out: "",
        err: expect.stringMatching(
          /^error: you use the key own yourself: the key in ROBOT_POLICY_API_KEY \[own-key\]\n {2}→ create another one first/,
        ),
      });
      expect((await site.runWith({ environment }, "robots", "list")).exit_code).toBe(0);
      expect((await site.runWith({ environment }, "keys", "revoke", "own", "--yes")).exit_code).toBe(0);
      expect((await site.runWith({ environment }, "robots", "list")).exit_code).toBe(5);
    });

    it("is told to a person, who may want it all the same", async () => {
      const environment = await own();
      const declined = await site.runWith({ environment, answers: ["no"] }, "keys", "revoke", "own");
      expect([declined.exit_code, declined.err]).toEqual([
        1,
        expect.stringContaining("You use it yourself: the key in ROBOT_POLICY_API_KEY."),
      ]);
      expect((await site.runWith({ environment, answers: ["y"] }, "keys", "revoke", "own")).exit_code).toBe(0);
    });
  });

  it("revoke: a key that others end with is refused to a script, unless it says --yes, and a person is told of them", async () => {
    const parent = JSON.parse((await site.run("keys", "create", "parent", "--json")).out);
    const environment = { ...whole(), ROBOT_POLICY_API_KEY: String(parent.api_key) };
    for (const label of ["first", "second"]) await site.runWith({ environment }, "keys", "create", label);
    const listed = await site.run("keys", "list", "--columns", "label,made-with");
    expect(listed.out).toMatch(/^parent +bootstrap$/m);
    expect(listed.out).toMatch(/^first +parent$/m);
    expect(await site.run("keys", "revoke", "parent")).toMatchObject({
      exit_code: 2,
      err: expect.stringContaining("revoking the key parent also ends 2 keys made with it [keys-end-too]"),
    });
    const declined = await site.runWith({ environment: whole(), answers: ["no"] }, "keys", "revoke", "parent");
    expect(declined.err).toContain("It also ends 2 keys made with it: first, second.");
    expect(await site.run("keys", "revoke", "parent", "--yes")).toMatchObject({
      exit_code: 0,
      out: "The key parent is revoked, and so are 2 keys made with it: their next requests are refused.\n",
    });
    expect((await keys()).slice(-2).every(({ revoked_at: revokedAt }) => revokedAt !== null)).toBe(true);
  });

  it("create --independent: a key that others may end without", async () => {
    const created = JSON.parse((await site.run("keys", "create", "alone", "--independent", "--json")).out);
    expect(created.parent_id).toBeNull();
    expect((await site.run("keys", "list")).out).toMatch(/^alone .* bootstrap, independent/m);
    await site.run("keys", "revoke", "alone");
  });

  it("revoke: the key of the context of this service counts as in use, also where another one is stronger", async () => {
    const keyFile = join(site.home, "context.key");
    await site.run("keys", "create", "of the context", "--out", keyFile);
    await site.run("contexts", "add", "here", "--url", site.urls.whole, "--key-file", keyFile);
    const { exit_code: exitCode, err } = await site.run("keys", "revoke", "of the context");
    expect([exitCode, err]).toEqual([2, expect.stringContaining(`the key in ${keyFile}, which the context names`)]);
    await site.run("contexts", "remove", "here");
  });

  it("create: a refusal names LABEL", async () => {
    const { exit_code: exitCode, err } = await site.run("keys", "create", "x".repeat(300));
    const told = /^error: LABEL "x+…: String should have at most 256 /m;
    expect([exitCode, err]).toEqual([6, expect.stringMatching(told)]);
  });

  it.each([
    ["robot:setup", "did you mean robots:setup?"],
    ["everything", "it is one of robots:setup, "],
  ])("create: --scope %s, which there is not, is refused before anything is sent", async (scope, fix) => {
    const { exit_code: exitCode, err } = await site.run(
      "keys",
      "create",
      "x",
      "--scope",
      "robots:read",
      "--scope",
      scope,
    );
    expect([exitCode, err]).toEqual([
      2,
      expect.stringContaining(`--scope '${scope}' is not a scope [usage]\n  → ${fix}`),
    ]);
  });

  it.each(["", " "])("create: %j labels no key, which a shell writes whose variable is not set", async (label) => {
    const before = (await keys()).length;
    const { exit_code: exitCode, err } = await site.run("keys", "create", label);
    expect([exitCode, err]).toEqual([2, expect.stringContaining("the LABEL is empty")]);
    expect(await keys()).toHaveLength(before);
  });
});

it("a key file that others can read is refused, with the command that mends it", async () => {
  const path = join(site.home, "open.key");
  await writeFile(path, site.service.key, { mode: 0o644 });
  const { exit_code: exitCode, err } = await site.run("robots", "list", "--key-file", path);
  expect([exitCode, err]).toEqual([5, expect.stringContaining(`chmod 600 ${path}`)]);
});

it("a key file that is not there is told in the words of an operator", async () => {
  const { exit_code: exitCode, err } = await site.run("robots", "list", "--key-file", "/nowhere");
  expect([exitCode, err]).toEqual([
    5,
    expect.stringContaining("[key-missing]\n  → correct the path; robot-policy keys"),
  ]);
  expect(err).not.toContain("agent");
});

it("an empty --key-file does not stand for the key in the environment", async () => {
  const { exit_code: exitCode, err } = await site.run("robots", "list", "--key-file", "");
  expect([exitCode, err]).toEqual([2, expect.stringContaining("--key-file names no file")]);
});

describe("--dry-run", () => {
  it.each([
    [["keys", "create", "x"], "POST", "/v1/me/api-keys", { label: "x" }],
    [
      ["keys", "revoke", "key_01jz0000000000000000000000"],
      "DELETE",
      "/v1/me/api-keys/key_01jz0000000000000000000000",
      null,
    ],
    [
      ["deployments", "retire", "dep_01jz0000000000000000000000"],
      "DELETE",
      "/v1/me/deployments/dep_01jz0000000000000000000000",
      null,
    ],
    [["api", "POST", "/v1/x", "--field", "n=1", "--raw-field", "s[t]=1"], "POST", "/v1/x", { s: { t: "1" }, n: 1 }],
  ])("%j shows the request and sends none", async (words, method, path, body) => {
    const before = site.service.requests.length;
    const { exit_code: exitCode, out, err } = await site.run(...words, "--dry-run", "--json");
    expect(exitCode).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ dry_run: true, method, url: site.urls.whole + path, body });
    expect(JSON.parse(out).headers.authorization).toBe("Bearer [secret]");
    expect(out + err).not.toContain(site.service.key);
    expect(site.service.requests).toHaveLength(before);
  });
});

describe("deployments", () => {
  it("list, show and retire: by the robot it runs on", async () => {
    await using own = await openSiteInTime();
    await own.service.send("POST", "/v1/me/deployments", { model: "pi0.5", robot: "arm-1" });
    expect((await own.run("deployments", "list")).out).toMatch(
      /^arm-1 +pi0\.5 +active +us-west-2 +(?:now|\d+ s ago) +dep_\w+$/m,
    );
    expect((await own.run("deployments", "list", "--robot", "arm-2")).err).toContain(
      "Nothing that matches is deployed",
    );
    const { items } = JSON.parse((await own.run("deployments", "list", "--model", "pi0.5", "--json")).out);
    expect((await own.run("deployments", "show", "arm-1")).out).toContain(items[0].id);
    expect(await own.run("deployments", "retire", "arm-1")).toMatchObject({ exit_code: 0 });
    expect((await own.run("deployments", "list")).err).toContain("--all shows retired");
    expect((await own.run("deployments", "list", "--status", "retired")).out).toContain(items[0].id);
    expect(await own.run("deployments", "retire", "arm-1")).toMatchObject({
      exit_code: 6,
      err: expect.stringContaining("[not-found]"),
    });
  });
});

it.each([
  [[], "Nothing that matches is deployed; --all shows retired deployments."],
  [["--all"], "No deployment matches."],
  [["--status", "failed"], "No deployment matches."],
])("deployments list --robot arm-9 %j: says of an empty list what would show more", async (flags, told) => {
  const listed = await site.run("deployments", "list", "--robot", "arm-9", ...flags);
  expect(listed).toMatchObject({ exit_code: 0, out: "", err: `${told}\n` });
});

describe("a person at the terminal is asked before", () => {
  const type = (answer: string, ...words: string[]) =>
    site.runWith({ environment: whole(), answers: [answer] }, ...words);
  const statuses = async () =>
    JSON.parse((await site.run("deployments", "list", "--robot", "swapped", "--all", "--json")).out).items.map(
      ({ model, status }: { model: string; status: string }) => `${model} ${status}`,
    );

  it("a deployment takes the place of another, and before it is retired", async () => {
    await site.register("swapped");
    expect((await type("n", "deploy", "pi0.5", "--robot", "swapped")).err).toBe("");
    expect(await type("n", "deploy", "dead-vla", "--robot", "swapped")).toMatchObject({
      exit_code: 1,
      err: expect.stringMatching(/^This retires pi0\.5 on swapped \(active for \d+ s\)\.\nReplace it\? \[y\/N\]/),
    });
    expect(await statuses()).toEqual(["pi0.5 active"]);
    expect((await type("y", "deploy", "dead-vla", "--robot", "swapped")).exit_code).toBe(0);
    expect(await type("n", "deployments", "retire", "swapped")).toMatchObject({
      exit_code: 1,
      err: expect.stringMatching(/^This retires dead-vla on swapped \(/),
    });
    expect(await statuses()).toEqual(["pi0.5 retired", expect.stringMatching(/^dead-vla (?!retired)/)]);
    expect(await type("n", "deployments", "retire", "swapped", "--yes")).toMatchObject({
      exit_code: 0,
      out: expect.stringMatching(/^dead-vla on swapped is retired \(dep_\w+\)\.\n$/),
      err: "",
    });
  });

  it("a fleet is updated", async () => {
    await site.run("fleets", "create", "--name", "asked", "--model", "pi0.5", "--robot", "arm-2");
    expect(await type("", "fleets", "update-model", "asked", "picky-vla")).toMatchObject({
      exit_code: 1,
      err: expect.stringMatching(/^This updates asked, which uses pi0\.5: .* of 1\.\nUpdate it\? \[y\/N\]/),
    });
    expect((await type("Y", "fleets", "update-model", "asked", "picky-vla")).exit_code).toBe(0);
  });
});

describe("models", () => {
  it("list: how each answers by its default checkpoint", async () => {
    await expect
      .poll(async () => (await site.run("models", "list", "--columns", "model,health")).out.split("\n"))
      .toEqual(expect.arrayContaining(["dead-vla    unhealthy", "pi0.5       healthy"]));
  });

  it("show: what a checkpoint needs in words, and each endpoint with its last failure", async () => {
    await expect
      .poll(async () => (await site.run("models", "show", "dead-vla")).out)
      .toMatch(/^us-west-2 +unhealthy +\S.* +answered 503$/m);
    const { out } = await site.run("models", "show", "picky-vla");
    expect(out).toMatch(/^needs type +so101_follower$/m);
    expect(out).not.toMatch(/[[{"]/);
    const document = JSON.parse((await site.run("models", "show", "dead-vla", "--json")).out);
    expect(document).toMatchObject({ slug: "dead-vla", endpoints: [{ region: "us-west-2", status: "unhealthy" }] });
    const { out: json } = await site.runWith(eleven(), "models", "show", "dead-vla", "--json");
    expect(JSON.parse(json)).toMatchObject({ slug: "dead-vla", endpoints: null });
  });
});

describe("audit", () => {
  const setup = async ({ service }: OperatorSite, key: string, body: object) => {
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
    const sent = { method: "POST", headers, body: JSON.stringify(body) };
    return (await fetch(`${service.url}/v1/robots/setup`, sent)).status;
  };

  it("tells who changed what, and why a robot does not register", async () => {
    await using own = await openSiteInTime();
    expect(await setup(own, own.service.key, { name: "cell-9", robot_type_id: "arm" })).toBe(422);
    await own.run("keys", "create", "cell 9");
    await refusalIsTold(own);
    const { out } = await own.run("audit");
    expect(out).toMatch(/^(?:now|\d+ (?:s|min) ago) +api_key\.create +cell 9 +bootstrap/m);
    expect(out).toMatch(
      /^(?:now|\d+ (?:s|min) ago) +refused +cell-9 +bootstrap +127\.0\.0\.1 +region: Field required; .*\(422\)$/m,
    );
    expect(await audited(own, "--robot", "cell-9")).toMatchObject([{ kind: "refusal", robot: "cell-9", status: 422 }]);
    expect(await audited(own, "--robot", "arm-1")).toMatchObject([{ kind: "registration", robot: "arm-1" }]);
    expect(await audited(own, "--robot", "arm-1", "--refused")).toEqual([]);
    expect(await audited(own, "--since", "2020-01-01")).toEqual(expect.arrayContaining(await audited(own)));
    const unknown = await own.run("robots", "show", "cell-9");
    expect([unknown.exit_code, unknown.err]).toEqual([6, expect.stringContaining("was refused: region: Field req")]);
  });

  it("names what was changed, and keeps ids for --wide and --json", async () => {
    await using own = await openSiteInTime();
    expect(await setup(own, own.service.key, { name: "cell-9", robot_type_id: "arm" })).toBe(422);
    await refusalIsTold(own);
    await own.run("fleets", "create", "--name", "line 4", "--model", "pi0.5", "--robot", "arm-1");
    const { id } = JSON.parse((await own.run("fleets", "show", "line 4", "--json")).out);
    await own.run("deploy", "pi0.5", "--robot", "arm-1");
    await own.run("deployments", "retire", "arm-1");
    const narrow = await own.runWith({ environment: whole(own), columns: 80 }, "audit");
    expect(narrow.out).toMatch(/^(?:now|\d+ s ago) +deployment\.retire +pi0\.5 on arm-1 +bootstrap/m);
    expect(narrow.out).toMatch(/^(?:now|\d+ s ago) +fleet\.create +line 4 +bootstrap/m);
    expect(narrow.out).not.toMatch(/(?:fleet|dep|rob|ckpt|key)_01/);
    expect(narrow.err).toContain("columns hidden: from, id; --wide or --columns");
    expect((await own.run("audit", "--wide")).out).toMatch(new RegExp(`fleet\\.create +line 4 +.* ${id}$`, "m"));
    expect(await audited(own)).toContainEqual(expect.objectContaining({ subject_id: id, subject_name: "line 4" }));
  });

  it("robots show tells what was refused since the robot registered last", async () => {
    await using own = await openSiteInTime();
    const { out: made } = await own.run("keys", "create", "cell 8", "--json");
    const { api_key: apiKey, id } = apiKeyCreatedSchema.parse(JSON.parse(made));
    const { name, ...robot } = { name: "cell-8", robot_type_id: "arm", region: "eu", configuration_digest: DIGEST };
    expect(await setup(own, apiKey, { name, ...robot })).toBe(200);
    expect((await own.service.send("DELETE", `/v1/me/api-keys/${id}`)).status).toBe(200);
    for (let attempt = 0; attempt < 3; attempt += 1) expect(await setup(own, apiKey, { name, ...robot })).toBe(401);
    const told = async () => (await own.run("robots", "show", name)).out;
    const toldLater = async () => {
      await passPeriod(own);
      return told();
    };
    await expect
      .poll(toldLater)
      .toMatch(
        /^refused since .*\nWHEN .*\n(?:now|\d+ (?:s|min) ago) +cell 8 +127\.0\.0\.1 +API key has been revoked \(401, 3 times\)$/m,
      );
    await own.register(name);
    expect(await told()).not.toContain("refused");
  });

  it.each([
    [["--since", "yesterday"], "'yesterday' is neither a date nor a duration"],
    [["--columns", "whn"], "did you mean when?"],
  ])("%j is refused before anything is asked", async (words, told) => {
    const { exit_code: exitCode, err } = await site.run("audit", ...words);
    expect([exitCode, err]).toEqual([2, expect.stringContaining(told)]);
  });

  async function refusalIsTold(own: SiteInTime): Promise<void> {
    const refused = async () => {
      await passPeriod(own);
      return audited(own, "--refused");
    };
    await expect.poll(refused).toHaveLength(1);
  }

  async function audited(own: OperatorSite, ...words: string[]): Promise<unknown[]> {
    const { items } = z
      .object({ items: z.array(z.unknown()) })
      .parse(JSON.parse((await own.run("audit", "--json", ...words)).out));
    return items;
  }
});

describe("usage", () => {
  /** One robot was in use for an hour and a half. */
  let used: SiteInTime;
  beforeAll(async () => {
    used = await openSiteInTime();
    await used.service.send("POST", "/v1/me/deployments", { model: "pi0.5", robot: "arm-1" });
    used.pass(5_400_000);
    await used.run("deployments", "retire", "arm-1");
  });
  afterAll(() => used[Symbol.asyncDispose]());

  it("is the ledger, its sums, and comma-separated values", async () => {
    const { items } = JSON.parse((await used.run("usage", "--json")).out);
    expect(items.length).toBeGreaterThan(0);
    expect((await used.run("usage", "--by", "robot")).out).toMatch(/^arm-1 +1\.5 h +█{20}$/m);
    const sums = JSON.parse((await used.run("usage", "--by", "model", "--since", "1d", "--json")).out);
    expect(sums).toMatchObject({ by: "model", items: [{ name: "pi0.5", unit: "second", amount_cents: null }] });
    const total = items.reduce((sum: number, { quantity }: { quantity: number }) => sum + quantity, 0);
    expect(sums.items[0].quantity).toBe(total);
    expect((await used.run("usage", "--csv")).out.split("\n")[0]).toBe(
      "id,created_at,usage_type,sku,quantity,unit,amount_cents,deployment_id,robot,model_slug,period_start,period_end",
    );
    expect((await used.run("usage", "--until", "2020-01-01")).err).toContain("Nothing was used");
    // The last 30 days of a time that is still to come.
    expect((await used.run("usage", "--until", "2098-01-01")).err).toContain("--since sets an earlier start");
    expect(JSON.parse((await used.run("usage", "--since", "2d", "--until", "2098-01-01", "--json")).out).items).toEqual(
      items,
    );
  });

  it.each([
    ["is summed up by the service", ["--since", "30d"], ["GET /v1/me/usage/summary"]],
    ["is of the last 30 days where nothing is said", [], ["GET /v1/me/usage/summary"]],
    [
      "is summed up here for longer than the service does",
      ["--since", "900d"],
      ["GET /v1/me/usage/summary", "GET /v1/me/usage"],
    ],
  ])("--by: %s", async (_case, words, paths) => {
    const before = used.service.requests.length;
    const { out, err } = await used.run("usage", "--by", "model", ...words);
    expect(used.service.requests.slice(before).map(({ method, path }) => `${method} ${path}`)).toEqual(paths);
    expect(out).toMatch(/^pi0\.5 +1\.5 h +█{20}$/m);
    expect(err).toMatch(/^Used from \S+ \S+ to \S+ \S+, UTC\.$/m);
  });

  it("is summed up by day from the documented ledger, too", async () => {
    expect(await used.runWith(eleven(used), "usage", "--by", "day")).toMatchObject({
      exit_code: 0,
      out: expect.stringMatching(/^DAY /),
    });
  });

  it.each([
    [["--since", "yesterday"], "--since 'yesterday' is neither a date"],
    [["--since", "1d", "--until", "2d"], "--since is not before --until"],
    [["--csv", "--json"], "--csv and --json"],
    [["--by", "week"], "Allowed choices are robot, model, day"],
  ])("%j is a mistake of usage", async (words, told) => {
    expect(await used.run("usage", ...words)).toMatchObject({ exit_code: 2, err: expect.stringContaining(told) });
  });
});

describe("api", () => {
  it("prints the answer as it comes, and exits by its status", async () => {
    const { exit_code: exitCode, out } = await site.run("api", "/v1/robots");
    expect([exitCode, JSON.parse(out)]).toEqual([0, await (await site.service.send("GET", "/v1/robots")).json()]);
    const missing = await site.run("api", "GET", "/v1/robots/nobody");
    expect(missing).toMatchObject({ exit_code: 6, err: expect.stringContaining("Robot not found") });
    expect(JSON.parse(missing.out)).toMatchObject({ code: "NotFound" });
    expect((await site.run("api", "GET", "/v1/robots/arm-1", "--include")).out).toMatch(
      /^HTTP 200\n[\s\S]*content-type: application\/json/,
    );
  });

  it("sends fields, a file, and stdin", async () => {
    const { out } = await site.run(
      "api",
      "POST",
      "/v1/me/api-keys",
      "--field",
      "label=a",
      "--field",
      "scopes[]=robots:read",
    );
    expect(JSON.parse(out)).toMatchObject({ label: "a", scopes: ["robots:read"] });
    const path = join(site.home, "body.json");
    await writeFile(path, '{"label":"b"}');
    expect(JSON.parse((await site.run("api", "/v1/me/api-keys", "--input", path)).out)).toMatchObject({ label: "b" });
    const typed = await site.runWith(
      {
        input: '{"label":"c"}',
        environment: { ROBOT_POLICY_URL: site.urls.whole, ROBOT_POLICY_API_KEY: site.service.key },
      },
      "api",
      "POST",
      "/v1/me/api-keys",
      "--input",
      "-",
    );
    expect(JSON.parse(typed.out)).toMatchObject({ label: "c" });
  });

  it("--paginate: asks for every page, as one document", async () => {
    const before = site.service.requests.length;
    const { out } = await site.run("api", "/v1/robots", "--paginate", "--field", "limit=2");
    expect(JSON.parse(out)).toEqual(await (await site.service.send("GET", "/v1/robots")).json());
    expect(site.service.requests.length - before).toBeGreaterThan(1);
  });

  it.each([
    [["api", "https://elsewhere.example/v1/robots"], "is not a path"],
    [["api", "GET", "//elsewhere.example/v1"], "is not a path"],
    [["api", "FETCH", "/v1/robots"], "is not a method"],
    [["api", "POST", "/v1/robots", "--field", "x"], "is not a field"],
    [["api", "POST", "/v1/robots", "--input", "/nowhere"], "cannot read /nowhere"],
    [["api", "POST", "/v1/robots", "--input", "/nowhere", "--raw-field", "a=b"], "exclude each other"],
  ])("%j is a mistake of usage, and nothing is sent", async (words, told) => {
    const before = site.service.requests.length;
    expect(await site.run(...words)).toMatchObject({ exit_code: 2, err: expect.stringContaining(told) });
    expect(site.service.requests).toHaveLength(before);
  });
});

it.each(["robots", "fleets", "models", "deployments", "keys", "contexts"])(
  "%s --help fits 80 columns, its longest command too",
  async (group) => {
    const { out } = await site.run(group, "--help");
    expect(out.split("\n").filter((line) => line.length > 80)).toEqual([]);
  },
);

it.each(["/\\ ", "/\\elsewhere.example/x", "/../.."])("api %j stays at the service", async (path) => {
  const { exit_code: exitCode, err } = await site.run("api", path, "--paginate");
  expect([exitCode, err]).toEqual([6, expect.stringContaining("[http-404]")]);
});

describe("contexts", () => {
  it("are added, used, shown and removed; the first is current", async () => {
    const environment = {};
    const run = (...words: string[]) => site.runWith({ environment }, "contexts", ...words);
    const { key_file: keyFile } = site.service;
    for (const words of [["list"], []]) expect((await run(...words)).err).toContain("There are no contexts yet");
    expect((await run("--json")).out).toBe("[]\n");
    expect((await run("--help")).out).toContain("remove|rm");
    expect((await run("add", "lab", "--url", site.urls.whole, "--key-file", keyFile)).out).toContain(
      "it is the current context",
    );
    await run("add", "other", "--url", "https://other.example");
    expect((await site.runWith({ environment }, "robots", "list", "--json")).exit_code).toBe(0);
    expect(JSON.parse((await run("list", "--json")).out)).toEqual([
      {
        name: "lab",
        is_current: true,
        url: site.urls.whole,
        ca_file: null,
        allow_insecure: false,
        key_file: keyFile,
        login: null,
      },
      {
        name: "other",
        is_current: false,
        url: "https://other.example",
        ca_file: null,
        allow_insecure: false,
        key_file: null,
        login: null,
      },
    ]);
    expect(await run("use", "other")).toMatchObject({
      out: expect.stringContaining("other (https://other.example) is the current context"),
      err: "",
    });
    const overruled = { environment: { ROBOT_POLICY_URL: site.urls.whole } };
    expect((await site.runWith(overruled, "contexts", "use", "other")).err).toContain(
      "overrides the current context: ROBOT_POLICY_URL.",
    );
    expect((await run("show")).out).toMatch(/^context +other \(current\)$/m);
    expect((await run("add", "lab", "--url", "https://x.example")).exit_code).toBe(2);
    expect((await run("add", "../x", "--url", "https://x.example")).exit_code).toBe(2);
    expect((await run("add", "plain", "--url", "http://x.example")).err).toContain("--allow-insecure");
    expect((await run("remove", "other")).out).toContain("no context is current now");
    await writeFile(join(site.home, ".config/robot-policy/contexts/lab.json"), "{ torn", { mode: 0o600 });
    expect(await run("show", "lab")).toMatchObject({ exit_code: 2, err: expect.stringContaining("it is damaged") });
    expect((await run("remove", "lab")).exit_code).toBe(0);
    expect(JSON.parse((await run("list", "--json")).out)).toEqual([]);
  });
});

describe("a service that has only what is documented", () => {
  it.each([
    [["robots", "list"], 0, "arm-1"],
    [["whoami"], 0, "it does not say whose it is"],
    [["models", "show", "pi0.5"], 0, "ckpt_pi05_second (default)"],
    [["models", "list"], 6, "this service does not list its models"],
    [["deployments", "list"], 6, "this service does not list its deployments"],
    [["deployments", "show", "dep_01jz0000000000000000000000"], 6, "this service does not show deployments"],
    [["deployments", "retire", "dep_01jz0000000000000000000000"], 6, "this service does not retire deployments"],
    [["keys", "list"], 0, "bootstrap"],
  ])("%j ends with %i: %s", async (words, exitCode, told) => {
    const ran = await site.runWith(eleven(), ...words);
    expect([ran.exit_code, ran.out + ran.err]).toEqual([exitCode, expect.stringContaining(told)]);
  });

  it("keys are created and revoked", async () => {
    const created = await site.runWith(eleven(), "keys", "create", "there");
    expect([created.exit_code, created.out]).toEqual([0, expect.stringContaining("sk_rps_")]);
    const revoked = await site.runWith(eleven(), "keys", "revoke", "there");
    expect([revoked.exit_code, revoked.out]).toEqual([0, expect.stringContaining("is revoked")]);
  });
});

describe("a list with --watch", () => {
  it("is told once, and then a line for each change, where the output is not a terminal", async () => {
    const interruption = new AbortController();
    let seen = "";
    const changed = Promise.withResolvers<void>();
    const ended = site.runWith(
      {
        environment: { ROBOT_POLICY_URL: site.urls.whole, ROBOT_POLICY_API_KEY: site.service.key },
        signal: interruption.signal,
        clock: HASTY_CLOCK,
        onOutput(text) {
          if (seen === "") void site.run("keys", "create", "watched");
          seen += text;
          if (text.includes("watched")) changed.resolve();
        },
      },
      "keys",
      "list",
      "--watch",
      "--interval",
      "1",
    );
    await changed.promise;
    interruption.abort(new Error("interrupted"));
    const { exit_code: exitCode, out } = await ended;
    expect(exitCode).toBe(130);
    expect(out).toMatch(/^LABEL /);
    expect(out).toMatch(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z {2}new {6}watched {2}/m);
  });

  it.each([["0"], ["3601"], ["soon"]])("takes no interval of %s", async (interval) => {
    expect(await site.run("keys", "list", "--watch", "--interval", interval)).toMatchObject({ exit_code: 2 });
  });
});
