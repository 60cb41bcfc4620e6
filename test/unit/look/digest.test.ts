import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import * as z from "zod";

import { configurationDigest, explainDigest, repeatCommand } from "../../../src/look/digest.ts";
import { digestOfContents } from "../../support/robot/digest.ts";
import { robot, snapshotNow } from "./machine.ts";

const EXAMPLES = new URL("../../golden/robot-manifest/examples/", import.meta.url);

const exampleSchema = z.object({
  configuration_digests: z.array(
    z.object({
      files: z.array(z.object({ file: z.string(), bytes: z.number(), sha256: z.string() })),
      configuration_digest: z.string(),
    }),
  ),
});

const examples = exampleSchema.parse(JSON.parse(await readFile(new URL("digests.json", EXAMPLES), "utf8")));

describe("configurationDigest", () => {
  test.each(examples.configuration_digests)(
    "files alone, without devices: the digest as ever, $configuration_digest",
    async ({ files, configuration_digest }) => {
      const { digest, files: hashed } = await snapshotNow(
        files.map(({ file }) => fileURLToPath(new URL(file, EXAMPLES))),
      );
      expect(hashed).toMatchObject(files.map(({ sha256, bytes }) => ({ sha256, bytes })));
      expect(digest).toBe(configuration_digest);
    },
  );

  const digestOf = (files: readonly Uint8Array[]) =>
    configurationDigest(files.map((bytes) => createHash("sha256").update(bytes).digest("hex")));

  test("scenario 20: equal if and only if contents and order are equal", () => {
    const contents = fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 6 });
    fc.assert(
      fc.property(contents, contents, (one, other) => {
        const areEqual =
          one.length === other.length && one.every((bytes, index) => Buffer.compare(bytes, other[index]!) === 0);
        expect(digestOf(one) === digestOf(other)).toBe(areEqual);
        expect(digestOf(one)).toBe(digestOf(one.map((bytes) => Uint8Array.from(bytes))));
        const isSymmetric = digestOf(one) === digestOf(one.toReversed());
        expect(isSymmetric).toBe(one.every((bytes, index) => Buffer.compare(bytes, one.at(-1 - index)!) === 0));
      }),
    );
  });

  test("scenario 20: bytes moved between two files → another digest", () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 80 }), fc.nat(80), fc.nat(80), (bytes, a, b) => {
        fc.pre(a !== b && a <= bytes.length && b <= bytes.length);
        const splitAt = (at: number) => [bytes.subarray(0, at), bytes.subarray(at)];
        expect(digestOf(splitAt(a))).not.toBe(digestOf(splitAt(b)));
        expect(digestOf(splitAt(a))).not.toBe(digestOf([bytes]));
      }),
    );
  });
});

test.each(
  [
    [],
    ["left.yaml", "right.yaml"],
    ["a file.json"],
    ['it\'s $HOME `id` "quoted" #1.json', "*.json"],
    ["back\\slash.json", "plain.json"],
    ["new\nline.json", "-n"],
    ["größe.yaml", "~", "a;b&c|d"],
  ].map((names) => ({ names })),
)("repeatCommand: $names → a shell computes the same digest", async ({ names }) => {
  const { paths } = await robot(Object.fromEntries(names.map((name, index) => [name, `content ${index}`])));
  const { digest } = await snapshotNow(paths);
  const { stdout } = await promisify(execFile)("sh", ["-c", repeatCommand(paths.map((path) => ({ path })))]);
  expect(`sha256:${stdout.slice(0, 64)}`).toBe(digest);
});

test("repeatCommand: files and lines of devices → a shell computes the same digest", async () => {
  const { paths } = await robot({ "it's.json": "{}", "b.yaml": "b: 1\n" });
  const line = '{"bus":"usb","product":"it\'s \\\\ $HOME %s","serial":"A"}';
  const [first = "", second = ""] = paths;
  const command = repeatCommand([{ path: first }, { path: "/dev/video0", line }, { path: second }]);
  const { stdout } = await promisify(execFile)("sh", ["-c", command]);
  expect(`sha256:${stdout.slice(0, 64)}`).toBe(digestOfContents("{}", line, "b: 1\n"));
});

describe("explainDigest", () => {
  test("files → the hashed text with the file of each line, and the command", async () => {
    const { folder, path } = await robot({ "arm.yaml": "a" });
    const lines = explainDigest(await snapshotNow([{ label: "Left arm", path }, path]));
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
    expect(explainDigest(await snapshotNow([])).join("\n")).toMatchInlineSnapshot(`
      "No configuration files are listed, so the text that is hashed is empty.

      Its SHA-256 is the configuration digest: sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855

      The same with standard tools:
        printf '' | sha256sum"
    `);
  });
});
