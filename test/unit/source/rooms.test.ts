import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";

import { describe, expect, test } from "vitest";

import { refusalOf } from "../../../scripts/lint/rooms.ts";

const ROOT = join(import.meta.dirname, "../../..");

describe("refusalOf: which folder may import which", () => {
  test.each([
    ["agent/agent.ts", "client/client.ts"],
    ["agent/commands/check.ts", "agent/agent.ts"],
    ["agent.ts", "cli/run-program.ts"],
    ["agent/commands/table.ts", "installer/installer.ts"],
    ["operator/program.ts", "cli/run-program.ts"],
    ["service/robots/setup.ts", "service/kernel/store/store.ts"],
    ["service/robots/setup.ts", "service/fleets/index.ts"],
    ["service/robots/setup.ts", "service/robots/changes.ts"],
    ["service/assembly.ts", "service/robots/changes.ts"],
    ["service/commands/serve.ts", "console/server/console.ts"],
    ["console/server/console.ts", "service/console-door.ts"],
    ["console/browser/robots/robots.tsx", "console/sections.ts"],
  ])("%s → %s: allowed", (from, to) => {
    expect(refusalOf(from, to)).toBeNull();
  });

  test.each([
    ["api/api.ts", "platform/clock.ts", "api imports only itself"],
    ["client/client.ts", "manifest/manifest.ts", "client imports only itself, api, platform"],
    ["agent/agent.ts", "service/service.ts", /^agent imports only/],
    ["cli/terminal.ts", "operator/operator.ts", /^cli imports only/],
    ["new-room/file.ts", "api/api.ts", /no room/],
    ["service/new-resource/file.ts", "service/robots/changes.ts", /index\.ts/],
    ["service/new-resource/deep/file.ts", "service/robots/history.ts", /index\.ts/],
    ["service/kernel/http/mount.ts", "service/new-resource/index.ts", "the kernel imports no resource"],
    ["service/robots/changes.ts", "service/assembly.ts", /puts the service together/],
    ["service/robots/changes.ts", "console/server/console.ts", /^service imports only/],
    ["console/server/console.ts", "service/robots/index.ts", /^console imports only/],
    ["console/browser/console.tsx", "console/server/console.ts", /page/],
  ])("%s → %s: refused", (from, to, why) => {
    expect(refusalOf(from, to)).toMatch(why);
  });
});

test("lint of a forbidden import in a folder that is listed nowhere → refused", async () => {
  const folder = await mkdtemp(join(tmpdir(), "rooms-"));
  await using _ = { [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) };
  await cp(join(ROOT, ".oxlintrc.json"), join(folder, ".oxlintrc.json"));
  await cp(join(ROOT, "scripts/lint"), join(folder, "scripts/lint"), { recursive: true });
  const planted = join(folder, "src/service/new-resource/file.ts");
  await mkdir(dirname(planted), { recursive: true });
  await writeFile(planted, 'export { rename } from "../robots/changes.ts";\n');
  const linter = join(ROOT, "node_modules/oxlint/bin/oxlint");
  const linted = promisify(execFile)(process.execPath, [linter, "src"], { cwd: folder });
  await expect(linted).rejects.toMatchObject({
    stdout: expect.stringContaining("a resource uses of another what its index.ts lists"),
  });
});
