/** The questions of `init`, and the results of the answers. */
import { expect, test } from "vitest";

import { interview } from "../../../../src/agent/init/interview.ts";
import type { Answers, ServiceFailure } from "../../../../src/agent/init/questions.ts";
import { chooseType } from "../../../../src/agent/init/type-choice.ts";
import { createTerminal } from "../../../../src/cli/terminal.ts";
import { READY_CATALOG } from "../../../../src/manifest/catalog/ids.ts";

const NOTHING: Answers = { url: null, caFile: null, region: null, name: null, type: null, unit: null, files: [] };
const URL = "https://policy.example.com";
const YAM = "yam.bimanual-joint-position.v1";
/** Enter without text. */
const ENTER = "";

interface Told {
  readonly answers: Answers | null;
  /** The complete terminal session, including the questions and typed answers. */
  readonly seen: string;
}

interface Surroundings {
  readonly files?: readonly string[];
  test?(url: string, caFile: string | null): ServiceFailure | null;
  /** URL of the service. */
  readonly regions?: readonly string[];
  readonly allowInsecure?: boolean;
}

/** The input ends after the last answer. */
async function tell(lines: readonly string[], surroundings: Surroundings = {}): Promise<Told> {
  const { files = [], test: examine, regions = [], allowInsecure = false } = surroundings;
  let seen = "";
  const output = {
    write(text: string) {
      seen += text;
    },
  };
  const left = [...lines];
  const answers = await interview(NOTHING, {
    questions: {
      async ask(question) {
        const line = left.shift() ?? null;
        seen += `${question}${line ?? ""}\n`;
        return line;
      },
      close() {},
    },
    terminal: createTerminal({ stdout: output, stderr: output, environment: { NO_COLOR: "1" } }),
    signal: new AbortController().signal,
    kindOf: async (path) => (files.includes(path) ? "file" : files.includes(`${path}/`) ? "directory" : null),
    test: examine === undefined ? null : async (url, caFile) => examine(url, caFile),
    allowInsecure,
    hostname: "pi4",
    regions: () => regions,
  });
  expect(left).toEqual([]);
  return { answers, seen };
}

test("interview: invalid answers → the same question again, any number of times", async () => {
  const wrong = ["policy", "ftp://policy", "https://policy/v1", "https://u:p@policy"];
  const regions = ["https://user:pw@x", "eu west", "-", "ü"];
  const { answers, seen } = await tell([...wrong, URL, ENTER, ...regions, "eu-west", ENTER, "6", ENTER, ENTER]);
  expect(answers).toEqual({ ...NOTHING, url: URL, region: "eu-west", type: YAM });
  expect(seen.match(/expected the code of a region/g)).toHaveLength(regions.length);
});

test("interview: twenty invalid answers → ends without a result", async () => {
  const { answers } = await tell(Array.from({ length: 20 }, () => "nonsense"));
  expect(answers).toBeNull();
});

test.each([0, 1, 2, 3, 4, 5, 6, 7])("interview: input ends after %i answers → nothing to write", async (count) => {
  const { answers } = await tell([URL, ENTER, "eu-west", ENTER, "yam", "/etc/arm.yaml", ENTER].slice(0, count));
  expect(answers).toBeNull();
});

test("interview: only Enter → every field stays open", async () => {
  const { answers, seen } = await tell([ENTER, ENTER, ENTER, ENTER, ENTER, ENTER]);
  expect(answers).toEqual(NOTHING);
  expect(seen).toMatch(
    /address {2}\(later\)\n.*region {3}\(later\)\n.*name {5}\{hostname\} \(here: pi4\)\n.*type {5}\(later\)\n.*files {4}\(later\)\n/,
  );
});

test("interview: path to a missing file → corrected, dropped, or kept", async () => {
  const paths = ["/a/*.yaml", "/typo", "/arm.yaml", "/second.yaml", "-", "/later.yaml", ENTER, ENTER];
  const { answers, seen } = await tell([URL, ENTER, "eu", ENTER, "yam", ...paths, ENTER], {
    files: ["/arm.yaml", "/second.yaml"],
  });
  expect(answers?.files).toEqual(["/arm.yaml", "/later.yaml"]);
  expect(seen).toContain(
    "The file does not exist: /typo\nThe right path (Enter alone: list it all the same): /arm.yaml",
  );
});

test("interview: a path in quotes, as it is dragged into a terminal → without them", async () => {
  const { answers } = await tell([URL, ENTER, "eu", ENTER, "yam", "'/home/ana/left arm.json' ", ENTER, ENTER], {
    files: ["/home/ana/left arm.json"],
  });
  expect(answers?.files).toEqual(["/home/ana/left arm.json"]);
});

test("interview: a file that is listed already, or a folder → asked again", async () => {
  const paths = ["/left.yaml", "/./left.yaml", "/config", "/left.yaml", "/config/right.yaml", ENTER];
  const { answers, seen } = await tell([URL, ENTER, "eu", ENTER, "yam", ...paths, ENTER], {
    files: ["/left.yaml", "/config/", "/config/right.yaml"],
  });
  expect(answers?.files).toEqual(["/left.yaml", "/config/right.yaml"]);
  expect(seen).toContain("/./left.yaml is already listed\n");
  expect(seen).toContain("A folder; list the files in it that matter, one by one: /config\n");
});

test("interview: each answer can be corrected before anything is written", async () => {
  const corrections = ["9", "2", "eu-north", "5", "/right.yaml", ENTER, ENTER];
  const { answers, seen } = await tell([URL, ENTER, "eu-west", ENTER, "yam", "/wrong.yaml", ENTER, ...corrections], {
    files: ["/wrong.yaml", "/right.yaml"],
  });
  expect(answers).toEqual({ ...NOTHING, url: URL, region: "eu-north", type: YAM, files: ["/right.yaml"] });
  expect(seen).toContain("There is no number 9: 1 to 5.");
});

const REST = ["eu", ENTER, "yam", ENTER, ENTER];
const FAILURE = { id: "dns", what: "no address", remedy: "check it", isAboutAuthority: false } as const;

test("interview: unknown authority → reported, asks for its certificate until it is the right one", async () => {
  const tested: unknown[] = [];
  const { answers, seen } = await tell([URL, "ca.pem", "/etc/ca.pem", ...REST], {
    test(url, caFile) {
      tested.push([url, caFile]);
      return caFile === "/etc/ca.pem" ? null : { ...FAILURE, what: "it comes from Factory CA", isAboutAuthority: true };
    },
  });
  expect(answers).toMatchObject({ url: URL, caFile: "/etc/ca.pem" });
  expect(tested).toEqual([
    [URL, null],
    [URL, expect.stringMatching(/^\/.*\/ca\.pem$/)],
    [URL, "/etc/ca.pem"],
  ]);
  expect(seen).toContain("it comes from Factory CA\n  → check it\nCertificate of that authority");
  expect(seen).toContain(`${URL} answers, and its certificate is trusted.`);
});

test("interview: plain http to another machine → asked again, unless it is allowed", async () => {
  const plain = "http://10.0.0.5:8080";
  const refused = await tell([plain, URL, ENTER, ...REST]);
  expect(refused.answers).toMatchObject({ url: URL });
  expect(refused.seen).toContain("use https, or begin again with --allow-insecure");
  expect((await tell([plain, ...REST], { allowInsecure: true })).answers).toMatchObject({ url: plain });
});

test("interview: unreachable address → corrected, or kept", async () => {
  const right = "https://right.example.com";
  const examine = (url: string) => (url === right ? null : FAILURE);
  expect((await tell([URL, right, ...REST], { test: examine })).answers).toMatchObject({ url: right });
  expect((await tell([URL, ENTER, ...REST], { test: examine })).answers).toMatchObject({ url: URL });
});

test.each([
  ["6", { kind: "type", id: YAM }],
  [YAM, { kind: "type", id: YAM }],
  ["Two YAM", { kind: "type", id: YAM }],
  ["widowx", { kind: "type", id: "bridge.widowx-250.v1" }],
  ["g1", expect.objectContaining({ lines: [expect.stringContaining("dex3"), expect.stringContaining("dex1")] })],
  ["0", { kind: "open", lines: ["There is no number 0: 1 to 10."] }],
  ["11", { kind: "open", lines: ["There is no number 11: 1 to 10."] }],
  ["acme.cell.v1", { kind: "unlisted" }],
  // Not in "ViperX arms".
  ["xarm", { kind: "unlisted" }],
  ["openarm", { kind: "unlisted" }],
])("chooseType: %j", (answer, choice) => {
  expect(chooseType(answer, READY_CATALOG)).toEqual(choice);
});

const SO101 = "lerobot.so101-follower.v1";
test.each([
  ["so101_follower", SO101],
  ["SO-ARM101", SO101],
  ["vx300s", "trossen.aloha-bimanual.v1"],
  ["aloha 2", "trossen.aloha-bimanual.v1"],
  ["i2rt", YAM],
  ["UR-5e", "ur.ur5e-2f85.v1"],
  ["Franka Emika", "droid.franka-panda.v1"],
])("chooseType: %s, as people say → %s", (answer, id) => {
  expect(chooseType(answer, READY_CATALOG)).toEqual({ kind: "type", id });
});

test.each([
  ["so100", [SO101, "lerobot.bi-so101-follower.v1"]],
  ["SO-100", [SO101, "lerobot.bi-so101-follower.v1"]],
  ["koch", [SO101]],
  ["fr3", ["droid.franka-panda.v1"]],
  ["ur10e", ["ur.ur5e-2f85.v1"]],
  ["big yam", [YAM]],
  ["g1 inspire", ["unitree.g1-dex3.v1"]],
])("chooseType: %s → to choose from, or the closest: %j", (answer, ids) => {
  const choice = chooseType(answer, READY_CATALOG);
  const lines = choice.kind === "open" ? choice.lines : [];
  expect(lines.flatMap((line) => /^ +\d+ +(\S+)/.exec(line)?.[1] ?? [])).toEqual(ids);
});

test("chooseType: words of several types → a hint with their ids, for a flag", () => {
  const closest = "did you mean lerobot.so101-follower.v1 or lerobot.bi-so101-follower.v1?";
  expect(chooseType("so100", READY_CATALOG)).toMatchObject({ kind: "open", closest });
});

test("chooseType: a robot that is close to a type → says what differs", () => {
  const choice = chooseType("ur10e", READY_CATALOG);
  expect(choice).toMatchObject({
    kind: "open",
    lines: expect.arrayContaining([expect.stringMatching(/--type ur\.ur5e-2f85\.v1 --extend: limits of its own/)]),
  });
});

test.each([
  ["1", "deg"],
  ["calibrated_range", "calibrated_range"],
  [ENTER, null],
])("interview: unit of a LeRobot robot, answer %j → %s", async (answer, unit) => {
  const { answers, seen } = await tell([URL, ENTER, "eu", ENTER, "lekiwi", "3", answer, ENTER, ENTER]);
  expect(answers).toMatchObject({ type: "lerobot.lekiwi.v1", unit });
  expect(seen).toContain("  1  degrees: LeRobot 0.6.0 and newer, and older ones with --robot.use_degrees=true\n");
  expect(seen).toContain("Answer 1 or 2.");
  expect(seen).toMatch(
    unit === null ? /joints in \(later\)/ : unit === "deg" ? /joints in degrees: / : /joints in -100 to 100: /,
  );
  expect(seen).toContain("Usual for this type:\n  ~/.cache/huggingface/lerobot/calibration/robots/lekiwi/ID.json\n");
});

test("interview: name → asked for with what it will be here, and shown", async () => {
  const { answers, seen } = await tell([URL, ENTER, "eu", "cell-{serial}", "cell-{hostname}", "yam", ENTER, ENTER]);
  expect(answers).toMatchObject({ name: "cell-{hostname}" });
  expect(seen).toContain("Name of the robot (Enter alone: {hostname} (here: pi4)): ");
  expect(seen).toMatch(/name {5}cell-\{hostname\} \(here: cell-pi4\)\n/);
});

test("interview: unknown robot type → used as a custom id, or asked again", async () => {
  const { answers, seen } = await tell([URL, ENTER, "eu", ENTER, "nonsense", "g1", "acme.cell.v1", ENTER, ENTER]);
  expect(answers?.type).toBe("acme.cell.v1");
  expect(seen).toContain("Nothing in the list matches, and as an id:");
  expect(seen).toContain("For another robot enter an id of your own, and describe it in the manifest afterwards.\n");
});

test.each([
  ["2", "eu-west-3"],
  ["eu-west-3", "eu-west-3"],
])("interview: region %s → one of the service's regions", async (answer, region) => {
  const regions = ["eu-central-1", "eu-west-3"];
  const { answers, seen } = await tell([URL, ENTER, "3", "e u", answer, ENTER, "yam", ENTER, ENTER], { regions });
  expect(answers?.region).toBe(region);
  expect(seen).toContain(
    "  1  eu-central-1\n  2  eu-west-3\nCloud region nearest to the robot (a number or a code): 3",
  );
  expect(seen).toContain("There is no number 3: 1 to 2.");
  expect(seen).toContain("expected the code of a region");
  expect(seen).not.toContain("no endpoint");
});

test("interview: region that the service does not list → warning, accepted", async () => {
  const { answers, seen } = await tell([URL, ENTER, "eu-west-4", ENTER, "yam", ENTER, ENTER], {
    regions: ["eu-west-3"],
  });
  expect(answers?.region).toBe("eu-west-4");
  expect(seen).toContain("the service has no endpoint in the region eu-west-4 (did you mean eu-west-3?).\n");
});
