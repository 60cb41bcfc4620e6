/**
 * `grant` with real users and access lists, and with the ways in which calibration tools rewrite files.
 *
 * @module-tag needs/root
 */
import { chmod, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { beforeEach, describe, expect, test } from "vitest";

import { OpenEntries } from "../../../src/access/open-path.ts";
import { applyLists, planLists } from "../../../src/installer/grant/lists.ts";
import { EMPTY_RECORD, lockGrantRecord, readGrantRecord } from "../../../src/installer/grant/record.ts";
import { revokeGrant } from "../../../src/installer/grant/revoke.ts";
import { systemFiles } from "../../../src/platform/files/files.ts";
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
  home,
  accessLists,
  machine,
  prepareHome,
  run,
  runGrant,
} from "./grant-home.ts";

beforeEach(prepareHome);

describe.skipIf(!canGrant)("grant (needs root, setfacl and setpriv)", () => {
  test("--dry-run → shows every change, makes none", async () => {
    const before = accessLists();
    const { code, output } = await runGrant({ dryRun: true });
    expect(output).toMatchInlineSnapshot(`
      "/ann: nobody may enter (--x)
      /ann/.cache: nobody may enter (--x)
      /ann/.cache/calibration: nobody may read new files in it (default r--)
      /ann/.cache/calibration/arm.json: nobody may read (r--)
      Nothing was changed. Run it without --dry-run to apply this; grant --revoke undoes it.
      "
    `);
    expect([code, accessLists()]).toEqual([0, before]);
  });

  test("applied → the agent can read the file, other users gain nothing", async () => {
    expect(canRead(AGENT_ID)).toBe(false);
    expect((await runGrant()).code).toBe(0);
    expect([canRead(AGENT_ID), canRead(BEN_ID), canRead(ANN_ID)]).toEqual([true, false, true]);
    expect(() => as(AGENT_ID, `ls '${home}'`)).toThrow();
    expect(() => as(AGENT_ID, `echo >>'${file}'`)).toThrow();
    expect(run("getfacl", "-cpn", home, file, calibrations)).toMatchInlineSnapshot(`
      "user::rwx
      user:65534:--x
      group::r-x
      mask::r-x
      other::---

      user::rw-
      user:65534:r--
      group::---
      mask::r--
      other::---

      user::rwx
      group::r-x
      other::r-x
      default:user::rwx
      default:user:65534:r--
      default:group::---
      default:mask::r--
      default:other::---

      "
    `);
    expect((await runGrant()).output).toBe("nobody can read the file: nothing to grant.\n");
  });

  test.each([
    ["rewritten in place", `echo 2 >"$1"`],
    ["rewritten in place under umask 077", `umask 077; echo 2 >"$1"`],
    ["removed and created again", `rm "$1"; umask 022; echo 3 >"$1"`],
    ["removed and created again under umask 077", `rm "$1"; umask 077; echo 3 >"$1"`],
    [
      "Python's open(…, 'w') under umask 077",
      `umask 077; python3 -c "import sys; open(sys.argv[1], 'w').write('4')" "$1"`,
    ],
    ["temporary file and rename under umask 077", `umask 077; echo 5 >"$1.tmp"; mv "$1.tmp" "$1"`],
    [
      "shutil.copy of a file of mode 644",
      `umask 022; echo 6 >"$2/new"; python3 -c "import shutil, sys; shutil.copy(sys.argv[2] + '/new', sys.argv[1])" "$1" "$2"`,
    ],
    ["sed -i", `sed -i 's/{/[/' "$1"`],
    ["cp", `echo 7 >"$2/new"; cp "$2/new" "$1"`],
  ])("file rewritten (%s) → the agent can still read it", async (_how, script) => {
    await runGrant();
    as(ANN_ID, script);
    expect([canRead(AGENT_ID), canRead(BEN_ID)]).toEqual([true, false]);
  });

  test.each([
    ["mkstemp and rename", `t=$(mktemp "$2/XXXX"); echo 8 >"$t"; mv "$t" "$1"`],
    ["cp -p of a file of mode 600", `umask 077; echo 9 >"$2/../new"; cp -p "$2/../new" "$1"`],
    ["chmod 600", `chmod 600 "$1"`],
  ])("access rights reset (%s) → grant lost, the next grant suggests --method owner", async (_how, script) => {
    await runGrant();
    as(ANN_ID, script);
    expect(canRead(AGENT_ID)).toBe(false);
    const { code, output } = await runGrant();
    expect([code, canRead(AGENT_ID)]).toEqual([0, true]);
    expect(output).toContain("--method owner is not affected");
  });

  test("rights of others hidden by the mask → stay hidden", async () => {
    run("setfacl", "-m", `u:${BEN_ID}:rw`, file);
    await chmod(file, 0o600);
    await runGrant();
    await chmod(home, 0o755);
    await chmod(join(home, ".cache"), 0o755);
    expect([canRead(AGENT_ID), canRead(BEN_ID)]).toEqual([true, false]);
  });

  test("link to a folder above → that folder becomes readable, which inotify needs", async () => {
    as(ANN_ID, `mv "$1" '${home}/arm.json'; ln -s ../../arm.json "$1"`);
    const { output } = await runGrant({ dryRun: true });
    expect(output).toContain("/ann: nobody may list and enter (r-x)");
  });

  test("two files in one folder, one lost the grant → rewrites of both stay readable", async () => {
    const otherFile = join(calibrations, "other.json");
    as(ANN_ID, `umask 077; echo 1 >'${otherFile}'`);
    await runGrant({}, [file, otherFile]);
    as(ANN_ID, `chmod 600 "$1"`);
    const { output } = await runGrant({}, [file, otherFile]);
    expect(output).not.toContain("unrelated files");
    as(ANN_ID, `umask 077; for each in "$1" '${otherFile}'; do echo 2 >"$each.new"; mv "$each.new" "$each"; done`);
    expect([canRead(AGENT_ID), canRead(AGENT_ID, otherFile)]).toEqual([true, true]);
  });

  test("folder with files for other users → their new files stay readable for those users", async () => {
    const other = join(calibrations, "other");
    as(ANN_ID, `umask 022; echo 1 >'${other}'`);
    run("chmod", "755", home, join(home, ".cache"));
    const { output } = await runGrant();
    expect(output).toContain("/ann/.cache/calibration also holds unrelated files");
    as(ANN_ID, `umask 022; echo 2 >'${other}.new'; mv '${other}.new' '${other}'`);
    expect([canRead(AGENT_ID), canRead(BEN_ID, other), canRead(BEN_ID)]).toEqual([true, true, false]);
  });

  test("sticky folder for everybody → new files are not covered, a note says so", async () => {
    await chmod(calibrations, 0o1777);
    const { code, output } = await runGrant();
    expect([code, canRead(AGENT_ID)]).toEqual([0, true]);
    expect(output).toContain("/ann/.cache/calibration also holds unrelated files");
    expect(output).toContain("--method owner");
    as(ANN_ID, `echo 2 >"$1"; umask 022; echo 1 >"$2/other"; echo 1 >"$2/secret"; chmod 600 "$2/secret"`);
    expect([canRead(AGENT_ID), canRead(AGENT_ID, join(calibrations, "secret"))]).toEqual([true, false]);
    // The umask still applies.
    expect(run("getfacl", "-cpn", join(calibrations, "other"))).toBe("user::rw-\ngroup::r--\nother::r--\n\n");
  });

  test.each([
    ["a home", ""],
    [".cache, which many programs share", ".cache"],
  ])("file in %s → no access to files created later", async (_what, name) => {
    const settings = join(home, name, "arm.json");
    as(ANN_ID, `umask 077; echo 1 >'${settings}'`);
    await using opened = new OpenEntries();
    const { steps, notes } = await planLists(machine.runProgram, AGENT, [settings, file], EMPTY_RECORD, opened);
    const foldersWithDefaults = steps
      .filter(({ newFilesLike }) => newFilesLike !== null)
      .map(({ entry }) => entry.path);
    expect(foldersWithDefaults).toEqual([calibrations]);
    expect(notes).toHaveLength(1);
    expect(notes[0]).toContain(join(home, name));
  });

  test("--revoke → restores every list, also of files created since", async () => {
    const before = accessLists();
    await runGrant();
    as(ANN_ID, `umask 022; echo 1 >"$2/other"; mkdir "$2/old"; echo 2 >"$2/old/arm.json"; ln -s /etc/passwd "$2/link"`);
    await writeFile(join(calibrations, "by-root"), "1");
    expect(canRead(AGENT_ID, join(calibrations, "other"))).toBe(true);
    expect((await runGrant({ revoke: true })).code).toBe(0);
    expect(canRead(AGENT_ID)).toBe(false);
    expect(run("getfacl", "-Rpn", calibrations)).not.toMatch(/mask|default/);
    for (const name of ["other", "by-root", "link"]) await rm(join(calibrations, name));
    await rm(join(calibrations, "old"), { recursive: true });
    expect(accessLists()).toBe(before);
    expect((await runGrant({ revoke: true })).output).toBe("Nothing was granted.\n");
    expect((await runGrant({ revoke: true, dryRun: true })).output).toBe("Nothing was granted.\n");
  });

  test.each([1, 2, 3, 4, 5, 6, 7])("--revoke: change %i fails → reported, completed by a repeat", async (failing) => {
    const before = accessLists();
    await runGrant();
    as(ANN_ID, `umask 022; mkdir "$2/old"; echo 1 >"$2/old/arm.json"`);
    const recordDirectory = join(folder, "record");
    const record = await readGrantRecord(systemFiles, recordDirectory);
    if ("code" in record) throw new Error(record.what);
    let changes = 0;
    const runProgram: RunProgram = async (argv, options) => {
      if (argv[0] === "setfacl" && (changes += 1) === failing) return { kind: "killed" };
      return systemPrograms(argv, options);
    };
    const { problems } = await revokeGrant({ ...machine, runProgram }, record, recordDirectory);
    expect(problems).toMatchObject([{ code: "grant-failed" }]);
    expect((await runGrant({ revoke: true })).code).toBe(0);
    expect(run("getfacl", "-Rpn", join(calibrations, "old"))).not.toMatch(/mask|default/);
    await rm(join(calibrations, "old"), { recursive: true });
    expect(accessLists()).toBe(before);
  });

  test("--revoke: access list changed since → loses only the agent's entry", async () => {
    await runGrant();
    run("setfacl", "-m", `u:${BEN_ID}:r`, file);
    await runGrant({ revoke: true });
    const text = run("getfacl", "-cpn", file);
    expect(text).toContain(`user:${BEN_ID}:r--`);
    expect(text).not.toContain(`user:${AGENT_ID}`);
  });

  test("--revoke: file restricted since → stays restricted, also for its group", async () => {
    await chmod(file, 0o640);
    await runGrant();
    await chmod(file, 0o600);
    await runGrant({ revoke: true });
    expect(run("getfacl", "-cpn", file)).toBe("user::rw-\ngroup::---\nother::---\n\n");
  });

  test("--revoke: granted again after the mask was reset → the agent's entry is removed", async () => {
    // Without a default list in the folder, whose removal would remove the entry too.
    as(ANN_ID, `umask 022; echo 1 >"$2/other"`);
    await runGrant();
    await chmod(file, 0o600);
    expect(canRead(AGENT_ID)).toBe(false);
    expect((await runGrant()).output).toContain("was granted before");
    await runGrant({ revoke: true });
    expect(run("getfacl", "-cpn", file)).toBe("user::rw-\ngroup::---\nother::---\n\n");
  });

  test("another grant is running → refused, nothing changes", async () => {
    const before = accessLists();
    const running = await lockGrantRecord(systemFiles, join(folder, "record"));
    const { code, output } = await runGrant();
    expect(output).toMatchInlineSnapshot(`
      "error: another grant or uninstall is running there (/record) [busy]
        → wait until it is done, then run this again; fuser /record names the process
      "
    `);
    expect([code, accessLists()]).toEqual([1, before]);
    expect((await runGrant({ dryRun: true })).code).toBe(0);
    await running[Symbol.asyncDispose]();
    expect((await runGrant()).code).toBe(0);
  });

  test("--revoke: others can replace the file by now → the agent's entry goes all the same", async () => {
    await runGrant();
    await chmod(file, 0o640);
    await chmod(calibrations, 0o777);
    expect((await runGrant({ revoke: true })).code).toBe(0);
    expect(run("getfacl", "-cpn", file)).toBe("user::rw-\ngroup::---\nother::---\n\n");
  });

  test("--revoke: a link in its place → reported once, what it leads to keeps its list", async () => {
    await runGrant();
    as(ANN_ID, `mv "$1" '${home}/arm.json'; ln -s '${home}/arm.json' "$1"`);
    const { code, output } = await runGrant({ revoke: true });
    expect([code, output.replaceAll(/^revoked.*\n/gm, "")]).toMatchInlineSnapshot(`
      [
        1,
        "error: a link is in its place now (/ann/.cache/calibration/arm.json) [revoke-replaced]
        → if it lies elsewhere now: setfacl -R -n -x u:65534,d:u:65534 PATH
      ",
      ]
    `);
    expect(run("getfacl", "-cpn", join(home, "arm.json"))).toContain(`user:${AGENT_ID}:r--`);
    expect((await runGrant({ revoke: true })).output).toBe("Nothing was granted.\n");
  });

  test.each([
    ["before the grant", true],
    ["since the grant", false],
  ])("--revoke: the folder got a default list %s → it stays for others", async (_when, isBefore) => {
    const serveBen = () => run("setfacl", "-m", `d:u:${BEN_ID}:r--`, calibrations);
    if (isBefore) serveBen();
    await runGrant();
    if (!isBefore) serveBen();
    await runGrant({ revoke: true });
    const text = run("getfacl", "-cpn", calibrations);
    expect(text).toContain(`default:user:${BEN_ID}:r--`);
    expect(text).not.toContain(`user:${AGENT_ID}`);
  });

  test("--revoke: the user had a right before → keeps it", async () => {
    await chmod(calibrations, 0o710);
    run("setfacl", "-m", `u:${AGENT_ID}:--x`, calibrations);
    const before = accessLists();
    await runGrant();
    expect(canRead(AGENT_ID)).toBe(true);
    await runGrant({ revoke: true });
    expect(accessLists()).toBe(before);
  });

  test("power cut between record and change → --revoke changes nothing", async () => {
    const before = accessLists();
    await using opened = new OpenEntries();
    const { steps } = await planLists(machine.runProgram, AGENT, [file], EMPTY_RECORD, opened);
    const recordDirectory = join(folder, "record");
    let record = EMPTY_RECORD;
    const failing: RunProgram = async () => {
      const written = await readGrantRecord(systemFiles, recordDirectory);
      if (!("code" in written)) record = written;
      return { kind: "killed" };
    };
    const failure = await applyLists({ ...machine, runProgram: failing }, AGENT, steps, EMPTY_RECORD, recordDirectory);
    expect(failure).toMatchObject({ code: "grant-failed" });
    expect(record).toMatchObject({ entries: steps.map(({ entry }) => ({ path: entry.path })) });
    expect((await revokeGrant(machine, record, recordDirectory)).problems).toEqual([]);
    expect(accessLists()).toBe(before);
  });
});

describe.skipIf(!canGrant)("grant: a program is missing → one problem for all files (needs root)", () => {
  test.each([
    ["getfacl", "acl-missing", "install the package acl, or use another method: --method owner"],
    ["setpriv", "setpriv-missing", "install the package util-linux"],
  ])("%s", async (missing, code, fix) => {
    const paths = [file, join(calibrations, "left.json"), join(calibrations, "right.json")];
    for (const path of paths) await writeFile(path, "{}\n", { mode: 0o600 });
    const runProgram: RunProgram = async (argv, options) =>
      argv[0] === missing ? { kind: "missing" } : systemPrograms(argv, options);
    await using opened = new OpenEntries();
    const { steps, problems } = await planLists(runProgram, AGENT, paths, EMPTY_RECORD, opened);
    expect([steps, problems]).toMatchObject([[], [{ code, fix }]]);
    expect(problems).toHaveLength(1);
  });
});
