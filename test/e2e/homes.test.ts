/**
 * Calibrations in home folders, which the agent's user may not read until access is granted.
 *
 * @module-tag needs/machine
 */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";

import { pageBlock, rootScript } from "../support/documents/blocks.ts";
import { tellJournals } from "../support/nspawn/journal.ts";
import { PACKAGE } from "../support/nspawn/package.ts";
import { MANIFEST_FILE, ROBOT_FILES, type RobotComputer, UNIT } from "../support/nspawn/robot.ts";
import { BOOKWORM, LIMIT_MS, STEP_BY_STEP } from "../support/nspawn/root.ts";
import { whySkipped } from "../support/nspawn/site.ts";
import { type RobotSite, sharedRobotSite } from "../support/robot/robot-site.ts";

const CALIBRATION = "/home/ada/.cache/huggingface/lerobot/calibration/robots/so_follower/left.json";

describe.skipIf(whySkipped !== "")(
  `calibration in a home folder, step by step, systemd ${BOOKWORM.systemd}${whySkipped}`,
  STEP_BY_STEP,
  () => {
    const resources = new AsyncDisposableStack();
    let plant: RobotSite;
    /** A registered robot whose manifest names a file of the operator with mode 0600, in a home of 0750. */
    let robot: RobotComputer;

    beforeAll(async () => {
      plant = await sharedRobotSite(BOOKWORM);
      // The disk must store access control lists.
      robot = resources.use(await plant.registered({ disk: "journaled" }));
      await robot.boot();
      await robot.run(`useradd --create-home --key HOME_MODE=0750 ada`);
      await asOperator(`umask 077; mkdir -p $(dirname ${CALIBRATION}); echo '{"offset": 1}' >${CALIBRATION}`);
      await robot.run(`echo '  - ${CALIBRATION}' >>${MANIFEST_FILE}`);
    }, LIMIT_MS);

    afterEach(tellJournals);
    afterAll(() => resources.disposeAsync());

    const asOperator = (script: string) =>
      robot.run("setpriv --reuid=ada --regid=ada --clear-groups sh -e", { input: script });

    async function expectOnDisk(): Promise<void> {
      const output = await robot.ask(`sha256sum ${ROBOT_FILES.join(" ")} ${CALIBRATION} | cut -c1-64 | sha256sum`);
      const digest = `sha256:${output.slice(0, 64)}`;
      await robot.until(
        ({ state, registration }) => state === "registered" && registration?.configuration_digest === digest,
      );
      expect(await plant.service.robots()).toContainEqual({ name: "arm-7", configuration_digest: digest });
    }

    test("check → names the obstacle and the command; the last registration stays", async () => {
      const { registration } = await robot.until(({ findings }) => findings.length > 0);
      expect(registration).not.toBeNull();
      const { code, stdout, stderr } = await robot.agent("check");
      expect(code).not.toBe(0);
      expect(stdout + stderr).toContain("/home/ada");
      expect(stdout + stderr).toContain(`${PACKAGE} grant`);
    });

    test("grant → reads the file, even if a tool replaces it; grant --revoke → removes all access", async () => {
      const former = await robot.ask("getfacl --recursive --absolute-names /home/ada");
      await robot.run(rootScript(await pageBlock("systemd/README.md: sudo robot-policy-agent grant --dry-run")));
      await expectOnDisk();
      await asOperator(`umask 022; echo "{}" >${CALIBRATION}.new; mv ${CALIBRATION}.new ${CALIBRATION}`);
      await expectOnDisk();
      await asOperator(`echo "[2]" >${CALIBRATION}`);
      await expectOnDisk();
      // No other user got access.
      expect(
        await robot.run(`setpriv --reuid=nobody --clear-groups cat ${CALIBRATION}`, { may_fail: true }),
      ).toMatchObject({ code: 1 });
      await robot.run(`${PACKAGE} grant --revoke`);
      await asOperator(`umask 077; echo '{"offset": 1}' >${CALIBRATION}.new; mv ${CALIBRATION}.new ${CALIBRATION}`);
      expect(await robot.ask("getfacl --recursive --absolute-names /home/ada")).toBe(former);
    });

    test("grant of a file directly in the home → access to that file only, not to later files", async () => {
      await asOperator("umask 077; echo 1 >~ada/arm.yaml");
      await robot.run(`sed -i '$s|.*|  - /home/ada/arm.yaml|' ${MANIFEST_FILE}`);
      const { stderr } = await robot.run(`${PACKAGE} grant`);
      expect(stderr).toContain("/home/ada also holds unrelated files");
      await asOperator("umask 022; echo 2 >~ada/arm.yaml; echo 2 >~ada/notes; umask 077; echo 2 >~ada/secret");
      const asAgent = (script: string) =>
        robot.run(`setpriv --reuid=${PACKAGE} --clear-groups sh -c '${script}'`, { may_fail: true });
      expect((await asAgent("cat ~ada/arm.yaml")).stdout).toBe("2\n");
      expect((await asAgent("cat ~ada/secret")).code).not.toBe(0);
      expect(await robot.ask("stat -c %A ~ada/notes ~ada/secret")).toBe("-rw-r--r--\n-rw-------");
      await robot.run(`${PACKAGE} grant --revoke`);
      await robot.run(`sed -i '$s|.*|  - ${CALIBRATION}|' ${MANIFEST_FILE}`);
    });

    test("grant --method owner → reads the file, even if a tool always makes it private", async () => {
      // All files belong to one user, so the agent can run as that user.
      await robot.run(`${PACKAGE} grant --method owner`);
      expect(await robot.ask(`ps -o user= -p $(systemctl show --value -p MainPID ${UNIT})`)).toBe("ada");
      await expectOnDisk();
      await asOperator(`umask 077; echo "[3]" >${CALIBRATION}.new; mv ${CALIBRATION}.new ${CALIBRATION}`);
      await expectOnDisk();
      await robot.run(`${PACKAGE} grant --revoke`);
    });

    test("files of a group, and the drop-in of the page → the agent reads them", async () => {
      const dropIn = await pageBlock(
        "systemd/README.md: # sudo systemctl edit robot-policy-agent; then: sudo systemctl restart robot-policy-agent",
      );
      await robot.run(`groupadd lab; mkdir -m 750 /srv/lab; echo 1 >/srv/lab/arm.yaml; chmod 640 /srv/lab/arm.yaml
        chgrp -R lab /srv/lab; sed -i '$s|.*|  - /srv/lab/arm.yaml|' ${MANIFEST_FILE}`);
      await robot.until(({ findings }) => findings.length > 0);
      await robot.write(`/etc/systemd/system/${UNIT}.d/override.conf`, dropIn.text);
      await robot.run(`systemctl daemon-reload; systemctl restart ${UNIT}`);
      await robot.until(({ state, findings }) => state === "registered" && findings.length === 0);
      await robot.run(`rm /etc/systemd/system/${UNIT}.d/override.conf; systemctl daemon-reload
        sed -i '$s|.*|  - ${CALIBRATION}|' ${MANIFEST_FILE}; systemctl restart ${UNIT}`);
    });

    test("purge → no access control entries left, and none on new files", async () => {
      await robot.run(`${PACKAGE} grant`);
      await asOperator(`umask 022; echo 1 >$(dirname ${CALIBRATION})/right.json`);
      const user = await robot.ask(`id -u ${PACKAGE}`);
      await robot.run(`dpkg --purge ${PACKAGE}`);
      await asOperator(`umask 022; echo 1 >$(dirname ${CALIBRATION})/new.json`);
      expect(await robot.ask(`stat -c %a $(dirname ${CALIBRATION})/new.json`)).toBe("644");
      expect(await robot.ask(`getfacl --recursive --numeric --absolute-names /home/ada`)).not.toMatch(
        new RegExp(`user:${user}:|^default:`, "m"),
      );
    });
  },
);
