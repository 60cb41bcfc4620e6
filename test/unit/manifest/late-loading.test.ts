import { execFile } from "node:child_process";
import { promisify } from "node:util";

import { expect, test } from "vitest";

const SRC = new URL("../../../src/", import.meta.url).href;

/** Modules for custom robot types that a program loads. */
async function loaded(program: string): Promise<readonly string[]> {
  const script = `
    const { registerHooks } = await import("node:module");
    const urls = [];
    registerHooks({ load(url, context, next) { urls.push(url); return next(url, context); } });
    const { readManifest } = await import("${SRC}manifest/manifest.ts");
    const { READY_CATALOG } = await import("${SRC}manifest/catalog/ids.ts");
    ${program}
    console.log(JSON.stringify(urls.filter((url) => /custom\\/|catalog\\/rows|canonicalize|api\\/contract/.test(url))));
  `;
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", script]);
  return JSON.parse(stdout) as readonly string[];
}

const read = (text: string) => `await readManifest(Buffer.from(${JSON.stringify(text)}));`;

test("daemon with a catalog type → the code for custom types is not loaded", async () => {
  const byId = read("robot_type_id: yam.bimanual-joint-position.v1\nconfiguration_files: [/a]\n");
  expect(await loaded(`await import("${SRC}agent/commands/run.ts"); ${byId}`)).toEqual([]);
  // Control: a program that needs the code loads it.
  const custom = await loaded(read("robot_type_id: a.b.v1\nextends: ur.ur5e-2f85.v1\n"));
  expect(custom).toContain(`${SRC}manifest/catalog/rows.ts`);
  // Only services validate contracts by the schema; programs that create a contract or read an answer do not load it.
  const answers = await loaded(`await import("${SRC}api/robot-views.ts");`);
  expect([...custom, ...answers]).not.toContain(`${SRC}api/contract.ts`);
  expect(await loaded(`await import("${SRC}api/robots.ts");`)).toContain(`${SRC}api/contract.ts`);
});
