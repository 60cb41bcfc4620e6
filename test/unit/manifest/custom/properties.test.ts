import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { stringify } from "yaml";

import { READY_CATALOG } from "../../../../src/manifest/catalog/ids.ts";
import { contractText } from "../../../../src/manifest/custom/contract.ts";
import { diffContracts } from "../../../../src/api/contract-difference.ts";
import { readManifest } from "../../../../src/manifest/manifest.ts";
import { type ManifestData, robotManifest, shuffleKeys, withDefaults } from "../../../support/robot/robot-manifests.ts";
import { times } from "../../../support/run/tier.ts";

const RUNS = times(100, 10_000);
/** Takes about twenty seconds of CPU time, and several times that on a busy machine. */
const LIMIT_MS = 480_000;

describe("contracts of generated robots", () => {
  test("readManifest: equal robots, written differently → equal contract bytes", { timeout: LIMIT_MS }, async () => {
    await fc.assert(
      fc.asyncProperty(
        robotManifest,
        fc.infiniteStream(fc.double({ min: 0, max: 0.999, noNaN: true })),
        async (manifest, numbers) => {
          const random = () => numbers.next().value as number;
          const expected = await contractOf(JSON.stringify(manifest));
          const shuffled = shuffleKeys(manifest, random) as ManifestData;
          expect(await contractOf(stringify(shuffled))).toBe(expected);
          expect(await contractOf(commented(stringify(withDefaults(shuffled))))).toBe(expected);
        },
      ),
      { numRuns: RUNS },
    );
  });

  test("readManifest: any mutation → either a contract or errors, no crash", { timeout: LIMIT_MS }, async () => {
    const counts = { contract: 0, error: 0 };
    await fc.assert(
      fc.asyncProperty(
        robotManifest,
        fc.array(mutation, { minLength: 1, maxLength: 3 }),
        async (manifest, mutations) => {
          const mutated = mutations.reduce<unknown>((value, change) => change(value), manifest);
          const { findings, manifest: read } = await readManifest(Buffer.from(JSON.stringify(mutated)), READY_CATALOG);
          const hasError = findings.some(({ severity }) => severity === "error");
          if (hasError) expect(read).toBeNull();
          counts[hasError ? "error" : "contract"] += 1;
          if (!read?.contract) return;
          const original = await readManifest(Buffer.from(JSON.stringify(manifest)), READY_CATALOG);
          if (!original.manifest?.contract) throw new Error("The generator created an invalid manifest");
          const { contract } = original.manifest;
          const isSame = contractText(contract) === contractText(read.contract);
          expect(diffContracts(contract, read.contract).length === 0).toBe(isSame);
        },
      ),
      { numRuns: RUNS },
    );
    // Both outcomes occurred.
    expect(counts.contract).toBeGreaterThan(RUNS / 100);
    expect(counts.error).toBeGreaterThan(RUNS / 4);
  });
});

async function contractOf(text: string): Promise<string> {
  const { findings, manifest } = await readManifest(Buffer.from(text), READY_CATALOG);
  expect(findings.filter(({ severity }) => severity === "error")).toEqual([]);
  if (!manifest?.contract) throw new Error(`No contract: ${text}`);
  return contractText(manifest.contract);
}

function commented(text: string): string {
  return `# robot\r\n${text.replaceAll("\n", " # why\r\n")}`;
}

const VALUES = fc.constantFrom<unknown>(
  null,
  true,
  0,
  -1,
  1e7,
  0.5,
  "",
  "x",
  "left",
  "right",
  "position",
  "velocity",
  "none",
  "rad",
  "deg",
  "mm",
  "percent",
  "arm",
  "gripper",
  "eef",
  "base",
  [],
  {},
  [1],
  [[1, 0]],
  { position: [] },
  { closed: 1, open: 1 },
  "lerobot.so101-follower.v1",
);
const KEYS = fc.constantFrom(
  "name",
  "kind",
  "side",
  "elements",
  "unit",
  "angle_unit",
  "zero",
  "state",
  "action",
  "limits",
  "aperture",
  "normalized",
  "frame",
  "rotation",
  "extends",
  "topology",
  "action_semantics",
  "gripper",
  "control_rate_hz",
  "groups",
  "cameras",
  "role",
  "mount",
);

/** Replaces a value, adds a key, or removes a member somewhere in the manifest. */
const mutation = fc
  .tuple(fc.array(fc.nat(30), { maxLength: 6 }), fc.constantFrom("replace", "add", "remove"), KEYS, VALUES)
  .map(
    ([way, what, key, value]) =>
      (root: unknown): unknown =>
        mutate(root, way, what, key, value),
  );

function mutate(node: unknown, [step, ...way]: readonly number[], what: string, key: string, value: unknown): unknown {
  if (typeof node !== "object" || node === null) return what === "replace" ? value : node;
  const entries = Object.entries(node);
  if (step === undefined || entries.length === 0) return change(node, what, key, value);
  const [at] = entries[step % entries.length]!;
  const child = (node as Record<string, unknown>)[at];
  if (way.length === 0 && what === "remove") return without(node, at);
  const next = mutate(child, way, what, key, value);
  return Array.isArray(node) ? node.with(Number(at), next) : { ...node, [at]: next };
}

function change(node: object, what: string, key: string, value: unknown): unknown {
  if (what === "replace") return value;
  if (what === "remove") return Array.isArray(node) ? node.slice(1) : without(node, key);
  return Array.isArray(node) ? [...(node as unknown[]), value] : { ...node, [key]: value };
}

function without(node: object, key: string): unknown {
  if (Array.isArray(node)) return (node as unknown[]).filter((_, index) => String(index) !== key);
  return Object.fromEntries(Object.entries(node).filter(([name]) => name !== key));
}
