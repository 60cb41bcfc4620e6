/** Entries of the manifest that stand for several files, under the agent. */
import { execFile } from "node:child_process";
import { mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { promisify } from "node:util";

import { describe, expect, test } from "vitest";

import { digestOfContents } from "../../../support/robot/digest.ts";
import { writeAtOnce } from "../../../support/robot/robot.ts";
import { createScene, sentDigests } from "../../../support/service/scene.ts";

const TYPE = "robot_type_id: yam.bimanual-joint-position.v1\n";
const FILES = { "meshes/b.stl": "b", "meshes/a b.stl": "a", "meshes/é.stl": "é", "urdf.xml": "<robot/>" };
const ALL = ["a", "b", "é"];

/** A robot whose manifest lists a pattern and a file after it. */
async function robotWithPattern() {
  // No resync: what is noticed is noticed by events.
  const scene = await createScene({ files: FILES, watch: "{settle_ms: 150, resync_s: 3600}" });
  const { robot, proxy } = scene;
  const { path } = robot;
  // Neither is meant.
  writeFileSync(path("meshes/.hidden.stl"), "hidden");
  writeFileSync(path("meshes/notes.txt"), "notes");
  mkdirSync(path("meshes/folder.stl"));
  const entries = [`  - {label: meshes, path: "${path("meshes/*.stl")}"}`, `  - ${path("urdf.xml")}`];
  await writeAtOnce(robot.manifestPath, `${TYPE}configuration_files:\n${entries.join("\n")}\n`);
  const daemon = await robot.start();
  const has = (...contents: readonly string[]) => {
    const digest = digestOfContents(...contents, "<robot/>");
    return daemon.until(({ state, registration }) => {
      return state === "registered" && registration?.configuration_digest === digest;
    });
  };
  await has(...ALL);
  const finding = async () => {
    const { findings } = await daemon.until((status) => status.findings.length > 0);
    return findings.map(({ id, loc, message }) => `${id} ${loc} ${message.replaceAll(robot.folder, "")}`);
  };
  return {
    ...scene,
    path,
    daemon,
    has,
    finding,
    sent: () => sentDigests(proxy).length,
    async [Symbol.asyncDispose]() {
      await daemon[Symbol.asyncDispose]();
      await scene[Symbol.asyncDispose]();
    },
  };
}

describe.concurrent("a pattern", () => {
  test("a file is added, then renamed and changed → registered, in the order of the names' bytes", async () => {
    await using robot = await robotWithPattern();
    const { path, has } = robot;
    writeFileSync(path("meshes/c.stl"), "c");
    await has("a", "b", "c", "é");
    renameSync(path("meshes/c.stl"), path("meshes/A.stl"));
    writeFileSync(path("meshes/A.stl"), "A");
    const { registered_changes: changes } = await has("A", "a", "b", "é");
    expect(changes?.files.map(({ kind, label }) => `${kind} ${label}`)).toEqual([
      "added meshes (A.stl)",
      "removed meshes (c.stl)",
    ]);
    writeFileSync(path("meshes/.other.stl"), "hidden");
    writeFileSync(path("meshes/notes.txt"), "other notes");
    await robot.daemon.lookAgain();
    expect(robot.sent()).toBe(3);
  });

  test("no file, no folder, 513 files → a finding at the entry, and the last registration stands; over → nothing is sent", async () => {
    await using robot = await robotWithPattern();
    const { path, has, finding, daemon } = robot;
    const { registration } = await daemon.status();
    renameSync(path("meshes"), path("away"));
    expect(await finding()).toEqual([
      "file_missing /configuration_files/0/path Cannot find /meshes: create it, or correct the path in the manifest",
    ]);
    mkdirSync(path("meshes"));
    await daemon.until(({ findings }) => findings.some(({ message }) => message.includes("*")));
    expect(await finding()).toEqual([
      "file_missing /configuration_files/0/path Cannot find /meshes/*.stl: no file has such a name; correct the pattern in the manifest",
    ]);
    rmSync(path("meshes"), { recursive: true });
    renameSync(path("away"), path("meshes"));
    await has(...ALL);
    const more = Array.from({ length: 508 }, (_, index) => path(`meshes/z${index}.stl`));
    for (const each of more) writeFileSync(each, "z");
    const zs = more.map(() => "z");
    await has("a", "b", ...zs, "é");
    writeFileSync(path("meshes/zz.stl"), "z");
    expect((await daemon.status()).findings).toEqual([]);
    writeFileSync(path("meshes/zzz.stl"), "z");
    expect(await finding()).toEqual([
      "file_too_large /configuration_files/0/path Cannot hash /meshes/*.stl: patterns may stand for 512 files in all; write narrower ones",
    ]);
    for (const each of [...more, path("meshes/zz.stl"), path("meshes/zzz.stl")]) rmSync(each);
    await has(...ALL);
    expect((await daemon.status()).registration?.configuration_digest).toBe(registration?.configuration_digest);
  });

  test("digest --explain, redone with its command → the same; check → valid", async () => {
    await using robot = await robotWithPattern();
    const { robot: computer } = robot;
    const { stdout } = await computer.run(["digest", "--explain"]);
    const command = stdout.trimEnd().split("\n").at(-1) ?? "";
    const redone = await promisify(execFile)("sh", ["-c", command]);
    expect(`sha256:${redone.stdout.slice(0, 64)}`).toBe(digestOfContents(...ALL, "<robot/>"));
    expect((await computer.run(["check"])).code).toBe(0);
    expect(stdout.replaceAll(computer.folder, "")).toContain("/meshes/a b.stl (meshes (a b.stl), 1 byte)");
  });
});
