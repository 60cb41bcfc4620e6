import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import * as z from "zod";

import { configurationDigest } from "../../../src/fingerprint/digest.ts";
import { createFingerprinter } from "../../../src/fingerprint/fingerprint.ts";
import { LIMITS, REAL, listed, snapshotOf } from "./machine.ts";

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
  test.each(examples.configuration_digests)("golden $configuration_digest", async ({ files, configuration_digest }) => {
    const paths = files.map(({ file }) => fileURLToPath(new URL(file, EXAMPLES)));
    const { digest, files: hashed } = snapshotOf(
      await createFingerprinter(REAL, LIMITS).collect(listed(...paths), { settle: false }),
    );
    expect(hashed.map(({ sha256, bytes }) => ({ sha256, bytes }))).toEqual(
      files.map(({ sha256, bytes }) => ({ sha256, bytes })),
    );
    expect(digest).toBe(configuration_digest);
    expect(configurationDigest(files.map(({ sha256 }) => sha256))).toBe(configuration_digest);
  });

  const contents = fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 6 });
  const digestOf = (files: readonly Uint8Array[]) =>
    configurationDigest(files.map((bytes) => createHash("sha256").update(bytes).digest("hex")));

  test("scenario 20: equal if and only if contents and order are equal", () => {
    fc.assert(
      fc.property(contents, contents, (one, other) => {
        const areEqual =
          one.length === other.length && one.every((bytes, index) => Buffer.compare(bytes, other[index]!) === 0);
        expect(digestOf(one) === digestOf(other)).toBe(areEqual);
        expect(digestOf(one)).toBe(digestOf(one.map((bytes) => Uint8Array.from(bytes))));
      }),
    );
  });

  test("scenario 20: two different files swapped → another digest", () => {
    const pair = fc.tuple(fc.uint8Array({ maxLength: 40 }), fc.uint8Array({ maxLength: 40 }));
    fc.assert(
      fc.property(pair, ([one, other]) => {
        fc.pre(Buffer.compare(one, other) !== 0);
        expect(digestOf([one, other])).not.toBe(digestOf([other, one]));
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
