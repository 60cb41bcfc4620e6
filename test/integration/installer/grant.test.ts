/** `grant` with real users, real access lists and the ways in which calibration tools rewrite their files. */
import { chmod, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { beforeEach, describe, expect, test } from "vitest";

import { applyGrant } from "../../../src/installer/grant/on-files.ts";
import { planGrant } from "../../../src/installer/grant/grant.ts";
import { EMPTY_RECORD, type GrantRecord, readGrantRecord } from "../../../src/installer/grant/record.ts";
import { revokeGrant } from "../../../src/installer/grant/revoke.ts";
import { systemFiles } from "../../../src/platform/files/files.ts";
import { type RunProgram, systemPrograms } from "../../../src/platform/programs.ts";
import { execute } from "../../support/programs/execute.ts";
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
  lists,
  machine,
  prepareHome,
  run,
  runGrant,
} from "./grant-home.ts";

beforeEach(prepareHome);

describe.skipIf(!canGrant)("grant (needs root, setfacl and setpriv)", () => {
  test("--dry-run shows everything and changes nothing", async () => {
    const before = lists();
    const { code, output } = await runGrant({ dryRun: true });
    expect(output).toMatchInlineSnapshot(`
      "/ann: nobody may enter (--x)
      /ann/.cache: nobody may enter (--x)
      /ann/.cache/calibration: nobody may read new files in it (default r--)
      /ann/.cache/calibration/arm.json: nobody may read (r--)
      Nothing was changed. Run it without --dry-run to apply this; grant --revoke undoes it.
      "
    `);
    expect([code, lists()]).toEqual([0, before]);
  });

  test("the agent can read the file, and nobody else anything more", async () => {
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

  test("--json says what was done, with the commands", async () => {
    const { output } = await runGrant({ json: true });
    expect(JSON.parse(output)).toMatchObject({
      applied: true,
      unreadable: [],
      user: { name: "nobody", user_id: AGENT_ID },
      changes: expect.arrayContaining([
        expect.objectContaining({ command: `setfacl -n -m u:${AGENT_ID}:r--,m::r-- ${file.replace(folder, "")}` }),
      ]),
    });
  });

  test("commands are for a shell, whatever a person calls a folder", async () => {
    const odd = join(calibrations, "$(id) 'x'");
    as(ANN_ID, `umask 077; mkdir "$2/\\$(id) 'x'"; echo 1 >"$2/\\$(id) 'x'/arm.json"`);
    const { output } = await runGrant({ dryRun: true, json: true }, [join(odd, "arm.json")]);
    const { changes } = JSON.parse(output) as { changes: { command: string }[] };
    const { command = "" } = changes.at(-1) ?? {};
    const { stdout } = await execute(["sh", "-c", `setfacl() { printf '%s\n' "$@"; }; ${command}`]);
    expect(stdout.trim().split("\n").at(-1)).toBe(join(odd, "arm.json").replace(folder, ""));
  });

  test.each([
    ["rewritten in place", `echo 2 >"$1"`],
    ["rewritten in place under umask 077", `umask 077; echo 2 >"$1"`],
    ["removed and made anew", `rm "$1"; umask 022; echo 3 >"$1"`],
    ["removed and made anew under umask 077", `rm "$1"; umask 077; echo 3 >"$1"`],
    [
      "Python's open(…, 'w') under umask 077",
      `umask 077; python3 -c "import sys; open(sys.argv[1], 'w').write('4')" "$1"`,
    ],
    ["a temporary file, renamed, under umask 077", `umask 077; echo 5 >"$1.tmp"; mv "$1.tmp" "$1"`],
    [
      "shutil.copy of a file of mode 644",
      `umask 022; echo 6 >"$2/new"; python3 -c "import shutil, sys; shutil.copy(sys.argv[2] + '/new', sys.argv[1])" "$1" "$2"`,
    ],
    ["sed -i", `sed -i 's/{/[/' "$1"`],
    ["cp", `echo 7 >"$2/new"; cp "$2/new" "$1"`],
  ])("the grant outlives: %s", async (_how, script) => {
    await runGrant();
    as(ANN_ID, script);
    expect([canRead(AGENT_ID), canRead(BEN_ID)]).toEqual([true, false]);
  });

  test.each([
    ["mkstemp and rename", `t=$(mktemp "$2/XXXX"); echo 8 >"$t"; mv "$t" "$1"`],
    ["cp -p of a file of mode 600", `umask 077; echo 9 >"$2/../new"; cp -p "$2/../new" "$1"`],
    ["chmod 600", `chmod 600 "$1"`],
  ])(
    "a writer that resets the rights undoes the grant, and the next grant suggests --method owner: %s",
    async (_how, script) => {
      await runGrant();
      as(ANN_ID, script);
      expect(canRead(AGENT_ID)).toBe(false);
      const { code, output } = await runGrant();
      expect([code, canRead(AGENT_ID)]).toEqual([0, true]);
      expect(output).toContain("--method owner is not affected");
    },
  );

  test("rights of others that a mask hides stay hidden", async () => {
    run("setfacl", "-m", `u:${BEN_ID}:rw`, file);
    await chmod(file, 0o600);
    await runGrant();
    await chmod(home, 0o755);
    await chmod(join(home, ".cache"), 0o755);
    expect([canRead(AGENT_ID), canRead(BEN_ID)]).toEqual([true, false]);
  });

  test("a link back up the path: the file's own folder gets read, which inotify needs", async () => {
    as(ANN_ID, `mv "$1" '${home}/arm.json'; ln -s ../../arm.json "$1"`);
    const { output } = await runGrant({ dryRun: true });
    expect(output).toContain("/ann: nobody may list and enter (r-x)");
  });

  test("two files of one folder, one of which lost its right: new files of both stay readable", async () => {
    const other = join(calibrations, "other.json");
    as(ANN_ID, `umask 077; echo 1 >'${other}'`);
    await runGrant({}, [file, other]);
    as(ANN_ID, `chmod 600 "$1"`);
    const { output } = await runGrant({}, [file, other]);
    expect(output).not.toContain("unrelated files");
    as(ANN_ID, `umask 077; for each in "$1" '${other}'; do echo 2 >"$each.new"; mv "$each.new" "$each"; done`);
    expect([canRead(AGENT_ID), canRead(AGENT_ID, other)]).toEqual([true, true]);
  });

  test("a folder that also holds files for others: their new files stay readable for others", async () => {
    const other = join(calibrations, "other");
    as(ANN_ID, `umask 022; echo 1 >'${other}'`);
    run("chmod", "755", home, join(home, ".cache"));
    const { output } = await runGrant();
    expect(output).toContain("/ann/.cache/calibration also holds unrelated files");
    as(ANN_ID, `umask 022; echo 2 >'${other}.new'; mv '${other}.new' '${other}'`);
    expect([canRead(AGENT_ID), canRead(BEN_ID, other), canRead(BEN_ID)]).toEqual([true, true, false]);
  });

  test("a sticky folder for everybody: the grant does not cover new files, and a note says so", async () => {
    await chmod(calibrations, 0o1777);
    const { code, output } = await runGrant();
    expect([code, canRead(AGENT_ID)]).toEqual([0, true]);
    expect(output).toContain("/ann/.cache/calibration also holds unrelated files");
    expect(output).toContain("--method owner");
    as(ANN_ID, `echo 2 >"$1"; umask 022; echo 1 >"$2/other"; echo 1 >"$2/secret"; chmod 600 "$2/secret"`);
    expect([canRead(AGENT_ID), canRead(AGENT_ID, join(calibrations, "secret"))]).toEqual([true, false]);
    // The umask still counts.
    expect(run("getfacl", "-cpn", join(calibrations, "other"))).toBe("user::rw-\ngroup::r--\nother::r--\n\n");
  });

  test.each([
    ["a home", ""],
    ["what every program keeps there", ".cache"],
  ])("nothing that is made later is opened in %s", async (_what, name) => {
    const settings = join(home, name, "arm.json");
    as(ANN_ID, `umask 077; echo 1 >'${settings}'`);
    const runProgram: RunProgram = async (words, options) =>
      words[0] === "getent"
        ? { kind: "ended", exitCode: 0, stdout: `ann:x:${ANN_ID}:${ANN_ID}::${home}:/bin/sh\n`, stderr: "" }
        : systemPrograms(words, options);
    using stack = new DisposableStack();
    const { steps, notes } = await planGrant({ ...machine, runProgram }, AGENT, [settings, file], stack);
    const later = steps.filter(({ forNewFiles }) => forNewFiles).map(({ entry }) => entry.path);
    expect(later).toEqual([calibrations]);
    expect(notes).toHaveLength(1);
    expect(notes[0]).toContain(join(home, name));
  });

  test("--revoke: restores every list, also those of files created since", async () => {
    const before = lists();
    await runGrant();
    as(ANN_ID, `umask 022; echo 1 >"$2/other"`);
    expect(canRead(AGENT_ID, join(calibrations, "other"))).toBe(true);
    expect((await runGrant({ revoke: true })).code).toBe(0);
    expect(canRead(AGENT_ID)).toBe(false);
    expect(run("getfacl", "-cpn", join(calibrations, "other"))).not.toContain(String(AGENT_ID));
    await rm(join(calibrations, "other"));
    expect(lists()).toBe(before);
    expect((await runGrant({ revoke: true })).output).toBe("Nothing was granted.\n");
  });

  test("--revoke: runs one program at a time, and ends after the last", async () => {
    await runGrant();
    as(ANN_ID, `umask 022; echo 1 >"$2/other"`);
    let running = 0;
    const runningEach: number[] = [];
    const runProgram: RunProgram = async (words, options) => {
      running += 1;
      runningEach.push(running);
      const result = await systemPrograms(words, options);
      running -= 1;
      return result;
    };
    const recordDirectory = join(folder, "record");
    const record = await readGrantRecord(systemFiles, recordDirectory);
    if (record === null) throw new Error("nothing was granted");
    await revokeGrant({ ...machine, runProgram }, record, recordDirectory);
    expect([new Set(runningEach), running]).toEqual([new Set([1]), 0]);
  });

  test("--revoke: a list that somebody changed since loses only the agent's entry", async () => {
    await runGrant();
    run("setfacl", "-m", `u:${BEN_ID}:r`, file);
    await runGrant({ revoke: true });
    const text = run("getfacl", "-cpn", file);
    expect(text).toContain(`user:${BEN_ID}:r--`);
    expect(text).not.toContain(`user:${AGENT_ID}`);
  });

  test("--revoke: a file that somebody closed since stays closed, also to its group", async () => {
    await chmod(file, 0o640);
    await runGrant();
    await chmod(file, 0o600);
    await runGrant({ revoke: true });
    expect(run("getfacl", "-cpn", file)).toBe("user::rw-\ngroup::---\nother::---\n\n");
  });

  test("a power cut between the record and the change: --revoke changes nothing", async () => {
    const before = lists();
    using stack = new DisposableStack();
    const { steps } = await planGrant(machine, AGENT, [file], stack);
    const recordDirectory = join(folder, "record");
    let record: GrantRecord | null = null;
    const failing: RunProgram = async () => {
      record = await readGrantRecord(systemFiles, recordDirectory);
      return { kind: "killed" };
    };
    const ended = await applyGrant({ ...machine, runProgram: failing }, AGENT, steps, EMPTY_RECORD, recordDirectory);
    expect(ended).toMatchObject({ code: "grant-failed" });
    expect(record).toMatchObject({ entries: steps.map(({ entry }) => ({ path: entry.path })) });
    expect((await revokeGrant(machine, record ?? EMPTY_RECORD, recordDirectory)).problems).toEqual([]);
    expect(lists()).toBe(before);
  });
});

test.skipIf(!canGrant)(
  "a machine without the package acl: said once, however many files there are (needs root)",
  async () => {
    const paths = [file, join(calibrations, "left.json"), join(calibrations, "right.json")];
    for (const path of paths) await writeFile(path, "{}\n", { mode: 0o600 });
    const runProgram: RunProgram = async (words, options) =>
      words[0] === "getfacl" ? { kind: "missing" } : systemPrograms(words, options);
    using stack = new DisposableStack();
    const { steps, refusals } = await planGrant({ files: systemFiles, runProgram }, AGENT, paths, stack);
    expect([steps, refusals]).toEqual([
      [],
      [
        {
          code: "grant-refused",
          what: "this machine has no getfacl and setfacl",
          fix: "install the package acl, or use another method: --method group, --method owner",
        },
      ],
    ]);
  },
);
