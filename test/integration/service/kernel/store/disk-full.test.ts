/** @module-tag needs/root */
import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { isRoot } from "../../../../support/programs/programs.ts";
import { startService } from "../../../../support/service/service.ts";

const DIGEST = `sha256:${"0".repeat(64)}`;
const DISK_BYTES = 4 * 1024 * 1024;
/** Large enough that few setups fill the disk. */
const CONTRACT = { text: "x".repeat(64 * 1024) };

/** Whether this process can mount a small disk. */
const canMountHere = isRoot && mounts();

function mounts(): boolean {
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=4k", "none", "/mnt"], { stdio: "ignore" });
    execFileSync("umount", ["/mnt"]);
    return true;
  } catch {
    return false;
  }
}

let disk: string;
beforeEach(async () => {
  disk = await mkdtemp(join(tmpdir(), "disk-full-"));
  if (canMountHere) execFileSync("mount", ["-t", "tmpfs", "-o", `size=${DISK_BYTES}`, "none", disk]);
});
afterEach(async () => {
  if (canMountHere) execFileSync("umount", ["--lazy", disk]);
  await rm(disk, { recursive: true, force: true });
});

describe.skipIf(!canMountHere)("service on SQLite, disk full", () => {
  it("writes → 503 with Retry-After; reads still work; space freed → writes work again", async () => {
    const dataDirectory = join(disk, "data");
    await mkdir(dataDirectory);
    const ballast = join(disk, "ballast");
    await writeFile(ballast, Buffer.alloc(DISK_BYTES / 2));
    await using service = await startService({ dataDirectory });
    const setUp = (name: string, contract?: object) =>
      service.send("POST", "/v1/robots/setup", {
        name,
        robot_type_id: "t",
        region: "x",
        configuration_digest: DIGEST,
        ...(contract === undefined ? {} : { contract }),
      });
    const acknowledged: string[] = [];
    let refused: Response | undefined;
    for (let index = 0; refused === undefined && index < 200; index += 1) {
      const answer = await setUp(`r${index}`, CONTRACT);
      if (answer.status === 200) acknowledged.push(`r${index}`);
      else refused = answer;
    }
    expect(refused?.status).toBe(503);
    expect(refused?.headers.get("retry-after")).toMatch(/^\d+$/);
    expect(await refused?.json()).toMatchObject({ code: "Unavailable" });
    const many = await Promise.all(Array.from({ length: 20 }, (_, index) => setUp(`full${index}`, CONTRACT)));
    expect(new Set(many.map(({ status }) => status))).toEqual(new Set([503]));
    expect((await service.robots()).map(({ name }) => name)).toEqual(acknowledged);
    await rm(ballast);
    expect((await setUp("later", CONTRACT)).status).toBe(200);
    expect((await service.robots()).map(({ name }) => name)).toEqual([...acknowledged, "later"]);
  });
});
