import { readFile, readdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { beforeEach, expect, test } from "vitest";
import * as z from "zod";

import {
  keepRegistration,
  loadRegistration,
  registrationPath,
  saveRegistration,
} from "../../../../src/agent/registration/registration.ts";
import { checksum, createCleanStop, readState, setAside } from "../../../../src/agent/registration/state-file.ts";
import { systemFiles } from "../../../../src/platform/files/files.ts";
import { testFolder } from "../../../support/folder.ts";
import { REGISTRATION } from "../../../support/robot/registration.ts";
import { stateOfNewerAgent } from "../../../support/robot/newer-state.ts";

/** Written by an earlier agent. */
const GOLDEN = join(import.meta.dirname, "../../../golden/agent-state/registration.json");

let folder = "";
let path = "";
beforeEach(() => {
  folder = testFolder("registration");
  path = registrationPath(folder);
});

const save = (registration = REGISTRATION) => saveRegistration(systemFiles, folder, registration);
const load = () => loadRegistration(systemFiles, folder);

/** Writes what the text of the golden file becomes by this change, with its checksum. */
async function writeChanged(from: string, to: string): Promise<void> {
  const whole = await readFile(GOLDEN, "utf8");
  const text = whole.replace(from, to);
  expect(text).not.toBe(whole);
  const { registration } = z.object({ registration: z.unknown() }).parse(JSON.parse(text));
  await writeFile(path, JSON.stringify({ schema_version: 1, checksum: checksum(1, registration), registration }));
}

test("save → the golden file, which earlier agents read; no other file remains", async () => {
  await save({ ...REGISTRATION, in_doubt: true });
  await save();
  expect(await readFile(path, "utf8")).toBe(await readFile(GOLDEN, "utf8"));
  expect(await readdir(folder)).toEqual(["registration.json"]);
});

test("save and load: the line of a device, and pattern and sharing of a file", async () => {
  const [file] = REGISTRATION.files;
  if (file === undefined) throw new Error("no file");
  const files = [
    { ...file, line: '{"bus":"usb"}' },
    { ...file, pattern: "/etc/*.yaml", share: true },
  ];
  await save({ ...REGISTRATION, files });
  expect(await load()).toStrictEqual({ kind: "content", content: { ...REGISTRATION, files } });
});

test("load: the golden file → the registration, to the nanosecond", async () => {
  await writeFile(path, await readFile(GOLDEN));
  expect(await load()).toStrictEqual({ kind: "content", content: REGISTRATION });
});

test.each([
  ["without a text of the robot", '"site": null,', ""],
  ["with a trusted file", '"trusted": false', '"trusted": true'],
  ["with a member of another agent", '"in_doubt": false,', '"in_doubt": false, "more": 1,'],
])("load: of another agent, %s → the registration", async (_what, from, to) => {
  await writeChanged(from, to);
  expect(await load()).toStrictEqual({ kind: "content", content: REGISTRATION });
});

test("load: a request with a member of a newer agent → kept, so that it differs from what this agent sends", async () => {
  await writeChanged('"region": "eu",', '"region": "eu", "hall": "2",');
  expect(await load()).toMatchObject({ content: { request: { hall: "2" } } });
});

test.each([
  ["no machine", /"machine": ".*",/, ""],
  ["no digest", /"configuration_digest": ".*",/, ""],
  ["a doubt that is no boolean", '"in_doubt": false', '"in_doubt": "false"'],
  ["a label that is no text", '"line": "a"', '"line": 1'],
  ["a contract that is no object", /"contract": \{[^]*?\n {6}\}/, '"contract": []'],
  ["a short hash", "d".repeat(64), "d".repeat(63)],
  ["a hash in capitals", "d".repeat(64), "D".repeat(64)],
  ["a negative size", '"bytes": 12', '"bytes": -1'],
  ["half a byte", '"bytes": 12', '"bytes": 1.5'],
  ["a directory", '"kind": "file"', '"kind": "directory"'],
  ["no device", '"66306"', '""'],
  ["a time with an exponent", '"-1"', '"1e3"'],
  ["a time that is too long", '"-1"', `"${"9".repeat(21)}"`],
  ["a file without trust", /,\s*"trusted": false/, ""],
  ["no robot", /"robot": \{[^]*?\n {4}\},/, ""],
])("load: %s → damaged", async (_what, from, to) => {
  const text = await readFile(GOLDEN, "utf8");
  await writeChanged(typeof from === "string" ? from : (from.exec(text)?.[0] ?? "nothing"), to);
  expect(await load()).toEqual({ kind: "damaged" });
});

test("load: no file → none", async () => {
  expect(await load()).toEqual({ kind: "none" });
});

test("save: state directory missing → made for the owner and the group", async () => {
  const missing = join(folder, "state");
  await saveRegistration(systemFiles, missing, REGISTRATION);
  expect([(await stat(missing)).mode & 0o777, await readdir(missing)]).toEqual([0o750, ["registration.json"]]);
});

test("scenario 34: leftover of a power cut → replaced", async () => {
  await writeFile(`${path}.new`, "half of a regis");
  await save();
  expect(await readdir(folder)).toEqual(["registration.json"]);
  expect((await load()).kind).toBe("content");
});

test("scenario 34: file truncated at any byte → damaged", async () => {
  const whole = await readFile(GOLDEN);
  // The last byte is an optional line feed.
  for (let length = 0; length < whole.byteLength - 1; length += 7) {
    await writeFile(path, whole.subarray(0, length));
    expect(await load()).toEqual({ kind: "damaged" });
  }
});

test("any flipped bit → damaged, never the state of a newer agent", async () => {
  const whole = await readFile(GOLDEN);
  // All bits of the head, which contains the version, and some bits of the rest.
  for (let bit = 0; bit < whole.byteLength * 8; bit += bit < 64 * 8 ? 1 : 41) {
    const flipped = Uint8Array.from(whole, (byte, index) => (index === bit >> 3 ? byte ^ (1 << (bit & 7)) : byte));
    await writeFile(path, flipped);
    const loaded = await load();
    // One white space may become another.
    if (loaded.kind === "content") expect(loaded.content).toStrictEqual(REGISTRATION);
    else expect([bit, loaded.kind]).toEqual([bit, "damaged"]);
  }
});

test("state of a newer agent → kept and reported", async () => {
  await writeFile(path, stateOfNewerAgent(2));
  await expect(load()).rejects.toMatchObject({ code: "state-newer", version: 2 });
});

test("setAside: keeps the file under a name with the reason", async () => {
  await writeFile(path, "foreign");
  expect(await setAside(systemFiles, path)).toBe(join(folder, "registration.json.damaged"));
  expect(await readFile(join(folder, "registration.json.damaged"), "utf8")).toBe("foreign");
});

test.each([
  [{ schema_version: 1, checksum: checksum(1, {}), registration: {} }, "content"],
  [{ schema_version: 0, checksum: checksum(0, {}), registration: {} }, "content"],
  [{ schema_version: -1, checksum: checksum(-1, {}), registration: {} }, "damaged"],
  [{ schema_version: "1", checksum: checksum(1, {}), registration: {} }, "damaged"],
  [{ schema_version: 1, checksum: 0, registration: {} }, "damaged"],
  [{ checksum: checksum(1, {}), registration: {} }, "damaged"],
  [[], "damaged"],
  [null, "damaged"],
])("readState: %j → %s", async (envelope, kind) => {
  await writeFile(path, JSON.stringify(envelope));
  const form = { member: "registration", schema: z.object({}), mode: 0o600, limitBytes: 1024 } as const;
  expect((await readState(systemFiles, path, form)).kind).toBe(kind);
});

test("clean stop: left → taken once", async () => {
  const { leave, take } = createCleanStop(systemFiles, folder);
  expect(await take()).toBe(false);
  await leave();
  expect([await take(), await take()]).toEqual([true, false]);
});

test("a registration that the disk refuses → kept and said, and the stop before it counts no more", async () => {
  const { leave, take } = createCleanStop(systemFiles, folder);
  await leave();
  const createExclusive = () => Promise.reject(Object.assign(new Error("no"), { code: "ENOSPC" }));
  const kept = keepRegistration({ ...systemFiles, createExclusive }, folder, null);
  await kept.accept(REGISTRATION);
  expect(kept.current).toBe(REGISTRATION);
  expect(kept.problem).toContain("ENOSPC");
  expect(await take()).toBe(false);
});

test("keepRegistration: doubt → on the disk before it resolves, once; the answer alone does not take it back there", async () => {
  await save();
  const kept = keepRegistration(systemFiles, folder, REGISTRATION);
  await kept.doubtDurably();
  const doubted = await stat(path);
  kept.setDoubt(false);
  await kept.doubtDurably();
  expect((await stat(path)).ino).toBe(doubted.ino);
  expect(await load()).toEqual({ kind: "content", content: { ...REGISTRATION, in_doubt: true } });
});

test("keepRegistration: its file was moved away → forgotten; otherwise kept", async () => {
  await save();
  const kept = keepRegistration(systemFiles, folder, REGISTRATION);
  expect([await kept.forgetMoved(), kept.current]).toEqual([false, REGISTRATION]);
  await systemFiles.rename(path, `${path}.rebound`);
  expect([await kept.forgetMoved(), kept.current]).toEqual([true, null]);
});
