/** What the agent tells the service beside a registration: the parts of the digest, and the files that the manifest shares. */
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createServer, type IncomingMessage } from "node:http";
import { once } from "node:events";
import { join } from "node:path";

import { describe, expect, test } from "vitest";

import { SHARED_LIMIT_BYTES } from "../../../../src/agent/registration/parts.ts";
import { registrationPartsSchema, SHARED_CONTENT_BYTES, sharedContentSchema } from "../../../../src/api/differences.ts";
import { registrationViewSchema } from "../../../../src/api/registrations.ts";
import { robotSetupSchema } from "../../../../src/api/robots.ts";
import { eventually } from "../../../support/eventually.ts";
import { createRobot, type Robot, writeAtOnce } from "../../../support/robot/robot.ts";
import { createScene } from "../../../support/service/scene.ts";

const KEY = "sk_live_0123456789abcdefXYZ";
const LEFT = "shoulder_pan: {homing_offset: 1024}\n";
const RIGHT = "private to this robot: 7\n";

interface Request {
  /** `PUT /v1/robots/arm-7/registration/parts` */
  readonly what: string;
  readonly body: string;
}

/** A service as far as a robot sees it, which keeps parts and contents as the real one. */
async function startKeeper() {
  const requests: Request[] = [];
  const contents = new Map<string, string>();
  let registered: ReturnType<typeof robotSetupSchema.parse> | null = null;
  let hasParts = false;
  const keeper = {
    requests,
    contents,
    /** Answers a request in place of the service: a status, or `hang`. */
    refuse: (_request: Request): number | "hang" | null => null,
    /** It asks for contents that are not shared, too. */
    isCurious: false,
    /** Called before the answer to parts. */
    onParts: () => {},
    forgetParts: () => void (hasParts = false),
    url: "",
    whats: () => requests.map(({ what }) => what.replace(/[0-9a-f]{64}/, (hash) => hash.slice(0, 4))),
    [Symbol.asyncDispose]: async () => {
      server.close();
      server.closeAllConnections();
    },
  };

  function answer({ what, body }: Request): unknown {
    const [method = "", path = ""] = what.split(" ");
    if (method === "POST") {
      registered = robotSetupSchema.parse(JSON.parse(body));
      return { robot: viewOf(registered) };
    }
    if (registered === null) return null;
    if (method === "GET") {
      const { contract = null, ...members } = registered;
      const times = { registered_at: new Date().toISOString(), contested_since: null };
      return {
        labels: {},
        ...members,
        contract,
        robot_id: "rob_1",
        robot: registered.name,
        ...times,
        parts_recorded: hasParts,
      };
    }
    if (path.endsWith("/parts")) {
      const { parts } = registrationPartsSchema.parse(JSON.parse(body));
      keeper.onParts();
      hasParts = true;
      const shared = parts.filter((part) => (part.shared || keeper.isCurious) && !contents.has(part.sha256));
      return { missing: shared.map(({ sha256 }) => sha256) };
    }
    contents.set(path.split("/").at(-1) ?? "", sharedContentSchema.parse(JSON.parse(body)).text);
    return {};
  }

  const server = createServer((incoming, response) => {
    void readAll(incoming).then((body) => {
      const request = { what: `${incoming.method ?? ""} ${incoming.url ?? ""}`, body };
      requests.push(request);
      const refused = keeper.refuse(request);
      if (refused === "hang") return;
      response.writeHead(refused ?? 200, { "content-type": "application/json" });
      response.end(JSON.stringify(refused === null ? answer(request) : { detail: "no" }));
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no address");
  keeper.url = `http://127.0.0.1:${address.port}`;
  return keeper;
}

function viewOf({ name, robot_type_id: robotTypeId, region }: ReturnType<typeof robotSetupSchema.parse>) {
  const created = { created_at: "2026-01-01T00:00:00Z", site: null, labels: {} };
  return { id: "rob_1", name, robot_type_id: robotTypeId, region, ...created };
}

async function readAll(incoming: IncomingMessage): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of incoming) chunks.push(chunk);
  return Buffer.concat(chunks).toString("utf8");
}

const sha256Of = (content: string | Uint8Array) => createHash("sha256").update(content).digest("hex");

/** A robot that shares `left.conf` and the files of a pattern, but not `right.conf`. */
async function sharingRobot(left: string | Uint8Array = LEFT) {
  await using stack = new AsyncDisposableStack();
  const keeper = stack.use(await startKeeper());
  const robot = stack.use(await createRobot({ service_url: keeper.url, key: KEY, files: { "right.conf": RIGHT } }));
  writeFileSync(robot.path("left.conf"), left);
  mkdirSync(robot.path("d"));
  for (const name of ["a", "b"]) writeFileSync(robot.path(`d/${name}.urdf`), `<robot name="${name}"/>\n`);
  const share = async (...shared: readonly string[]) => {
    const entryOf = (label: string, file: string) =>
      `  - {label: ${label}, path: "${robot.path(file)}"${shared.includes(label) ? ", share: true" : ""}}`;
    const entries = [
      entryOf("left arm", "left.conf"),
      entryOf("right arm", "right.conf"),
      entryOf("models", "d/*.urdf"),
    ];
    const text = `robot_type_id: yam.bimanual-joint-position.v1\nconfiguration_files:\n${entries.join("\n")}\n`;
    await writeAtOnce(robot.manifestPath, text);
  };
  await share("left arm", "models");
  const owned = stack.move();
  return { keeper, robot, share, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

const registeredBy = (robot: Robot) => readFile(join(robot.state_directory, "registration.json"), "utf8");
const [LEFT_HASH, A_HASH, B_HASH] = [LEFT, '<robot name="a"/>\n', '<robot name="b"/>\n'].map(sha256Of);
const short = (hash = "") => `PUT /v1/robots/arm-7/contents/${hash.slice(0, 4)}`;
const POST = "POST /v1/robots/setup";
const PARTS = "PUT /v1/robots/arm-7/registration/parts";
const GET = "GET /v1/robots/arm-7/registration";

test("the limit of shared contents is that of the service", () => {
  expect(SHARED_LIMIT_BYTES).toBe(SHARED_CONTENT_BYTES);
});

describe.concurrent("parts of a registration", () => {
  test("--setup → parts in the digest's order, and only the shared contents, whatever the service asks for; once more → only the parts", async () => {
    await using scene = await sharingRobot();
    const { keeper, robot } = scene;
    keeper.isCurious = true;
    expect((await robot.run(["--setup"])).code).toBe(0);
    expect(keeper.whats()).toEqual([POST, PARTS, short(LEFT_HASH), short(A_HASH), short(B_HASH)]);
    const [setup, told] = keeper.requests;
    const { configuration_digest: digest, parts } = registrationPartsSchema.parse(JSON.parse(told?.body ?? ""));
    expect(`sha256:${sha256Of(parts.map(({ sha256 }) => `${sha256}\n`).join(""))}`).toBe(digest);
    expect(setup?.body).toContain(digest);
    expect(parts).toEqual([
      { label: "left arm", kind: "file", sha256: LEFT_HASH, bytes: LEFT.length, shared: true },
      { label: "right arm", kind: "file", sha256: sha256Of(RIGHT), bytes: RIGHT.length, shared: false },
      { label: "models (a.urdf)", kind: "pattern", sha256: A_HASH, bytes: 18, shared: true },
      { label: "models (b.urdf)", kind: "pattern", sha256: B_HASH, bytes: 18, shared: true },
    ]);
    expect(keeper.contents.get(LEFT_HASH ?? "")).toBe(LEFT);
    // What is not shared is in no request.
    expect(JSON.stringify(keeper.requests)).not.toContain(RIGHT.trim());
    expect(await registeredBy(robot)).not.toContain("homing_offset");
    expect((await robot.run(["--setup"])).code).toBe(0);
    expect(keeper.whats().slice(5)).toEqual([POST, PARTS]);
  });

  test("the daemon: a change → parts and the new content; unchanged, restarted and asked → nothing more", async () => {
    await using scene = await sharingRobot();
    const { keeper, robot } = scene;
    const daemon = await robot.start();
    await eventually(async () => (keeper.contents.size === 3 ? true : undefined), "the contents");
    await writeAtOnce(robot.path("left.conf"), LEFT.replace("1024", "1218"));
    await eventually(async () => (keeper.contents.size === 4 ? true : undefined), "the changed content");
    const sent = keeper.requests.length;
    expect(keeper.whats().slice(5)).toEqual([POST, PARTS, short(sha256Of(LEFT.replace("1024", "1218")))]);
    await daemon.lookAgain();
    expect(await daemon.stop()).toBe(0);
    await using again = await robot.start();
    await again.until(({ state }) => state === "registered");
    expect(keeper.requests.length).toBe(sent);
    await again.ask("POST", "/confirm");
    expect(keeper.whats().slice(sent)).toEqual([GET]);
  });

  test("stopped before the service knew the parts → told after the next confirmation, once", async () => {
    await using scene = await sharingRobot();
    const { keeper, robot } = scene;
    await robot.run(["--setup"]);
    keeper.forgetParts();
    const sent = keeper.requests.length;
    await using daemon = await robot.start();
    await daemon.until(({ state }) => state === "registered");
    await daemon.ask("POST", "/confirm");
    await eventually(async () => (keeper.whats().length === sent + 2 ? true : undefined), "the parts");
    keeper.forgetParts();
    await daemon.ask("POST", "/confirm");
    expect(keeper.whats().slice(sent)).toEqual([GET, PARTS, GET]);
  });

  test("another file is shared → registered again, and its content sent", async () => {
    await using scene = await sharingRobot();
    const { keeper, robot, share } = scene;
    await using daemon = await robot.start();
    await eventually(async () => (keeper.contents.size === 3 ? true : undefined), "the contents");
    await share("left arm", "right arm", "models");
    await eventually(async () => (keeper.contents.size === 4 ? true : undefined), "the other content");
    expect(keeper.whats().slice(5)).toEqual([POST, PARTS, short(sha256Of(RIGHT))]);
    await daemon.lookAgain();
    expect(keeper.requests.length).toBe(8);
  });

  test("a file changes between its registration and its content → the content is not sent, the change is registered", async () => {
    await using scene = await sharingRobot();
    const { keeper, robot } = scene;
    keeper.onParts = () => {
      keeper.onParts = () => {};
      writeFileSync(robot.path("left.conf"), "changed: 1\n");
    };
    await robot.run(["--setup"]);
    expect([...keeper.contents.keys()].toSorted()).toEqual([A_HASH, B_HASH].toSorted());
  });

  test.each([404, 405, 403, 409, 413, 422, 500, 503])(
    "parts answered with %i → registered all the same, nothing more is sent or said",
    async (status) => {
      await using scene = await sharingRobot();
      const { keeper, robot } = scene;
      keeper.refuse = ({ what }) => (what === PARTS ? status : null);
      await using daemon = await robot.start();
      const { findings, failure, healthy } = await daemon.until(({ state }) => state === "registered");
      expect({ findings, failure, healthy }).toEqual({ findings: [], failure: null, healthy: true });
      const [line] = await daemon.untilLogged("parts-not-taken");
      expect(line?.["level"]).toBe("debug");
      const state = await registeredBy(robot);
      await daemon.lookAgain();
      expect(keeper.whats()).toEqual([POST, PARTS]);
      expect(await registeredBy(robot)).toBe(state);
    },
  );

  test("no answer to the parts, without the daemon → ends after ten seconds", { tags: "needs/time" }, async () => {
    await using scene = await sharingRobot();
    const { keeper, robot } = scene;
    keeper.refuse = ({ what }) => (what === PARTS ? "hang" : null);
    const startedMs = performance.now();
    const { code, stdout } = await robot.run(["--setup"]);
    expect([code, stdout.split(" ")[0]]).toEqual([0, "Registered"]);
    expect(performance.now() - startedMs).toBeGreaterThan(9000);
  });

  test.each([
    [422, 5],
    [409, 3],
  ])("a content answered with %i → %i requests in all", async (status, count) => {
    await using scene = await sharingRobot();
    const { keeper, robot } = scene;
    keeper.refuse = ({ what }) => (what.includes("/contents/") ? status : null);
    expect((await robot.run(["--setup"])).code).toBe(0);
    expect(keeper.requests.length).toBe(count);
  });

  test("no answer to the parts → a change is registered meanwhile, and a stop is prompt", async () => {
    await using scene = await sharingRobot();
    const { keeper, robot } = scene;
    keeper.refuse = ({ what }) => (what === PARTS ? "hang" : null);
    const daemon = await robot.start();
    await eventually(async () => (keeper.requests.length === 2 ? true : undefined), "the parts");
    await writeAtOnce(robot.path("left.conf"), "changed: 1\n");
    await eventually(async () => (keeper.requests.length === 4 ? true : undefined), "the parts of the change");
    expect(keeper.whats()).toEqual([POST, PARTS, POST, PARTS]);
    expect(await daemon.stop()).toBe(0);
  });
});

const REFUSED: readonly (readonly [string, string | Uint8Array, string, string])[] = [
  ["a password", "mqtt:\n  host: a\n  password: hunter2\n", "3:3", "shared_secret: the value of password looks like"],
  ["a key of the service", `a: 1\n# ${KEY}\n`, "2:3", "shared_secret: a key looks like"],
  ["bytes that are not UTF-8", Buffer.from("a: 1\nb: \xE9\n", "latin1"), "2:4", "shared_unsuitable: not text in UTF-8"],
  ["a NUL character", "a: 1\nb: \0\n", "2:4", "shared_unsuitable: not text in UTF-8"],
  ["a byte too much", "a".repeat(SHARED_LIMIT_BYTES + 1), "1:1", "shared_unsuitable: larger than 262144 bytes"],
];

describe.concurrent.each(REFUSED)("a shared file with %s", (_what, content, place, message) => {
  test("→ registered, but the content is not sent; a warning says where and what to do", async () => {
    await using scene = await sharingRobot(content);
    const { keeper, robot } = scene;
    const file = robot.path("left.conf");
    const { code, stderr } = await robot.run(["--setup"]);
    expect(code).toBe(0);
    const line = stderr.split("\n").find((each) => each.startsWith(file)) ?? "";
    expect(line).toMatch(`${file}:${place}: warning ${message}`);
    expect(line).toMatch(
      /, so the content is not sent to the service; correct the file, or remove share: true from left arm in the manifest$/,
    );
    expect(keeper.whats()).toEqual([POST, PARTS, short(A_HASH), short(B_HASH)]);
    expect(`${stderr}${JSON.stringify(keeper.requests)}`).not.toMatch(/hunter2|0123456789abcdef/);
    const checked = await robot.run(["check"]);
    expect(checked.stderr).toContain(line);
    expect(checked.code).toBe(0);
  });

  test("under the daemon → in its status until the file is corrected", async () => {
    await using scene = await sharingRobot(content);
    const { robot, keeper } = scene;
    await using daemon = await robot.start();
    const { findings, healthy } = await daemon.until((status) => status.findings.length > 0);
    const [{ id, severity, line, column } = { id: "", severity: "", line: 0, column: 0 }] = findings;
    expect({ healthy, severity, at: `${line}:${column}`, id }).toEqual({
      healthy: true,
      severity: "warning",
      at: place,
      id: message.slice(0, message.indexOf(":")),
    });
    await daemon.untilLogged("finding");
    await writeAtOnce(robot.path("left.conf"), LEFT);
    await daemon.until((status) => status.findings.length === 0 && keeper.contents.size === 3);
  });
});

test("with the service itself → it has the parts, and of the contents only the shared one", async () => {
  await using scene = await createScene({ files: { "left.conf": LEFT, "right.conf": RIGHT } });
  const { robot, service, proxy } = scene;
  const [left = "", right = ""] = robot.paths;
  const entries = `[{path: ${left}, share: true}, ${right}]`;
  await writeAtOnce(
    robot.manifestPath,
    `robot_type_id: yam.bimanual-joint-position.v1\nconfiguration_files: ${entries}\n`,
  );
  expect((await robot.run(["--setup"])).code).toBe(0);
  const told = service.requests.map(({ method, path, status }) => `${method} ${path} ${status}`);
  expect(told).toEqual([`${POST} 200`, `${PARTS} 200`, `PUT /v1/robots/arm-7/contents/${LEFT_HASH} 200`]);
  const { parts_recorded: isRecorded } = registrationViewSchema.parse(
    await (await service.send("GET", "/v1/robots/arm-7/registration")).json(),
  );
  expect(isRecorded).toBe(true);
  const kept = readdirSync(service.dataDirectory).map((name) =>
    readFileSync(join(service.dataDirectory, name), "latin1"),
  );
  expect(kept.join("")).toContain(LEFT.trim());
  expect([...kept, service.log(), ...proxy.partRequests.map(({ body }) => body)].join("")).not.toContain(RIGHT.trim());
});

test("check and digest --explain → which entries are shared", async () => {
  await using scene = await sharingRobot();
  const { robot } = scene;
  expect((await robot.run(["check"])).stderr).toContain("Shared with the service, in full: left arm, models\n");
  expect(JSON.parse((await robot.run(["check", "--json"])).stdout)).toMatchObject({ shared: ["left arm", "models"] });
  const explained = (await robot.run(["digest", "--explain"])).stdout;
  expect(explained).toContain(`left.conf (left arm, ${LEFT.length} bytes, shared)`);
  expect(explained).toContain(`right.conf (right arm, ${RIGHT.length} bytes)`);
});
