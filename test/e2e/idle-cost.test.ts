/**
 * What the agent costs a robot at rest: as a service, and by the timer, beside a Node that does nothing. Prints the figures of an hour.
 *
 * @module-tag needs/machine
 * @module-tag needs/night
 */
import { setTimeout as sleep } from "node:timers/promises";

import { expect, test } from "vitest";

import { debianPackage, PACKAGE } from "../support/nspawn/package.ts";
import { createRobotComputer, installPackage, provision, type RobotComputer, UNIT } from "../support/nspawn/robot.ts";
import { BOOKWORM, debianRoot } from "../support/nspawn/root.ts";
import { startSiteService } from "../support/nspawn/service.ts";
import { openSite, whySkipped } from "../support/nspawn/site.ts";

const TIMER = `${PACKAGE}.timer`;
const LOOK = `${PACKAGE}-look.service`;
const MEASURED_MS = 300_000;
const PER_HOUR = 3_600_000 / MEASURED_MS;

interface Cost {
  readonly cpuMs: number;
  readonly switches: number;
}

const NOTHING: Cost = { cpuMs: 0, switches: 0 };

/** Of a process that goes on, since its start. */
async function costOf(robot: RobotComputer, processId: string): Promise<Cost> {
  const text = await robot.ask(
    `cd /proc/${processId}/task && cat */schedstat | awk '{ s += $1 } END { print int(s / 1e6) }' &&
     cat */status | awk '/ctxt_switches/ { s += $2 } END { print s }'`,
  );
  const [cpuMs = 0, switches = 0] = text.split("\n").map(Number);
  return { cpuMs, switches };
}

const residentMb = async (robot: RobotComputer, processId: string) =>
  Number(await robot.ask(`awk '/^VmRSS:/ { print int($2 / 1024) }' /proc/${processId}/status`));

test.skipIf(whySkipped !== "")(`an hour at rest${whySkipped}`, { timeout: 3 * MEASURED_MS + 600_000 }, async () => {
  await using site = await openSite();
  await using service = await startSiteService(site);
  const deb = await debianPackage();
  await using robot = await createRobotComputer(site, {
    layers: [await debianRoot(BOOKWORM), deb.layer],
    hostname: "arm-7",
  });
  await robot.boot();
  await installPackage(robot, deb);
  await provision(robot, service);
  const bare = `/usr/lib/${PACKAGE}/node -e 'setInterval(() => {}, 2 ** 30)'`;
  await robot.run(`systemctl start ${UNIT}; systemd-run --unit=bare ${bare}`);
  await robot.until(({ state }) => state === "registered");
  await sleep(30_000);

  const processes = [
    ["bare Node", await robot.ask("systemctl show --value -p MainPID bare")],
    ["service", await robot.show("MainPID")],
  ] as const;
  const costs = () => Promise.all(processes.map(([, processId]) => costOf(robot, processId)));
  const before = await costs();
  await sleep(MEASURED_MS);
  const after = await costs();
  const rows: string[] = [];
  for (const [index, [name, processId]] of processes.entries()) {
    const [from = NOTHING, to = NOTHING] = [before[index], after[index]];
    const cpuS = (((to.cpuMs - from.cpuMs) * PER_HOUR) / 1000).toFixed(2);
    const switches = (to.switches - from.switches) * PER_HOUR;
    rows.push(
      `${name}: ${await residentMb(robot, processId)} MB, ${cpuS} s of a processor, ${switches} context switches`,
    );
  }

  await robot.run(
    `mkdir -p /run/systemd/system/${LOOK}.d && printf '[Service]\\nSlice=measured.slice\\n' >/run/systemd/system/${LOOK}.d/slice.conf
       systemctl daemon-reload; systemctl disable --now ${UNIT}; systemctl enable --now ${TIMER}; systemctl start ${LOOK}`,
  );
  await sleep(70_000);
  const used = async () =>
    Number(await robot.ask("awk '/^usage_usec/ { print $2 }' $(find /sys/fs/cgroup -path '*measured.slice/cpu.stat')"));
  const lastLook = () => robot.ask(`systemctl show --value -p ExecMainStartTimestampMonotonic ${LOOK}`);
  const manager = async () => (await costOf(robot, "1")).cpuMs;
  const [usedBefore, managerBefore, started] = [await used(), await manager(), await lastLook()];
  await sleep(MEASURED_MS);
  const looks = Math.round((Number(await lastLook()) - Number(started)) / 60e6);
  const cpuS = (((await used()) - usedBefore) / 1e6 / looks) * 60;
  const managerS = (((await manager()) - managerBefore) * PER_HOUR) / 1000;
  rows.push(
    `timer: 0 MB, ${cpuS.toFixed(2)} s of a processor in looks (${looks} measured), ${managerS.toFixed(2)} s of systemd`,
  );
  console.log(rows.join("\n"));
  expect(looks).toBeGreaterThanOrEqual(4);
  expect(await robot.ask(`pgrep -u ${PACKAGE} | wc -l`)).toBe("0");
});
