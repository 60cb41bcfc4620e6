/** Calibrations lie in the homes of people. The agent's user may not look there until somebody lets it. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";

import { tellJournals } from "../support/nspawn/journal.ts";
import { PACKAGE } from "../support/nspawn/package.ts";
import { MANIFEST_FILE, ROBOT_FILES, type RobotComputer, UNIT } from "../support/nspawn/robot.ts";
import { BOOKWORM, LIMIT_MS, STEP_BY_STEP } from "../support/nspawn/root.ts";
import { whySkipped } from "../support/nspawn/site.ts";
import { type RobotSite, sharedRobotSite } from "../support/robot/robot-site.ts";

const CALIBRATION = "/home/ada/.cache/huggingface/lerobot/calibration/robots/so_follower/left.json";

describe.skipIf(whySkipped !== "")(
  `a calibration in a home, step by step, systemd ${BOOKWORM.systemd}${whySkipped}`,
  STEP_BY_STEP,
  () => {
    const resources = new AsyncDisposableStack();
    let plant: RobotSite;
    /** Registered; its manifest now names a file of the operator's, 0600 below a home of 0750. */
    let robot: RobotComputer;

    beforeAll(async () => {
      plant = await sharedRobotSite(BOOKWORM);
      // Access lists need a disk that keeps them.
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
      const words = await robot.ask(`sha256sum ${ROBOT_FILES.join(" ")} ${CALIBRATION} | cut -c1-64 | sha256sum`);
      const digest = `sha256:${words.slice(0, 64)}`;
      await robot.until(
        ({ state, registration }) => state === "registered" && registration?.configuration_digest === digest,
      );
      expect(await plant.service.robots()).toContainEqual({ name: "arm-7", configuration_digest: digest });
    }

    test("check names what stands in the way and the command; the last registration stands", async () => {
      const { registration } = await robot.until(({ findings }) => findings.length > 0);
      expect(registration).not.toBeNull();
      const { code, stdout, stderr } = await robot.agent("check");
      expect(code).not.toBe(0);
      expect(stdout + stderr).toContain("/home/ada");
      expect(stdout + stderr).toContain(`${PACKAGE} grant`);
    });

    test("grant lets it in, also to what a calibration tool puts in the file's place; revoke shuts it out again", async () => {
      const former = await robot.ask("getfacl --recursive --absolute-names /home/ada");
      await robot.run(`${PACKAGE} grant`);
      await expectOnDisk();
      await asOperator(`umask 022; echo "{}" >${CALIBRATION}.new; mv ${CALIBRATION}.new ${CALIBRATION}`);
      await expectOnDisk();
      await asOperator(`echo "[2]" >${CALIBRATION}`);
      await expectOnDisk();
      // Nobody else was let in.
      expect(
        await robot.run(`setpriv --reuid=nobody --clear-groups cat ${CALIBRATION}`, { may_fail: true }),
      ).toMatchObject({ code: 1 });
      await robot.run(`${PACKAGE} grant --revoke`);
      await asOperator(`umask 077; echo '{"offset": 1}' >${CALIBRATION}.new; mv ${CALIBRATION}.new ${CALIBRATION}`);
      expect(await robot.ask("getfacl --recursive --absolute-names /home/ada")).toBe(former);
    });

    test("grant of a file in the home itself opens that file, and nothing that is made there later", async () => {
      await asOperator("umask 077; echo 1 >~ada/arm.yaml");
      const { stderr } = await robot.run(`${PACKAGE} grant ~ada/arm.yaml`);
      expect(stderr).toContain("/home/ada also holds unrelated files");
      await asOperator("umask 022; echo 2 >~ada/arm.yaml; echo 2 >~ada/notes; umask 077; echo 2 >~ada/secret");
      const asAgent = (script: string) =>
        robot.run(`setpriv --reuid=${PACKAGE} --clear-groups sh -c '${script}'`, { may_fail: true });
      expect((await asAgent("cat ~ada/arm.yaml")).stdout).toBe("2\n");
      expect((await asAgent("cat ~ada/secret")).code).not.toBe(0);
      expect(await robot.ask("stat -c %A ~ada/notes ~ada/secret")).toBe("-rw-r--r--\n-rw-------");
      await robot.run(`${PACKAGE} grant --revoke`);
    });

    test("grant --method owner: a tool that lets nobody else read, ever, is no obstacle", async () => {
      // All of them belong to one user, whom the agent can be.
      await robot.run(`${PACKAGE} grant --method owner`);
      expect(await robot.ask(`ps -o user= -p $(systemctl show --value -p MainPID ${UNIT})`)).toBe("ada");
      await expectOnDisk();
      await asOperator(`umask 077; echo "[3]" >${CALIBRATION}.new; mv ${CALIBRATION}.new ${CALIBRATION}`);
      await expectOnDisk();
      await robot.run(`${PACKAGE} grant --revoke`);
    });

    test("a purge takes the grant back: nothing of it is on the files, nor on those that are made from then on", async () => {
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
