/** @module-tag needs/root */
import { chmod, chown, lchown, mkdir, rename, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { beforeEach, describe, expect, test } from "vitest";

import { OpenEntries } from "../../../src/access/open-path.ts";
import { planOwner } from "../../../src/installer/grant/owner.ts";
import { applyLists, planLists } from "../../../src/installer/grant/lists.ts";
import { EMPTY_RECORD } from "../../../src/installer/grant/record.ts";
import { type RunProgram, systemPrograms } from "../../../src/platform/programs.ts";
import {
  AGENT,
  AGENT_ID,
  ANN_ID,
  as,
  BEN_ID,
  calibrations,
  canGrant,
  canRead,
  file,
  folder,
  machine,
  prepareHome,
  run,
  runGrant,
} from "./grant-home.ts";

beforeEach(prepareHome);

/** The user database of the machine does not know Ann. */
const knowsAnn: RunProgram = async (argv, options) =>
  argv[0] === "id"
    ? { kind: "ended", exitCode: 0, stdout: `uid=${ANN_ID}(ann) gid=${ANN_ID}(ann)\n`, stderr: "" }
    : systemPrograms(argv, options);

describe.skipIf(!canGrant)("grant on files of a hostile owner (needs root, setfacl and setpriv)", () => {
  /** A file of root in a folder of root. @returns the folder. */
  async function secretOfRoot(): Promise<string> {
    const secret = join(folder, "secret");
    await mkdir(secret, { mode: 0o700 });
    await writeFile(join(secret, "arm.json"), "root's", { mode: 0o600 });
    return secret;
  }

  test("folder links to root's files → refused, nothing becomes readable", async () => {
    const secret = await secretOfRoot();
    as(ANN_ID, `mv "$2" "$2.old"; ln -s '${secret}' "$2"`);
    const { code, output } = await runGrant();
    expect(code).toBe(1);
    expect(output).toContain(`user ${ANN_ID} leads to`);
    expect(canRead(AGENT_ID, join(secret, "arm.json"))).toBe(false);
    expect(run("getfacl", "-cpn", secret)).not.toContain(String(AGENT_ID));
  });

  test("another user's link to the file → refused", async () => {
    const link = join(folder, "arm.json");
    await symlink(file, link);
    await lchown(link, BEN_ID, BEN_ID);
    const { code, output } = await runGrant({}, [link]);
    expect([code, output]).toEqual([1, expect.stringContaining(`goes through entries of user ${BEN_ID}`)]);
    expect(canRead(AGENT_ID)).toBe(false);
  });

  test("folder becomes a link between check and change → the checked folder is changed", async () => {
    const secret = await secretOfRoot();
    await using opened = new OpenEntries();
    const { steps } = await planLists(machine.runProgram, AGENT, [file], EMPTY_RECORD, opened);
    await rename(calibrations, `${calibrations}.old`);
    await symlink(secret, calibrations);
    expect(await applyLists(machine, AGENT, steps, EMPTY_RECORD, join(folder, "record"))).toBeNull();
    expect(run("getfacl", "-cpnR", secret)).not.toContain(String(AGENT_ID));
    expect(canRead(AGENT_ID, `${calibrations}.old/arm.json`)).toBe(true);
  });

  test("key in a folder that a user can write to → keeps its owner", async () => {
    const folderOfRoot = await secretOfRoot();
    const key = join(folderOfRoot, "arm.json");
    await chown(key, AGENT_ID, AGENT_ID);
    const plan = (keyFile: string) =>
      planOwner({ ...machine, runProgram: knowsAnn }, AGENT, [file], keyFile, EMPTY_RECORD);
    expect(await plan(key)).toMatchObject({ grant: { key: { path: key, to_user_id: ANN_ID } } });
    as(ANN_ID, `ln -sf '${key}' "$1.link"`);
    expect(await plan(`${file}.link`)).toMatchObject({ grant: { key: null } });
    await chmod(folderOfRoot, 0o777);
    expect(await plan(key)).toMatchObject({ grant: { key: null } });
  });

  test.each([
    ["everybody can write to", async () => chmod(calibrations, 0o777), "any user can replace entries of"],
    [
      "belongs to another user",
      async () => chown(calibrations, BEN_ID, BEN_ID),
      `to CAL, which belongs to user ${BEN_ID}`,
    ],
    [
      "another user can write to by an access list",
      async () => void run("setfacl", "-m", `u:${BEN_ID}:rwx`, calibrations),
      `u:${BEN_ID} can replace entries of`,
    ],
    [
      "a shared group can write to",
      async () => {
        // Group 1 has other members, such as `daemon`.
        await chown(calibrations, ANN_ID, 1);
        await chmod(calibrations, 0o770);
      },
      "group 1 can replace entries of",
    ],
    [
      "a group of a directory service can write to",
      async () => {
        await chown(calibrations, ANN_ID, 50_000);
        await chmod(calibrations, 0o770);
      },
      "group 50000 can replace entries of",
    ],
  ])("folder that %s → refused", async (_what, prepare, reason) => {
    await prepare();
    const { code, output } = await runGrant();
    expect(code).toBe(1);
    expect(output.replace("/ann/.cache/calibration, which", "CAL, which")).toContain(reason);
    expect(canRead(AGENT_ID)).toBe(false);
  });

  test("folder that the group of its owner alone can write to → granted", async () => {
    run("chown", "-R", "games:games", join(folder, "ann"));
    await chmod(calibrations, 0o770);
    expect((await runGrant()).code).toBe(0);
    expect(canRead(AGENT_ID)).toBe(true);
  });

  test("folder of root in which a user can swap entries → refused", async () => {
    const secret = await secretOfRoot();
    await chmod(folder, 0o755);
    run("setfacl", "-m", `u:${ANN_ID}:rwx`, folder);
    const { code, output } = await runGrant({}, [join(secret, "arm.json")]);
    expect([code, output]).toEqual([1, expect.stringContaining(`u:${ANN_ID} can replace entries of`)]);
    expect(canRead(AGENT_ID, join(secret, "arm.json"))).toBe(false);
  });

  test("FIFO, loop of links or missing file → reported, nothing hangs", async () => {
    as(ANN_ID, `rm "$1"; mkfifo "$1"`);
    expect((await runGrant()).output).toContain("not a regular file");
    as(ANN_ID, `rm "$1"; ln -s "$1" "$1"`);
    expect((await runGrant()).output).toContain("ELOOP");
    as(ANN_ID, `rm "$1"`);
    expect((await runGrant()).output).toContain("does not exist");
  });
});
