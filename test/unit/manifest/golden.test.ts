import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";

import { describe, expect, test } from "vitest";

import { contractDigest, contractText } from "../../../src/manifest/custom/contract.ts";
import type { Finding } from "../../../src/documents/findings.ts";
import { readManifest } from "../../../src/manifest/manifest.ts";

type GoldenFinding = Omit<Finding, "message">;

interface Vector {
  readonly name: string;
  readonly yaml?: string;
  readonly yaml_base64?: string;
  readonly pad?: { readonly with: string; readonly to_bytes: number };
  readonly findings: readonly GoldenFinding[];
  readonly contract_sha256?: string | null;
}

const GOLDEN = new URL("../../golden/robot-manifest/", import.meta.url);

describe("golden vectors", () => {
  test.each(load("valid"))("readManifest: $name", async (vector) => {
    const { findings, value: manifest } = await readManifest(bytesOf(vector));
    expect(findings.map(comparable)).toEqual(vector.findings.map(comparable));
    expect(manifest?.contract ? contractDigest(manifest.contract) : null).toBe(vector.contract_sha256 ?? null);
  });

  test.each(load("invalid"))("readManifest: $name", async (vector) => {
    const { findings, value: manifest } = await readManifest(bytesOf(vector));
    expect(findings.map(comparable)).toEqual(vector.findings.map(comparable));
    expect(manifest).toBeNull();
  });

  test("golden vectors: all are tested", () => {
    expect([load("valid").length, load("invalid").length, examples().length]).toEqual([44, 85, 7]);
  });
});

describe("examples", () => {
  test.each(examples())("contractText: %s → the same bytes", async (name) => {
    const { findings, value: manifest } = await readManifest(readFileSync(new URL(`examples/${name}.yaml`, GOLDEN)));
    expect(findings.filter(({ severity }) => severity === "error")).toEqual([]);
    if (manifest?.contract === null || manifest === null) throw new Error(`${name} has no contract`);
    const text = contractText(manifest.contract);
    expect(text).toBe(readFileSync(new URL(`examples/${name}.contract.json`, GOLDEN), "utf8").trimEnd());
    expect(contractDigest(manifest.contract)).toBe(`sha256:${createHash("sha256").update(text).digest("hex")}`);
  });
});

function examples(): readonly string[] {
  return readdirSync(new URL("examples/", GOLDEN))
    .filter((name) => name.endsWith(".contract.json"))
    .map((name) => name.slice(0, -".contract.json".length));
}

function load(kind: "valid" | "invalid"): readonly Vector[] {
  const text = readFileSync(new URL(`${kind}.jsonl`, GOLDEN), "utf8");
  return text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Vector);
}

function bytesOf({ yaml, yaml_base64: yamlBase64, pad }: Vector): Uint8Array {
  const bytes = yaml === undefined ? Buffer.from(yamlBase64 ?? "", "base64") : Buffer.from(yaml);
  if (pad === undefined) return bytes;
  return Buffer.concat([bytes, Buffer.alloc(pad.to_bytes - bytes.byteLength, pad.with)]);
}

/** The position of a syntax error is defined by the parser. */
function comparable({ id, severity, loc, line, column }: GoldenFinding): unknown {
  return id === "yaml_syntax" ? { id, severity, loc } : { id, severity, loc, line, column };
}
