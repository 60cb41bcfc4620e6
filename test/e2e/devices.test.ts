/**
 * The units see which devices a robot has, and can open none of them, whatever their modes.
 *
 * @module-tag needs/machine
 */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";

import { tellJournals } from "../support/nspawn/journal.ts";
import { type Computer, createComputer } from "../support/nspawn/nspawn.ts";
import { debianPackage, PACKAGE } from "../support/nspawn/package.ts";
import { installPackage } from "../support/nspawn/robot.ts";
import { debianRoot, LIMIT_MS, RELEASES } from "../support/nspawn/root.ts";
import { openSite, whySkipped } from "../support/nspawn/site.ts";
import { execute } from "../support/programs/execute.ts";

/** Devices of a robot: kind, major and minor number of the kernel's list, all of them open to everybody. */
const DEVICES = { video0: "c 81 0", ttyUSB0: "c 188 0", ttyACM0: "c 166 0", sda: "b 8 0", loop0: "b 7 0" } as const;
const PATHS = Object.keys(DEVICES).map((name) => `/dev/${name}`);
const SHARED = "/dev/shm/camera-frames";

/** What is tried in a unit, and by its user outside of it. The exit code of dd(1) says nothing of the reason. */
const PROBE = `export LC_ALL=C
for path in ${PATHS.join(" ")} ${SHARED}; do
  echo "$path $(stat -c %F "$path" 2>&1 >/dev/null | sed 's/.*: //' | grep . || echo seen)"
  echo "$path $(dd if="$path" of=/dev/null count=0 2>&1 | sed -n 's/.*failed to open.*: //p' | grep . || echo opened)"
done
echo "/sys $(cat /sys/class/net/lo/address)"
echo "null $(head -c 1 /dev/urandom | wc -c)"
touch /dev/mine 2>&1 | sed 's/.*: //'
`;

describe.skipIf(whySkipped !== "").each(RELEASES)(
  `devices under $suite, systemd $systemd${whySkipped}`,
  { timeout: LIMIT_MS },
  (release) => {
    const resources = new AsyncDisposableStack();
    let robot: Computer;
    let isControlled = false;

    beforeAll(async () => {
      const deb = await debianPackage();
      const layers = [await debianRoot(release), deb.layer];
      const site = resources.use(await openSite());
      robot = resources.use(await createComputer(site, { layers, hostname: "arm-7" }));
      await robot.boot();
      await installPackage(robot, deb);
      await robot.takeControlGroups();
      for (const [name, numbers] of Object.entries(DEVICES)) {
        await execute(["sh", "-ec", `rm -f "$0"; mknod -m 666 "$0" ${numbers}`, robot.live(`/dev/${name}`)]);
      }
      await robot.run(`echo frame >${SHARED}; chmod 666 ${SHARED}`);
      await robot.write("/usr/local/lib/probe.sh", PROBE);
      const closed = "systemd-run --quiet --wait --pipe --property=DevicePolicy=closed";
      isControlled = (await robot.run(`${closed} dd if=/dev/loop0 count=0`, { may_fail: true })).code !== 0;
    }, LIMIT_MS);

    afterEach(tellJournals);
    afterAll(() => resources.disposeAsync());

    /** The lines of the probe in a unit with all settings of this one. */
    async function probeIn(unit: string): Promise<readonly string[]> {
      const probe = "probe.service";
      await robot.run(`cp /usr/lib/systemd/system/${unit} /run/systemd/system/${probe}`);
      const settings = ["Type=oneshot", "Restart=no", "WatchdogSec=0", "ExecStartPre=", "ExecStart="].concat(
        `ExecStart=/bin/sh -c 'exec sh /usr/local/lib/probe.sh >"$STATE_DIRECTORY/probe" 2>&1'`,
      );
      const dropIn = ["[Unit]", "ConditionPathExists=", "[Service]", ...settings, ""].join("\n");
      await robot.write(`/run/systemd/system/${probe}.d/probe.conf`, dropIn);
      await robot.run(`systemctl daemon-reload; systemctl start ${probe}`);
      return (await robot.ask(`cat /var/lib/${PACKAGE}/probe; rm /var/lib/${PACKAGE}/probe`)).split("\n");
    }

    test("the agent's user outside of its units → nothing but the modes stands in its way", async () => {
      const lines = (await robot.ask(`setpriv --reuid=${PACKAGE} --clear-groups sh /usr/local/lib/probe.sh`)).split(
        "\n",
      );
      for (const path of PATHS) expect(lines).not.toContain(`${path} Operation not permitted`);
      expect(lines).toContain(`${SHARED} opened`);
    });

    test.each([`${PACKAGE}.service`, `${PACKAGE}-setup.service`, `${PACKAGE}-look.service`])(
      "%s → sees names and /sys, opens no camera, serial port or disk, and no shared memory of others",
      async (unit) => {
        const lines = await probeIn(unit);
        for (const path of PATHS) expect(lines).toContain(`${path} seen`);
        expect(lines).toContain("/sys 00:00:00:00:00:00");
        expect(lines).toContain("null 1");
        expect(lines.at(-1)).toBe("Permission denied");
        expect(lines).not.toContain(`${SHARED} seen`);
        expect(lines).toContain(`${SHARED} Permission denied`);
        // A container without control of devices shows only the rest.
        for (const path of isControlled ? PATHS : []) expect(lines).toContain(`${path} Operation not permitted`);
      },
    );

    test("this machine controls devices", ({ skip }) => {
      skip(!isControlled, "systemd-nspawn gives no control of devices here");
      expect(isControlled).toBe(true);
    });
  },
);
