import { readdirSync, readFileSync } from "node:fs";

import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parse, stringify } from "yaml";

import { diffContracts } from "../../../../src/differences/contract.ts";
import { robotContractSchema } from "../../../../src/api/contract.ts";
import { type Contract, contractText } from "../../../../src/manifest/custom/contract.ts";
import { readManifest } from "../../../../src/manifest/manifest.ts";
import { times } from "../../../support/run/tier.ts";

const RUNS = times(300, 10_000);
/** Takes about twenty seconds of CPU time, and several times that on a busy machine. */
const LIMIT_MS = 480_000;

type Data = { readonly [key: string]: unknown };

const FOLDER = new URL("../../../golden/robot-manifest/examples/", import.meta.url);
const EXAMPLES = readdirSync(FOLDER)
  .filter((name) => name.endsWith(".contract.json"))
  .map((name) => parse(readFileSync(new URL(name.replace("contract.json", "yaml"), FOLDER), "utf8")) as Data);
const example = fc.constantFrom(...EXAMPLES);

describe("contracts of the examples", () => {
  test("readManifest: equal robots, written differently → equal contract bytes", { timeout: LIMIT_MS }, async () => {
    const numbers = fc.infiniteStream(fc.double({ min: 0, max: 0.999, noNaN: true }));
    await fc.assert(
      fc.asyncProperty(example, numbers, async (manifest, random) => {
        const expected = await contractOf(JSON.stringify(manifest));
        const shuffled = shuffleKeys(manifest, () => random.next().value as number) as Data;
        expect(await contractOf(stringify(shuffled))).toBe(expected);
        const defaults = { schema: "robot-manifest/v1", status: "ready", "x-note": ["ignored", { deep: null }] };
        expect(await contractOf(commented(stringify({ ...defaults, ...shuffled })))).toBe(expected);
      }),
      { numRuns: RUNS / 3 },
    );
  });

  test("readManifest: any mutation → a contract that the service takes, or errors", { timeout: LIMIT_MS }, async () => {
    const counts = { contract: 0, error: 0 };
    await fc.assert(
      fc.asyncProperty(example, fc.array(mutation, { minLength: 1, maxLength: 3 }), async (manifest, mutations) => {
        const mutated = mutations.reduce<unknown>((value, change) => change(value), manifest);
        const { findings, value } = await readManifest(Buffer.from(JSON.stringify(mutated)));
        const hasError = findings.some(({ severity }) => severity === "error");
        if (hasError) expect(value).toBeNull();
        counts[hasError ? "error" : "contract"] += 1;
        if (!value?.contract) return;
        expect(robotContractSchema.safeParse(value.contract).error).toBeUndefined();
        const original = JSON.parse(await contractOf(JSON.stringify(manifest))) as Contract;
        const isSame = contractText(original) === contractText(value.contract);
        expect(diffContracts(original, value.contract).length === 0).toBe(isSame);
      }),
      { numRuns: RUNS },
    );
    // Both outcomes occurred.
    expect(counts.contract).toBeGreaterThan(RUNS / 20);
    expect(counts.error).toBeGreaterThan(RUNS / 4);
  });
});

async function contractOf(text: string): Promise<string> {
  const { findings, value } = await readManifest(Buffer.from(text));
  expect(findings.filter(({ severity }) => severity === "error")).toEqual([]);
  if (!value?.contract) throw new Error(`No contract: ${text}`);
  return contractText(value.contract);
}

function commented(text: string): string {
  return `# robot\r\n${text.replaceAll("\n", " # why\r\n")}`;
}

/** The same data with the keys of every mapping in another order. */
function shuffleKeys(value: unknown, random: () => number): unknown {
  if (Array.isArray(value)) return value.map((item) => shuffleKeys(item, random));
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([key, member]) => ({ key, member, at: random() }));
  const shuffled = entries.toSorted((a, b) => a.at - b.at);
  return Object.fromEntries(shuffled.map(({ key, member }) => [key, shuffleKeys(member, random)]));
}

const NUMBERS = [0, -1, 1, 2, 90, 0.5, 0.25, 1e7, 1e-9];
const LISTS = [[], {}, [1], [[1, 0]], { position: [] }, { closed: 1, open: 1 }, { closed: 5, open: 0 }];
const WORDS =
  "x left right position velocity none rad deg mm percent arm gripper eef base lerobot.so101-follower.v1".split(" ");
const VALUES = fc.constantFrom<unknown>(null, true, "", ...NUMBERS, ...LISTS, ...WORDS);
const KEYS = fc.constantFrom(
  ..."name kind side elements unit angle_unit zero state action limits aperture normalized frame rotation".split(" "),
  ..."extends topology action_semantics gripper control_rate_hz groups cameras role mount".split(" "),
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
