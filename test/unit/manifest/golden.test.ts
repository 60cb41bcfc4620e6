import { readFileSync } from "node:fs";

import { describe, expect, test } from "vitest";

import { READY_CATALOG } from "../../../src/manifest/catalog-ids.ts";
import type { Finding } from "../../../src/manifest/finding.ts";
import type { ManifestReading } from "../../../src/manifest/manifest.ts";
import { readManifest } from "../../../src/manifest/manifest.ts";

type GoldenFinding = Omit<Finding, "message">;

interface Vector {
  readonly name: string;
  readonly yaml?: string;
  readonly yaml_base64?: string;
  readonly pad?: { readonly with: string; readonly to_bytes: number };
  readonly findings: readonly GoldenFinding[];
}

/** Ids of stages 1 to 3, and of stage 4 by id. Later ones come with custom robot types. */
const COVERED_IDS = new Set(
  (
    "too_large not_utf8 yaml_syntax yaml_documents too_deep yaml_forbidden yaml_duplicate_key wrong_type unknown_key missing " +
    "secret_in_manifest placeholder schema_version type_id_format text_format not_allowed list_length duplicate_name config_path " +
    "config_duplicate config_unsuitable no_config_files status_draft type_id_unlisted"
  ).split(" "),
);
const DOCUMENT_IDS = new Set(["too_deep", "yaml_forbidden", "yaml_duplicate_key"]);
const BODY_LOC = /^\/(?:extends|topology|action_semantics|gripper|control_rate_hz|groups|cameras)(?:\/|$)/;

const vectors = ["valid", "invalid"].flatMap((kind) => load(kind));

describe("golden vectors", () => {
  test.each(vectors)("readManifest: $name", (vector) => {
    const { findings, manifest } = read(vector);
    expect(withoutCustom(findings)).toEqual(covered(vector).map(comparable));
    if (findings.some(({ severity }) => severity === "error")) expect(manifest).toBeNull();
  });

  test("readManifest: the vectors that are judged do not become fewer", () => {
    const by_id = vectors.filter((vector) => !read(vector).findings.some(({ id }) => id === "custom_type_unsupported"));
    const judged = vectors.filter((vector) => covered(vector).length > 0);
    const whole = vectors.filter((vector) => covered(vector).length === vector.findings.length);
    expect({ all: vectors.length, by_id: by_id.length, judged: judged.length, whole: whole.length }).toEqual({
      all: 116,
      by_id: 14,
      judged: 29,
      whole: 53,
    });
  });
});

function load(kind: string): readonly Vector[] {
  const text = readFileSync(new URL(`../../golden/robot-manifest/${kind}.jsonl`, import.meta.url), "utf8");
  return text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Vector);
}

function read(vector: Vector): ManifestReading {
  return readManifest(bytesOf(vector), READY_CATALOG);
}

function bytesOf({ yaml, yaml_base64, pad }: Vector): Uint8Array {
  const bytes = yaml === undefined ? Buffer.from(yaml_base64 ?? "", "base64") : Buffer.from(yaml);
  if (pad === undefined) return bytes;
  return Buffer.concat([bytes, Buffer.alloc(pad.to_bytes - bytes.byteLength, pad.with)]);
}

function covered({ findings }: Vector): readonly GoldenFinding[] {
  return findings.filter(({ id, loc }) => COVERED_IDS.has(id) && (DOCUMENT_IDS.has(id) || !BODY_LOC.test(loc)));
}

function withoutCustom(findings: readonly Finding[]): readonly unknown[] {
  return findings.filter(({ id }) => id !== "custom_type_unsupported").map(comparable);
}

/** The position of a syntax error is the parser's own. */
function comparable({ id, severity, loc, line, column }: GoldenFinding): unknown {
  return id === "yaml_syntax" ? { id, severity, loc } : { id, severity, loc, line, column };
}
