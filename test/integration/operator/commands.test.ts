import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { endedWith, openOperatorSite, type OperatorSite } from "../../support/operator/operator.ts";

/** Shared by the tests that leave no deployment behind. */
let site: OperatorSite;
beforeAll(async () => {
  site = await openOperatorSite();
  for (const name of ["arm-1", "arm-2", "arm-3"]) await site.register(name);
});
afterAll(() => site[Symbol.asyncDispose]());

const KEY_ID = "key_01jz0000000000000000000000";
const DEPLOYMENT_ID = "dep_01jz0000000000000000000000";

describe("--dry-run", () => {
  it.each([
    ["keys create x --everything --no-expiry", "POST", "/v1/me/api-keys", { label: "x" }],
    [`keys revoke ${KEY_ID}`, "DELETE", `/v1/me/api-keys/${KEY_ID}`, null],
    [`deployments retire ${DEPLOYMENT_ID}`, "DELETE", `/v1/me/deployments/${DEPLOYMENT_ID}`, null],
    ["api POST /v1/x --field n=1 --field s=t=1 --field b=01", "POST", "/v1/x", { n: 1, s: "t=1", b: "01" }],
  ])("%s → shows the request, sends none", async (commandLine, method, path, body) => {
    const before = site.service.requests.length;
    const { exitCode, out, err } = await site.run(...commandLine.split(" "), "--dry-run", "--json");
    expect(exitCode).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ dry_run: true, method, url: site.urls.whole + path, body });
    expect(JSON.parse(out).headers.authorization).toBe("Bearer [secret]");
    expect(out + err).not.toContain(site.service.key);
    expect(site.service.requests).toHaveLength(before);
  });
});

describe("deployments", () => {
  it("list, show and retire accept the robot's name", async () => {
    await using freshSite = await openOperatorSite();
    await freshSite.register("arm-1");
    await freshSite.service.send("POST", "/v1/me/deployments", { model: "pi0.5", robot: "arm-1" });
    expect((await freshSite.run("deployments", "list")).out).toMatch(
      /^arm-1 +pi0\.5 +active +us-west-2 +\S+Z +dep_\w+$/m,
    );
    expect((await freshSite.run("deployments", "list", "--robot", "arm-2")).err).toContain(
      "Nothing that matches is deployed",
    );
    const { items } = await freshSite.json("deployments", "list", "--model", "pi0.5");
    expect((await freshSite.run("deployments", "show", "arm-1")).out).toContain(items[0].id);
    expect(await freshSite.run("deployments", "retire", "arm-1")).toMatchObject({ exitCode: 0 });
    expect((await freshSite.run("deployments", "list")).err).toContain("--all shows retired");
    expect((await freshSite.run("deployments", "list", "--status", "retired")).out).toContain(items[0].id);
    expect(await freshSite.run("deployments", "retire", "arm-1")).toMatchObject(endedWith(6, "[not-found]"));
  });
});

it.each([
  [[], "Nothing that matches is deployed; --all shows retired deployments."],
  [["--all"], "No deployment matches."],
  [["--status", "failed"], "No deployment matches."],
])("deployments list --robot arm-9 %j: empty → says how to see more", async (flags, message) => {
  const listed = await site.run("deployments", "list", "--robot", "arm-9", ...flags);
  expect(listed).toMatchObject({ exitCode: 0, out: "", err: `${message}\n` });
});

describe("confirmation on a terminal", () => {
  const type = (answer: string, ...args: string[]) => site.runWith({ answers: [answer] }, ...args);
  const statuses = async () =>
    (await site.json("deployments", "list", "--robot", "swapped", "--all")).items.map(
      ({ model, status }: { model: string; status: string }) => `${model} ${status}`,
    );

  it("a deployment that replaces another, and a retirement → asked first", async () => {
    await site.register("swapped");
    expect((await type("n", "deploy", "pi0.5", "--robot", "swapped")).err).toBe("");
    expect(await type("n", "deploy", "dead-vla", "--robot", "swapped")).toMatchObject(
      endedWith(1, /^This retires pi0\.5 on swapped \(active for \d+ s\)\.\nReplace it\? \[y\/N\]/),
    );
    expect(await statuses()).toEqual(["pi0.5 active"]);
    expect((await type("y", "deploy", "dead-vla", "--robot", "swapped")).exitCode).toBe(0);
    expect(await type("n", "deployments", "retire", "swapped")).toMatchObject(
      endedWith(1, /^This retires dead-vla on swapped \(/),
    );
    expect(await statuses()).toEqual(["pi0.5 retired", expect.stringMatching(/^dead-vla (?!retired)/)]);
    expect(await type("n", "deployments", "retire", "swapped", "--yes")).toMatchObject({
      exitCode: 0,
      out: expect.stringMatching(/^dead-vla on swapped is retired \(dep_\w+\)\.\n$/),
      err: "",
    });
  });

  it("update of a fleet → asked first", async () => {
    await site.run("fleets", "create", "--name", "asked", "--model", "pi0.5", "--robot", "arm-2");
    expect(await type("", "fleets", "update-model", "asked", "picky-vla")).toMatchObject(
      endedWith(1, /^This updates asked, which uses pi0\.5: .* of 1\.\nIt uses pi0\.5 until .*\nUpdate it\? \[y\/N\]/),
    );
    expect((await type("Y", "fleets", "update-model", "asked", "picky-vla")).exitCode).toBe(0);
  });
});

describe("models", () => {
  it("list: health of each model's default checkpoint", async () => {
    await expect
      .poll(async () => (await site.run("models", "list", "--columns", "model,health")).out.split("\n"))
      .toEqual(expect.arrayContaining(["dead-vla    unhealthy", "pi0.5       healthy"]));
  });

  it("show: requirements of a checkpoint as text, and each endpoint with its last failure", async () => {
    await expect
      .poll(async () => (await site.run("models", "show", "dead-vla")).out)
      .toMatch(/^us-west-2 +unhealthy +\S.* +answered 503$/m);
    const { out } = await site.run("models", "show", "picky-vla");
    expect(out).toMatch(/^needs type +so101_follower$/m);
    expect(out).not.toMatch(/[[{"]/);
    const document = await site.json("models", "show", "dead-vla");
    expect(document).toMatchObject({ slug: "dead-vla", endpoints: [{ region: "us-west-2", status: "unhealthy" }] });
    const { out: json } = await site.eleven("models", "show", "dead-vla", "--json");
    expect(JSON.parse(json)).toMatchObject({ slug: "dead-vla", endpoints: null });
  });
});

describe("api", () => {
  it("prints the answer unchanged; the exit code follows the status", async () => {
    const { exitCode, out } = await site.run("api", "/v1/robots");
    expect([exitCode, JSON.parse(out)]).toEqual([0, await (await site.service.send("GET", "/v1/robots")).json()]);
    const missing = await site.run("api", "GET", "/v1/robots/nobody");
    expect(missing).toMatchObject(endedWith(6, "Robot not found"));
    expect(JSON.parse(missing.out)).toMatchObject({ code: "NotFound" });
  });

  it("sends fields, a file or stdin as the body", async () => {
    const post = (input: string, ...args: string[]) =>
      site.runWith({ input }, "api", "POST", "/v1/me/api-keys", ...args);
    const { out: made } = await post("", "--field", "label=a", "--field", "scopes=null");
    expect(JSON.parse(made)).toMatchObject({ label: "a", scopes: null });
    const path = join(site.home, "body.json");
    await writeFile(path, '{"label":"b"}');
    expect(JSON.parse((await post("", "--input", path)).out)).toMatchObject({ label: "b" });
    expect(JSON.parse((await post('{"label":"c"}', "--input", "-")).out)).toMatchObject({ label: "c" });
  });

  it.each([
    [["api", "https://elsewhere.example/v1/robots"], "is not a path"],
    [["api", "GET", "//elsewhere.example/v1"], "is not a path"],
    [["api", "FETCH", "/v1/robots"], "is not a method"],
    [["api", "POST", "/v1/robots", "--field", "x"], "is not a field"],
    [["api", "POST", "/v1/robots", "--input", "/nowhere"], "cannot read /nowhere"],
    [["api", "POST", "/v1/robots", "--input", "/nowhere", "--field", "a=b"], "exclude each other"],
  ])("%j → exit 2, no request", async (args, message) => {
    const before = site.service.requests.length;
    expect(await site.run(...args)).toMatchObject(endedWith(2, message));
    expect(site.service.requests).toHaveLength(before);
  });
});

it.each(["robots", "fleets", "models", "deployments", "keys", "contexts"])(
  "%s --help → fits 80 columns, even the longest command",
  async (group) => {
    const { out } = await site.run(group, "--help");
    expect(out.split("\n").filter((line) => line.length > 80)).toEqual([]);
  },
);

it.each(["/\\ ", "/\\elsewhere.example/x", "/../.."])(
  "api %j → requested from the service, not from another host",
  async (path) => {
    expect(await site.run("api", path)).toMatchObject(endedWith(6, "[http-404]"));
  },
);

describe("contexts", () => {
  it("add, use, list and remove; the first context becomes current", async () => {
    const environment = {};
    const run = (...args: string[]) => site.runWith({ environment }, "contexts", ...args);
    const { key_file: keyFile } = site.service;
    for (const args of [["list"], []]) expect((await run(...args)).err).toContain("There are no contexts yet");
    expect((await run("--json")).out).toBe("[]\n");
    expect((await run("--help")).out).toContain("remove|rm");
    expect((await run("add", "lab", "--url", site.urls.whole, "--key-file", keyFile)).out).toContain(
      "it is the current context",
    );
    await run("add", "other", "--url", "https://other.example");
    expect((await site.runWith({ environment }, "robots", "list", "--json")).exitCode).toBe(0);
    expect(JSON.parse((await run("list", "--json")).out)).toMatchObject([
      { name: "lab", is_current: true, url: site.urls.whole, key_file: keyFile },
      { name: "other", is_current: false, url: "https://other.example", key_file: null },
    ]);
    expect((await run("add", "later", "--url", "https://later.example", "--key-file", "/nowhere")).err).toBe(
      "warning: there is no file /nowhere yet\n",
    );
    await run("remove", "later");
    const unset = await run("add", "later", "--url", "https://later.example", "--key-file", "");
    expect(unset).toMatchObject(endedWith(2, "--key-file is empty"));
    const noAuthority = await run("add", "later", "--url", "https://later.example", "--ca-file", "");
    expect(noAuthority).toMatchObject(endedWith(2, "--ca-file is empty"));
    expect(await run("use", "other")).toMatchObject({
      out: expect.stringContaining("other (https://other.example) is the current context"),
      err: "",
    });
    const overruled = { environment: { ROBOT_POLICY_URL: site.urls.whole } };
    expect((await site.runWith(overruled, "contexts", "use", "other")).err).toContain(
      "overrides the current context: ROBOT_POLICY_URL.",
    );
    expect((await run("add", "lab", "--url", "https://x.example")).exitCode).toBe(7);
    expect((await run("add", "../x", "--url", "https://x.example")).exitCode).toBe(2);
    expect((await run("add", "plain", "--url", "http://x.example")).err).toContain("--allow-insecure");
    expect((await run("remove", "other")).out).toContain("no context is current now");
    const path = join(site.home, ".config/robot-policy/contexts.json");
    await writeFile(path, "{ torn", { mode: 0o600 });
    for (const args of [
      ["use", "lab"],
      ["add", "lab", "--url", "https://x.example"],
    ])
      expect(await run(...args)).toMatchObject(endedWith(2, "it is damaged"));
    expect((await run("remove", "lab")).err).toContain(`→ rm ${path}`);
    await rm(path);
    expect(JSON.parse((await run("list", "--json")).out)).toEqual([]);
  });
});

it("invalid or insecure address → the error names its source", async () => {
  const environment = { ROBOT_POLICY_URL: "policy.example", ROBOT_POLICY_API_KEY: site.service.key };
  expect(await site.runWith({ environment }, "robots", "list")).toMatchObject(
    endedWith(2, "service address is not a web address (ROBOT_POLICY_URL) [url-invalid]"),
  );
  expect(await site.run("robots", "list", "--url", "http://policy.example")).toMatchObject(
    endedWith(2, "(--url) [url-insecure]"),
  );
});
