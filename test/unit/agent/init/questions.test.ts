/** The questions of `init`, asked by the real prompts on a terminal of streams. */
import { PassThrough } from "node:stream";

import { expect, test } from "vitest";

import type { Answers } from "../../../../src/agent/init/answers.ts";
import { candidate } from "../../../../src/agent/init/detect/detection.ts";
import { type Interview, interview } from "../../../../src/agent/init/questions.ts";
import { findTypes, suggestType } from "../../../../src/agent/init/type-choice.ts";
import { READY_CATALOG } from "../../../../src/manifest/catalog/ids.ts";

const URL = "https://policy.example.com";
const YAM = "yam.bimanual-joint-position.v1";
const NOTHING: Answers = {
  url: null,
  keyFile: "/etc/robot-policy-agent/api-key",
  caFile: null,
  allowInsecure: false,
  proxy: null,
  enrolmentKeyFile: null,
  region: null,
  name: null,
  site: null,
  labels: {},
  type: null,
  unit: null,
  isExtended: false,
  files: [],
  devices: [],
  ranges: [],
};
/** Empties the line. */
const EMPTY = "\u0015";
const DOWN = "\u001B[B";
const CTRL_C = "\u0003";
/** In place of an answer. */
const GONE = "gone";
const CTRL_D = "\u0004";

interface Scene extends Partial<Interview> {
  readonly files?: readonly string[];
  readonly regions?: readonly string[];
  readonly given?: Partial<Answers>;
}

/** Types each line, with Enter behind it, once the screen shows what stands before it. */
async function tell(lines: readonly Line[], scene: Scene = {}) {
  const { files = [], regions = [], given, ...task } = scene;
  const input = new PassThrough();
  const output = new PassThrough();
  let seen = "";
  output.on("data", (chunk) => (seen += String(chunk)));
  const told = interview(
    { ...NOTHING, ...given },
    {
      person: { input, output },
      signal: new AbortController().signal,
      hostname: "pi4",
      wantsCredential: false,
      candidates: [],
      devices: [],
      kindOf: async (path) => (files.includes(path) ? "file" : files.includes(`${path}/`) ? "directory" : null),
      regionsOf: async () => regions,
      ...task,
    },
  );
  let shownUntil = 0;
  for (const [shown, typed] of lines) {
    await expect.poll(() => seen.slice(shownUntil)).toContain(shown);
    shownUntil = seen.length;
    if (typed === GONE) input.end();
    else input.write(typed === CTRL_C || typed === CTRL_D ? typed : `${typed}\r`);
  }
  return { told: await told, seen };
}

/** What the screen shows, and what is typed then. */
type Line = readonly [shown: string, typed: string];

const ENTER_ALONE: readonly Line[] = [
  ["Address", ""],
  ["region", ""],
  ["(here: pi4)", ""],
  ["Type", ""],
  ["Configuration file 1", ""],
];

test("interview: only Enter → every value stays open", async () => {
  const { told } = await tell(ENTER_ALONE);
  expect(told).toEqual({ answers: NOTHING, credential: "later" });
});

test.each(
  [CTRL_C, CTRL_D].flatMap((key) => [0, 1, 2, 3, 4].map((count) => [JSON.stringify(key), count, key] as const)),
)("interview: %s after %i answers → nothing to write", async (_name, count, key) => {
  const [end = ""] = ENTER_ALONE[count] ?? [];
  expect((await tell([...ENTER_ALONE.slice(0, count), [end, key]])).told).toBeNull();
});

test("interview: the terminal is gone → nothing to write", async () => {
  expect((await tell([["Address", GONE]])).told).toBeNull();
});

test("interview: the program is stopped → nothing to write", async () => {
  expect((await tell([], { signal: AbortSignal.abort() })).told).toBeNull();
});

const REGIONS = { regions: ["eu-west-3", "us-west-2"] };
/** All but one value is given. */
const ALL = { url: URL, region: "eu", name: "cell", type: YAM, files: ["/etc/arm.yaml"] };

const SO101 = "lerobot.so101-follower.v1";
const JOINT = { joint: "shoulder_pan", deg: [-79.2, 79.2], calibrated_range: [-100, 100] } as const;
const RANGES = [{ group: "arm", joints: [JOINT] }];
const FOUND = candidate({
  key: "so101",
  robot: "SO-101",
  type: SO101,
  reason: "its calibration",
  files: [{ label: "calibration", path: "/home/pat/arm.json", modifiedMs: 0 }],
  ranges: RANGES,
  unit: "deg",
});
const NEAR = candidate({ ...FOUND, key: "koch", robot: "Koch", differs: "other limits", ranges: [] });
const DEVICES = [
  { entry: "- { device: /dev/cam }", reason: "colour camera, C920, told by its serial number", question: null },
  {
    entry: "- { device: /dev/ttyUSB0 }",
    reason: "serial adapter, CH340, told by its port",
    question: "is it the robot's?",
  },
];
const TAKEN = { files: ["/home/pat/arm.json"], unit: "deg" } as const;

test.each<[string, Partial<Answers>, readonly Line[], Partial<Answers>, Partial<Scene>]>([
  [
    "wrong addresses → asked again",
    { url: null },
    [
      ["Address", "policy"],
      ["not a web address", `${EMPTY}https://policy/v1`],
      ["/v1", `${EMPTY}http://10.0.0.5`],
      ["--allow-insecure", EMPTY + URL],
    ],
    { url: URL },
    {},
  ],
  [
    "what was found, with the limits of the type",
    { type: null, files: [] },
    [
      ["Take what was found", ""],
      ["ranges of the calibration", ""],
    ],
    { ...TAKEN, type: SO101, ranges: RANGES },
    { candidates: [FOUND, NEAR] },
  ],
  [
    "devices: those of the robot, and another that is picked",
    { region: null },
    [
      ["region", "eu"],
      ["Devices to list", `${DOWN} `],
    ],
    { devices: ["- { device: /dev/cam }", "- { device: /dev/ttyUSB0 }"] },
    { devices: DEVICES },
  ],
  [
    "what was found, with the arm's own limits",
    { type: null, files: [] },
    [
      ["Take what was found", ""],
      ["ranges of the calibration", "y"],
    ],
    { ...TAKEN, type: SO101, ranges: RANGES, isExtended: true },
    { candidates: [FOUND, NEAR] },
  ],
  [
    "what was found of a robot that is only near to a type: the type is asked",
    { type: null, files: [] },
    [
      ["Take what was found", DOWN],
      ["Type", "acme.arm.v1"],
    ],
    { ...TAKEN, type: "acme.arm.v1" },
    { candidates: [FOUND, NEAR] },
  ],
  [
    "nothing of what was found",
    { type: null, files: [] },
    [
      ["Take what was found", DOWN],
      ["Type", ""],
      ["Configuration file 1", ""],
    ],
    { type: null, files: [] },
    { candidates: [FOUND] },
  ],
  [
    "plain http, where it is allowed",
    { url: null, allowInsecure: true },
    [["Address", "http://10.0.0.5"]],
    { url: "http://10.0.0.5", allowInsecure: true },
    {},
  ],
  [
    "a region",
    { region: null },
    [
      ["region", "e u"],
      ["the code of a region", `${EMPTY}eu-west`],
    ],
    { region: "eu-west" },
    {},
  ],
  [
    "a region of the service, by a part of its name",
    { region: null },
    [["us-west-2", "us"]],
    { region: "us-west-2" },
    REGIONS,
  ],
  ["a region of the service, with an arrow", { region: null }, [["us-west-2", DOWN]], { region: "eu-west-3" }, REGIONS],
  [
    "a region that the service does not list",
    { region: null },
    [["us-west-2", "mars-1"]],
    { region: "mars-1" },
    REGIONS,
  ],
  [
    "a name",
    { name: null },
    [
      ["Name", "cell-{serial}"],
      ["is no placeholder", `${EMPTY}cell-{hostname}`],
    ],
    { name: "cell-{hostname}" },
    {},
  ],
  ["a type, by its name", { type: null }, [["Type", "widowx"]], { type: "bridge.widowx-250.v1" }, {}],
  [
    "a type of one's own",
    { type: null },
    [
      ["Type", "nonsense"],
      ["type id", `${EMPTY}acme.cell.v1`],
    ],
    { type: "acme.cell.v1" },
    {},
  ],
  [
    "the unit of a LeRobot type",
    { type: null },
    [
      ["Type", "lekiwi"],
      ["LeRobot 0.6.0 and newer", DOWN],
    ],
    { type: "lerobot.lekiwi.v1", unit: "calibrated_range" },
    {},
  ],
  [
    "the unit of a given LeRobot type, left open",
    { type: "lerobot.lekiwi.v1", region: null },
    [
      ["region", "eu"],
      ["joints", DOWN + DOWN],
    ],
    { type: "lerobot.lekiwi.v1" },
    {},
  ],
  [
    "files in quotes, as they are dragged into a terminal",
    { files: [] },
    [
      ["file 1", "'/home/ana/left arm.json' "],
      ["file 2", "~/right.json"],
      ["file 3", ""],
    ],
    { files: ["/home/ana/left arm.json", "~/right.json"] },
    { files: ["/home/ana/left arm.json"] },
  ],
  [
    "a file that is listed already, a folder, a pattern of folders → asked again",
    { files: [] },
    [
      ["file 1", "/left.yaml"],
      ["file 2", "/./left.yaml"],
      ["already listed", `${EMPTY}/config`],
      ["a folder", `${EMPTY}/a*/b.yaml`],
      ["*", EMPTY],
    ],
    { files: ["/left.yaml"] },
    { files: ["/left.yaml", "/config/"] },
  ],
  [
    "a pattern → taken",
    { files: [] },
    [
      ["file 1", "/meshes/*.stl"],
      ["file 2", ""],
    ],
    { files: ["/meshes/*.stl"] },
    { files: [] },
  ],
  [
    "a path to no file → corrected, or listed if that is confirmed",
    { files: [] },
    [
      ["file 1", "/typo"],
      ["There is no file /typo", "n"],
      ["file 1", `${EMPTY}/arm.yaml`],
      ["file 2", "/later.yaml"],
      ["There is no file /later.yaml", "y"],
      ["file 3", ""],
    ],
    { files: ["/arm.yaml", "/later.yaml"] },
    { files: ["/arm.yaml"] },
  ],
])("interview: %s", async (_name, open, lines, answers, scene) => {
  const { told } = await tell(lines, { ...scene, given: { ...ALL, ...open } });
  expect(told?.answers).toEqual({ ...NOTHING, ...ALL, ...answers });
});

test.each([
  ["", "enroll"],
  [DOWN, "key"],
  [DOWN + DOWN, "later"],
])("interview: the credential, answer %j → %s", async (typed, credential) => {
  const given = { ...ALL, region: null };
  const { told } = await tell(
    [
      ["region", "eu"],
      ["proves who it is", typed],
    ],
    { given, wantsCredential: true },
  );
  expect(told?.credential).toBe(credential);
});

test.each([
  [YAM, [YAM]],
  ["Two YAM", [YAM]],
  ["i2rt", [YAM]],
  ["so101_follower", [SO101]],
  ["SO-ARM101", [SO101]],
  ["SO-100", [SO101, "lerobot.bi-so101-follower.v1"]],
  ["vx300s", ["trossen.aloha-bimanual.v1"]],
  ["UR-5e", ["ur.ur5e-2f85.v1"]],
  ["Franka Emika", ["droid.franka-panda.v1"]],
  ["g1", ["unitree.g1-dex3.v1", "unitree.g1-dex1.v1"]],
  ["unitree_g1", ["unitree.g1-dex3.v1", "unitree.g1-dex1.v1"]],
  ["yam_pro", [YAM]],
  ["wx250s", ["bridge.widowx-250.v1"]],
  ["FER", ["droid.franka-panda.v1"]],
  // Close to a type, and not its name.
  ["koch", [SO101]],
  ["fr3", ["droid.franka-panda.v1"]],
  ["ur7e", ["ur.ur5e-2f85.v1"]],
  ["openarm_follower", [YAM]],
  ["big yam", [YAM]],
  ["g1 inspire", ["unitree.g1-dex3.v1"]],
  // Not in "ViperX arms".
  ["xarm", []],
  ["acme.cell.v1", []],
  ["", [...READY_CATALOG.keys()]],
])("findTypes: %s, as people say → %j", (words, ids) => {
  expect(findTypes(words, READY_CATALOG).map(({ id }) => id)).toEqual(ids);
});

test.each([
  ["so100", "did you mean lerobot.so101-follower.v1 or lerobot.bi-so101-follower.v1?"],
  ["ur10e", "closest, with --type ur.ur5e-2f85.v1 --extend: limits of its own: joint_limits.yaml of ur_description"],
  ["xarm", null],
])("suggestType: %s → %s", (words, suggestion) => {
  expect(suggestType(words, READY_CATALOG)).toBe(suggestion);
});
