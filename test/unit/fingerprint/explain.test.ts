import { execFile } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

import { describe, expect, test } from "vitest";

import { explainDigest, repeatCommand } from "../../../src/fingerprint/explain.ts";
import { createFingerprinter } from "../../../src/fingerprint/fingerprint.ts";
import { LIMITS, REAL, listed, snapshotOf, temporaryFolder } from "./machine.ts";

describe("repeatCommand", () => {
  const names: readonly (readonly string[])[] = [
    [],
    ["left.yaml", "right.yaml"],
    ["a file.json"],
    ['it\'s $HOME `id` "quoted" #1.json', "*.json"],
    ["back\\slash.json", "plain.json"],
    ["new\nline.json", "-n"],
    ["größe.yaml", "~", "a;b&c|d"],
  ];

  test.each(names.map((files) => ({ files })))("$files → a shell computes the same digest", async ({ files }) => {
    const folder = await temporaryFolder();
    const paths = files.map((name) => join(folder, name));
    for (const [index, path] of paths.entries()) await writeFile(path, `content ${index}`);
    const { digest } = snapshotOf(await createFingerprinter(REAL, LIMITS).collect(listed(...paths), { settle: false }));

    const { stdout } = await promisify(execFile)("sh", ["-c", repeatCommand(paths)]);
    expect(`sha256:${stdout.slice(0, 64)}`).toBe(digest);
  });
});

describe("explainDigest", () => {
  test("files → the hashed text with the file of each line, and the command", async () => {
    const folder = await temporaryFolder();
    const path = join(folder, "arm.yaml");
    await mkdir(folder, { recursive: true });
    await writeFile(path, "a");
    const fingerprinter = createFingerprinter(REAL, LIMITS);
    const files = [
      { label: "Left arm", path },
      { label: path, path },
    ];
    const lines = explainDigest(snapshotOf(await fingerprinter.collect(files, { settle: false })));
    expect(lines.join("\n").replaceAll(folder, "/etc/robot")).toMatchInlineSnapshot(`
      "The hashed text is one line per file, in the order of the manifest: the SHA-256 of the file's bytes and a line feed:

        ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb  /etc/robot/arm.yaml (Left arm, 1 byte)
        ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb  /etc/robot/arm.yaml (1 byte)

      Each line is the 64 digits and the line feed, without file names, times or modes.

      Its SHA-256 is the configuration digest: sha256:07469bebc4e79aa6d460057154156b5a9e230639cf2efbf5a3db6a2a9c63d381

      The same with standard tools:
        sha256sum /etc/robot/arm.yaml /etc/robot/arm.yaml | cut -c1-64 | sha256sum"
    `);
  });

  test("empty list → the digest of empty input", async () => {
    const lines = explainDigest(snapshotOf(await createFingerprinter(REAL, LIMITS).collect([], { settle: false })));
    expect(lines.join("\n")).toMatchInlineSnapshot(`
      "No configuration files are listed, so the text that is hashed is empty.

      Its SHA-256 is the configuration digest: sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855

      The same with standard tools:
        printf '' | sha256sum"
    `);
  });
});
