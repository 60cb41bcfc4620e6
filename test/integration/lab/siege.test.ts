/**
 * A short siege: every attack for a second, on SQLite. How long others wait is measured by scripts/lab/siege on a machine that does nothing
 * else; here they must be served at all, and the service must stay within its memory.
 *
 * @module-tag needs/root
 */
import { dirname, join } from "node:path";

import { expect, test } from "vitest";

import { execute } from "../../support/programs/execute.ts";
import { SERVICE_PROGRAM } from "../../support/programs/programs-built.ts";
import { isRoot } from "../../support/programs/programs.ts";
import { PATIENCE_MS } from "../../support/run/patience.ts";

const SCRIPT = join(import.meta.dirname, "../../../scripts/lab/load/siege.ts");
const LIMIT_MS = 5 * PATIENCE_MS;
const MEMORY_MB = 400;

test.runIf(isRoot)(
  "siege: each attack → no request of others fails, memory stays bounded",
  { timeout: LIMIT_MS },
  async () => {
    const argv = ["--seconds", "1", "--json", "--program", join(dirname(SERVICE_PROGRAM), "robot-policy-service.cjs")];
    const { stdout, stderr } = await execute([process.execPath, SCRIPT, ...argv], {
      may_fail: true,
      limitMs: LIMIT_MS,
    });
    const rows: readonly { attack: string; errors: number; memory_mb: number }[] = JSON.parse(stdout || "[]");
    expect(rows.length, stderr).toBeGreaterThanOrEqual(15);
    expect(rows.filter(({ errors, memory_mb: memoryMb }) => errors > 0 || memoryMb > MEMORY_MB)).toEqual([]);
  },
);
