/**
 * The site of computers that the other tests in this folder use.
 *
 * @module-tag needs/night
 */
import { once } from "node:events";
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";

import { describe, expect, test } from "vitest";

import { createDisk } from "../support/nspawn/disk.ts";
import { createComputer } from "../support/nspawn/nspawn.ts";
import { BOOKWORM, debianRoot, LIMIT_MS } from "../support/nspawn/root.ts";
import { openSite, SITE_ADDRESS, whySkipped } from "../support/nspawn/site.ts";
import { eventually } from "../support/robot/robot.ts";

const support = join(import.meta.dirname, "../support");

describe.skipIf(whySkipped !== "")(`site${whySkipped}`, { timeout: LIMIT_MS }, () => {
  test("test process killed → no process, mount or network device is left", async () => {
    const root = await debianRoot(BOOKWORM);
    const child = spawn(process.execPath, ["--input-type=module", "-"], { stdio: ["pipe", "pipe", "inherit"] });
    child.stdin.end(`
      import { createComputer } from "${support}/nspawn/nspawn.ts";
      import { openSite } from "${support}/nspawn/site.ts";
      const site = await openSite();
      const computer = await createComputer(site, { layers: ["${root}"], hostname: "arm-7", disk: "journaled" });
      await computer.boot();
      console.log(site.process_id);
      setInterval(() => {}, 1000);`);
    const [output] = (await Promise.race([once(child.stdout, "data"), once(child, "exit")])) as [Buffer | number];
    const processId = Number(output.toString());
    expect(child.exitCode).toBeNull();
    const namespaces = await readFile(`/proc/${processId}/mountinfo`, "utf8");
    expect(namespaces).toContain("/run/computers/1");
    child.kill("SIGKILL");
    await eventually(async () => (existsSync(`/proc/${processId}`) ? undefined : true), "the site to be gone");
    expect(await readFile("/proc/mounts", "utf8")).not.toContain("/run/computers");
    expect(await readFile("/proc/net/dev", "utf8")).not.toContain("cable");
  });

  test("computers → reach the site, and nothing else", async () => {
    await using site = await openSite();
    await using computer = await createComputer(site, { layers: [await debianRoot(BOOKWORM)], hostname: "arm-7" });
    await computer.boot();
    const reach = (address: string, limitS = 20) =>
      computer
        .run(`timeout ${limitS} bash -c 'echo >/dev/tcp/${address}/80' 2>&1 || true`)
        .then(({ stdout }) => stdout);
    expect(await reach(SITE_ADDRESS)).toContain("Connection refused");
    expect(await reach("192.0.2.1")).toContain("Network is unreachable");
    await computer.cable("pulled");
    expect(await reach(SITE_ADDRESS, 2)).not.toContain("Connection refused");
  });

  test("power cut → only unsynced data is lost", async () => {
    await using site = await openSite();
    const disk = await createDisk(site, "/run/computers/disk", [await debianRoot(BOOKWORM)], "journaled");
    const { root } = disk;
    await eventually(async () => {
      await site.run(["sh", "-ec", `echo kept >${root}/root/kept; rm -f ${root}/root/lost; sync`]);
      await disk.losePageCache(`echo lost >${root}/root/lost`);
      const { stdout } = await site.run(["ls", `${root}/root`]);
      expect(stdout).toContain("kept");
      // Another program of this machine may call sync(2), which writes all disks.
      return stdout === "kept\n" ? true : undefined;
    }, "a power cut to lose what was not synced");
    await disk.discard();
  });
});
