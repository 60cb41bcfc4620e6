/** Services other than ours, or failing: pages, unknown members, Retry-After, outages, captive portals. */
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { describe, expect, it, onTestFinished } from "vitest";

import { endedWith, runOperator } from "../../support/operator/operator.ts";
import type { Ran, Surroundings } from "../../support/programs/in-process.ts";

const KEY = "sk_test_CANARYcanaryCANARY";

interface ForeignService {
  readonly requests: string[];
  run(...args: string[]): Promise<Ran>;
  runWith(surroundings: Surroundings, ...args: string[]): Promise<Ran>;
}

/** Starts a server with the given answers. Each run asserts that its output does not contain the key. */
async function startForeign(
  answer: (request: IncomingMessage, response: ServerResponse, count: number) => void,
): Promise<ForeignService> {
  const requests: string[] = [];
  const home = await mkdtemp(join(tmpdir(), "operator-home-"));
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`);
    request.resume();
    answer(request, response, requests.length);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(async () => {
    server.close();
    server.closeAllConnections();
    await rm(home, { recursive: true });
  });
  const { port } = server.address() as AddressInfo;
  const environment = { HOME: home, ROBOT_POLICY_URL: `http://127.0.0.1:${port}`, ROBOT_POLICY_API_KEY: KEY };
  const runWith = async (surroundings: Surroundings, ...args: string[]) => {
    const ran = await runOperator({ ...surroundings, environment }, args);
    expect(ran.out + ran.err).not.toContain(KEY);
    return ran;
  };
  return { requests, runWith, run: (...args) => runWith({}, ...args) };
}

const json = (response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}) =>
  response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));

const key = (id: string, more: object = {}) => ({ id, label: id, ...more });

describe("answers", () => {
  it("two pages, the link to the second on another host → one list, both pages requested from the service", async () => {
    const { run, requests } = await startForeign((request, response) => {
      const isFirst = !(request.url ?? "").includes("cursor");
      const link = { link: '<https://elsewhere.example/v1/me/api-keys?cursor=a%2Fb>; rel="next"' };
      if (isFirst) json(response, 200, { items: [key("one")], total: 2 }, link);
      else json(response, 200, { items: [key("two")] });
    });
    const { exitCode, out } = await run("keys", "list", "--json");
    expect([exitCode, JSON.parse(out)]).toEqual([0, { items: [key("one"), key("two")], total: 2 }]);
    expect(requests).toEqual(["GET /v1/me/api-keys?limit=1000", "GET /v1/me/api-keys?limit=1000&cursor=a%2Fb"]);
  });

  it("usage of a period → only that is requested; what a service sends beyond it is left out", async () => {
    const items = ["2026-01-31T23:00:00Z", "2026-02-01T00:00:00Z"].map((at, index) => {
      return { id: at, period_start: at, robot: "arm-1", quantity: 10 ** index, unit: "second" };
    });
    const { run, requests } = await startForeign((_request, response) => json(response, 200, { items }));
    const { out } = await run("usage", "--since", "2026-02-01", "--until", "2026-03-01", "--json");
    expect(JSON.parse(out)).toMatchObject({ by: "robot", items: [{ name: "arm-1", quantity: 10 }] });
    const [since, until] = ["2026-02-01T00%3A00%3A00.000Z", "2026-03-01T00%3A00%3A00.000Z"];
    expect(requests).toEqual([
      `GET /v1/me/usage/summary?by=robot&since=${since}&until=${until}`,
      `GET /v1/me/usage?since=${since}&until=${until}&limit=1000`,
    ]);
  });

  it.each([
    [[], "?current=true&limit=1000", ["d2"]],
    [["--all"], "?limit=1000", ["d1", "d2"]],
    [["--status", "retired"], "?limit=1000", ["d1"]],
  ])("deployments list %j → retired ones are only requested for their own sake", async (flags, query, ids) => {
    const items = [
      { id: "d1", status: "retired" },
      { id: "d2", status: "active" },
    ];
    const { run, requests } = await startForeign((_request, response) => json(response, 200, { items }));
    const { out } = await run("deployments", "list", "--json", ...flags);
    expect(JSON.parse(out).items.map(({ id }: { readonly id: string }) => id)).toEqual(ids);
    expect(requests).toEqual([`GET /v1/me/deployments${query}`]);
  });

  const unknown = { colour: { nested: [1, null] } };
  const robot = { id: "r1", name: "arm-7", robot_type_id: "t", region: "here", created_at: "2026-01-01", ...unknown };
  const fleet = { id: "f1", name: "f", subject: "pi", readiness_mode: "on_demand", status: "ready", ...unknown };
  const counts = { registered: 1, ready: 1, active: 0, waiting: 0, blocked: 0 };
  it.each([
    ["robots list", [robot]],
    ["models list", { models: [{ slug: "pi", ...unknown }], ...unknown }],
    ["deployments list", { items: [{ id: "d1", status: "active", ...unknown }], ...unknown }],
    ["fleets list", [{ ...fleet, peak_active_robots: 1, robots: counts }]],
    ["keys list", { items: [key("k1", unknown)], next: null }],
  ])("%s --json → the answer of the service, with members that are unknown here", async (commandLine, answer) => {
    const { run } = await startForeign((_request, response) => json(response, 200, answer));
    expect(JSON.parse((await run(...commandLine.split(" "), "--json")).out)).toEqual(answer);
  });

  it("items with only an id → listed", async () => {
    const items = [{ id: "k1" }, { id: "k2", label: null, scopes: null }];
    const { run } = await startForeign((_request, response) => json(response, 200, { items }));
    // k1 has no scopes member, so its scopes are unknown; null means every scope.
    expect((await run("keys", "list")).out).toBe("SCOPES      ID\n            k1\neverything  k2\n");
  });

  it("members beside those that are known → further columns, and lines below what is known", async () => {
    const { run } = await startForeign((request, response) => {
      if (request.url === "/v1/models/pi")
        json(response, 200, { slug: "pi", weights: [{ tag: "a", gb: "3" }], by: { name: "x" } });
      else if (request.url?.startsWith("/v1/me") !== true) json(response, 404, { detail: "Not Found" });
      else json(response, 200, { items: [key("k1", { valid: { until: "2030" } }), key("k2", { owner: "cell 4" })] });
    });
    expect((await run("keys", "list")).out).toBe(
      "LABEL  ID  VALID.UNTIL  OWNER\nk1     k1  2030\nk2     k2               cell 4\n",
    );
    expect((await run("keys", "list", "--columns", "owner,id")).out).toBe("OWNER   ID\n-       k1\ncell 4  k2\n");
    expect((await run("models", "show", "pi")).out).toBe("model  pi\nby.name  x\n\nweights\nTAG  GB\na    3\n");
  });

  it("usage without quantities → shown as it is, not as nothing; --csv → an error", async () => {
    const answer = { items: [{ id: "u1", month: "2026-10", gpu_seconds: "5400" }] };
    const { run } = await startForeign((request, response) =>
      request.url?.includes("summary") === true
        ? json(response, 404, { detail: "Not Found" })
        : json(response, 200, answer),
    );
    expect(await run("usage")).toMatchObject({ exitCode: 0, out: "ID  MONTH    GPU_SECONDS\nu1  2026-10  5400\n" });
    expect(JSON.parse((await run("usage", "--json")).out)).toEqual(answer);
    expect(await run("usage", "--csv")).toMatchObject({ out: "", ...endedWith(4, "[unknown-answer]") });
  });

  it("a deployment whose progress the service does not show, --wait → says so", async () => {
    const { run } = await startForeign((request, response) =>
      request.method === "POST"
        ? json(response, 200, { id: "d1", status: "new" })
        : json(response, 404, { detail: "Not Found" }),
    );
    expect(await run("deploy", "pi", "--robot", "arm", "--wait")).toMatchObject(
      endedWith(6, "accepted it, and does not offer to show how it goes on: d1 on its robot is new [not-offered]"),
    );
  });

  it.each([
    ["endpoint_failing", "Its endpoint was healthy and fails now.", "Repair the inference server"],
    ["constructor", "constructor.", null],
  ])("last_error_code %s of a deployment → reason and remedy as text", async (lastErrorCode, reason, remedy) => {
    const deployment = { id: "d1", robot: "arm-1", model: "pi", status: "failed", last_error_code: lastErrorCode };
    const { run } = await startForeign((request, response) =>
      json(response, 200, request.url?.includes("/d1") === true ? deployment : { items: [deployment] }),
    );
    expect((await run("deployments", "list")).out).toContain(`failed  ${reason}`);
    const { out } = await run("deployments", "show", "arm-1");
    expect(out).toContain(`reason      ${reason}`);
    expect(/^remedy +(.{27})/m.exec(out)?.[1] ?? null).toBe(remedy);
  });

  it.each(["", "..", "\uD800"])("%j as an id → exit 4, and no change is sent", async (id) => {
    const { run, requests } = await startForeign((_request, response) =>
      json(response, 200, { items: [{ id, label: "cell 4" }] }),
    );
    for (const more of [[], ["--dry-run"]]) {
      expect(await run("keys", "revoke", "cell 4", ...more)).toMatchObject(
        endedWith(4, "an id that cannot be part of a URL"),
      );
    }
    expect(requests.filter((request) => !request.startsWith("GET "))).toEqual([]);
  });

  it("JSON nested 100,000 levels deep → refused", async () => {
    const { run } = await startForeign((_request, response) =>
      response
        .writeHead(200, { "content-type": "application/json" })
        .end(`{"items":[{"id":"x","y":${"[".repeat(100_000)}${"]".repeat(100_000)}}]}`),
    );
    expect(await run("keys", "list", "--json")).toMatchObject(
      endedWith(4, "the answer is nested too deep [unknown-answer]"),
    );
  });

  it("404 for a model, with any detail → not found", async () => {
    const { run } = await startForeign((_request, response) => json(response, 404, { detail: "Not Found" }));
    expect(await run("models", "show", "pi9")).toMatchObject(endedWith(6, "no model has the name pi9 [not-found]"));
  });

  it("other lists beside the requested one → kept", async () => {
    const answer = { notices: ["a", "b", "c"], items: [key("one"), key("two")] };
    const { run } = await startForeign((_request, response) => json(response, 200, answer));
    expect(JSON.parse((await run("keys", "list", "--json")).out)).toEqual(answer);
  });

  it("a page that links to itself → exit 4 after two requests", async () => {
    const { run, requests } = await startForeign((_request, response) =>
      json(response, 200, { items: [key("one")] }, { link: '</v1/me/api-keys?cursor=same>; rel="next"' }),
    );
    expect(await run("keys", "list")).toMatchObject({
      exitCode: 4,
      out: "",
      err: expect.stringContaining("names itself as the next one"),
    });
    expect(requests).toHaveLength(2);
  });

  it("a usage summary in an unknown format → the command sums up the ledger", async () => {
    const { run } = await startForeign((request, response) =>
      (request.url ?? "").includes("summary")
        ? json(response, 200, { hours: 3 })
        : json(response, 200, {
            items: [{ id: "u", robot: "arm", quantity: 60, unit: "second", period_start: "2026-01-05T08:00:00Z" }],
          }),
    );
    const args = ["usage", "--by", "robot", "--since", "2026-01-01", "--until", "2026-02-01", "--json"];
    expect(JSON.parse((await run(...args)).out)).toEqual({
      by: "robot",
      since: "2026-01-01T00:00:00.000Z",
      until: "2026-02-01T00:00:00.000Z",
      items: [{ name: "arm", quantity: 60, unit: "second", amount_cents: null }],
    });
  });

  const audited = (id: string, at: string) => ({
    id,
    at,
    action: "robot.enroll",
    subject_id: "",
    subject_name: null,
    subject_model: null,
    actor: { id: "x", label: null },
    request_id: null,
    details: {},
  });

  it("an audit log of more entries than a call has room for arguments → all of them", async () => {
    const log = Array.from({ length: 150_000 }, (_, index) => audited(`${index}`, new Date().toISOString()));
    const { run } = await startForeign((request, response) =>
      json(response, 200, { items: (request.url ?? "").startsWith("/v1/me/audit") ? log : [] }),
    );
    const { exitCode, out } = await run("audit", "--columns", "what");
    expect([exitCode, out.split("\n").length]).toEqual([0, "WHAT\n".split("\n").length + log.length]);
  });

  it("an audit log, newest first → no page beyond --since is requested", async () => {
    const { run, requests } = await startForeign((request, response) => {
      if (!(request.url ?? "").startsWith("/v1/me/audit")) return json(response, 200, { items: [] });
      const at = requests.length < 2 ? new Date().toISOString() : "2020-01-01T00:00:00Z";
      const link = { link: `</v1/me/audit?cursor=${requests.length}>; rel="next"` };
      return json(response, 200, { items: [audited(`${requests.length}`, at)] }, link);
    });
    expect(JSON.parse((await run("audit", "--since", "1d", "--json")).out).items).toMatchObject([{ id: "1" }]);
    expect(requests.filter((line) => line.includes("audit"))).toHaveLength(2);
  });

  it("control characters → escaped", async () => {
    const { run } = await startForeign((_request, response) =>
      json(response, 200, { items: [key("\u001B[2J\u202Eevil")] }),
    );
    expect((await run("keys", "list")).out).toContain("\\u001b[2J\\u202eevil");
  });

  it.each([
    ["a web page", 200, "<!doctype html><title>Welcome to the hotel</title>", "[not-the-service]"],
    ["a redirect", 302, "", "redirects are not followed"],
    ["an error without a body", 500, "", "tell the administrator of the service"],
  ])("%s → exit 4, without a stack trace", async (_case, status, body, message) => {
    const { run } = await startForeign((_request, response) =>
      response.writeHead(status, status === 302 ? { location: "https://elsewhere.example/" } : {}).end(body),
    );
    const { exitCode, err } = await run("keys", "list");
    expect([exitCode, err]).toEqual([4, expect.stringContaining(message)]);
    expect(err).not.toMatch(/^\s+at /m);
  });

  it("an answer that repeats the key → shown with [secret] in its place", async () => {
    const { run } = await startForeign((request, response) =>
      json(response, 400, { detail: `bad ${request.headers.authorization}` }),
    );
    expect((await run("keys", "list")).err).toContain("bad Bearer [secret]");
  });
});

describe("Retry-After", () => {
  it("seconds, after a read → waits, then repeats the request", async () => {
    const { run, requests } = await startForeign((_request, response, count) =>
      count === 1
        ? json(response, 429, { detail: "slow down" }, { "retry-after": "0" })
        : json(response, 200, { items: [] }),
    );
    const { exitCode, err } = await run("keys", "list");
    expect([exitCode, requests.length]).toEqual([0, 2]);
    expect(err).toMatch(/^slow down; trying again in 1 s$/m);
  });

  it("minutes → exit 4 without another request", async () => {
    const { run, requests } = await startForeign((_request, response) =>
      json(response, 503, { detail: "restarting" }, { "retry-after": "300" }),
    );
    expect(await run("keys", "list")).toMatchObject({ exitCode: 4 });
    expect(requests).toHaveLength(1);
  });

  it("after a change → not repeated", async () => {
    const { run, requests } = await startForeign((_request, response) =>
      json(response, 503, { detail: "restarting" }, { "retry-after": "0" }),
    );
    expect(await run("keys", "create", "x", "--everything")).toMatchObject({ exitCode: 4 });
    expect(requests).toEqual(["POST /v1/me/api-keys"]);
  });
});

describe("fleets update-model, at a service that shows the new model at once", () => {
  const fleet = { id: "f", name: "packing", readiness_mode: "always_ready", peak_active_robots: 1, status: "ready" };
  const robots = { registered: 1, ready: 1, active: 0, waiting: 0, blocked: 0 };
  const generation = (subject: string, status = "active") => ({ subject, generation_id: `g-${subject}`, status });
  const before = { ...fleet, robots, subject: "pi0.5", active_model: generation("pi0.5") };

  it.each<[what: string, old: object, after: object, note: string]>([
    [
      "as the subject",
      {},
      { subject: "pi0.6", update: generation("pi0.6", "pending") },
      "packing is being updated to pi0.6; pi0.5 serves until that is ready.",
    ],
    [
      "while the first one is prepared",
      {},
      { active_model: generation("pi0.5", "preparing"), update: generation("pi0.6", "pending") },
      "packing is being updated to pi0.6.",
    ],
    [
      "without a model of now",
      { active_model: null },
      { subject: "pi0.6", active_model: null, update: generation("pi0.6", "pending") },
      "packing is being updated to pi0.6.",
    ],
    [
      "as the active model",
      { update: generation("picky") },
      { subject: "pi0.6", active_model: generation("pi0.6") },
      "packing uses pi0.6 now.",
    ],
  ])("%s → names what serves", async (_what, old, after, note) => {
    const { run } = await startForeign((request, response) =>
      json(response, 200, request.method === "GET" ? [{ ...before, ...old }] : { ...before, ...after }),
    );
    const { exitCode, err } = await run("fleets", "update-model", "packing", "pi0.6");
    expect([exitCode, err]).toEqual([0, `${note}\n`]);
  });
});

it("the answer to a change is lost → says that the change may have been applied", async () => {
  const { run } = await startForeign((_request, response) => response.destroy());
  expect(await run("keys", "create", "x", "--everything")).toMatchObject(
    endedWith(4, "may have been applied, so check before you try again"),
  );
});

it("the answer to a read is lost → does not speak of a change", async () => {
  const { run } = await startForeign((_request, response) => response.destroy());
  expect(await run("keys", "list")).toMatchObject(endedWith(4, /→ check the network, and try again$/m));
});

describe("a service that does not show enrolments or the status of robots", () => {
  const approved = { approval_id: "a", user_code: "WXYZ-2345", status: "approved", requested_name: "arm-7" };
  const approving = () =>
    startForeign((request, response) =>
      request.url === "/v1/robots/approve"
        ? json(response, 200, { ...approved, region: "us-west-2", robot_type_id: "generic.robot.v1" })
        : json(response, 404, { detail: "Not Found" }),
    );

  it("approve: says that it cannot show the computer, asks, and approves", async () => {
    const { runWith, requests } = await approving();
    const declined = await runWith({ answers: ["n"] }, "robots", "approve", "WXYZ-2345");
    expect([declined.exitCode, declined.err]).toEqual([
      1,
      expect.stringContaining("This service does not show who waits with a code."),
    ]);
    expect(requests).toEqual(["GET /v1/robot-enrollments/WXYZ-2345"]);
    expect(await runWith({ answers: ["y"] }, "robots", "approve", "WXYZ-2345")).toMatchObject({
      exitCode: 0,
      out: expect.stringContaining("arm-7 is approved, in us-west-2"),
    });
  });

  it("approve --replace: sends the name of the robot, so that no other is replaced", async () => {
    const { run } = await approving();
    const request = await run("robots", "approve", "WXYZ-2345", "--replace", "arm-7", "--dry-run", "--json");
    expect(JSON.parse(request.out).body).toEqual({ user_code: "WXYZ-2345", name: "arm-7", confirm_replace: true });
  });

  it("robots list: no state column; --state offline → not offered", async () => {
    const robot = { id: "r1", name: "arm-7", robot_type_id: "t", region: "us-west-2", created_at: "2026-01-01" };
    const { run } = await startForeign((_request, response) => json(response, 200, [robot]));
    expect((await run("robots", "list")).out).toMatch(/^NAME +TYPE +REGION +ADDED\narm-7/);
    expect(await run("robots", "list", "--state", "offline")).toMatchObject(
      endedWith(6, "this service does not offer to say which robots are online [not-offered]"),
    );
  });
});
