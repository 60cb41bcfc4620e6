import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";

import { onTestFinished } from "vitest";

import { memoryFolder } from "./memory.ts";

/** A folder that is removed when the current test ends. */
export function testFolder(name: string): string {
  const folder = mkdtempSync(join(memoryFolder, `${name}-`));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
