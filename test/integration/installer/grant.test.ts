/** `grant` with real users, real access lists and the ways in which calibration tools rewrite their files. */
import { execFileSync } from "node:child_process";
import { chmod, chown, mkdir, mkdtemp, readFile, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { createTerminal } from "../../../src/cli/terminal.ts";
import { grant } from "../../../src/installer/commands/grant.ts";
import { applyGrant } from "../../../src/installer/grant/apply.ts";
import { planGrant } from "../../../src/installer/grant/grant.ts";
import { planKey } from "../../../src/installer/grant/key.ts";
import type { GrantRecord } from "../../../src/installer/grant/record.ts";
import { EMPTY_RECORD, readGrantRecord } from "../../../src/installer/grant/record.ts";
import { revokeGrant } from "../../../src/installer/grant/revoke.ts";
import type { GrantOptions } from "../../../src/installer/grant/run.ts";
import { systemFiles } from "../../../src/platform/files/files.ts";
import type { RunProgram } from "../../../src/platform/programs.ts";
import { systemPrograms } from "../../../src/platform/programs.ts";
import { execute } from "../../support/programs/execute.ts";
import { AGENT_PROGRAM } from "../../support/programs/programs-built.ts";
import {
  asNobody,
  canMount,
  hasProgram,
  inShell,
  isRoot,
  NOBODY_ID,
  withOwnMounts,
} from "../../support/programs/programs.ts";
import { createScene, expectOneRobot } from "../../support/service/scene.ts";

/** The robot's user and another one; neither is in a user database. */
const ANN_ID = 41_001;
const BEN_ID = 41_002;
/** The agent's. */
const AGENT_ID = NOBODY_ID;

const canGrant = isRoot && ["setfacl", "getfacl", "setpriv"].every(hasProgram);
const machine = { files: systemFiles, runProgram: systemPrograms };

let folder: string;
let home: string;
let calibrations: string;
let file: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "grant-"));
  home = join(folder, "ann");
  calibrations = join(home, ".cache/calibration");
  file = join(calibrations, "arm.json");
  if (!canGrant) return;
  await chmod(folder, 0o755);
  await mkdir(calibrations, { recursive: true });
  await writeFile(file, "{}\n");
  await mkdir(join(folder, "state"));
  await chown(join(folder, "state"), AGENT_ID, AGENT_ID);
  for (const path of [home, join(home, ".cache"), calibrations, file]) await chown(path, ANN_ID, ANN_ID);
  await chmod(home, 0o750);
  await chmod(join(home, ".cache"), 0o700);
  await chmod(calibrations, 0o755);
  await chmod(file, 0o600);
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** Runs the command in this process, with a record of its own. */
async function runGrant(options: GrantOptions = {}, paths: readonly string[] = [file]) {
  let output = "";
  const sink = { write: (text: string) => void (output += text) };
  const inputs = { paths, keyFile: null, stateDirectory: join(folder, "state") };
  const code = await grant(
    options,
    {
      terminal: createTerminal({ stdout: sink, stderr: sink, environment: {} }),
      machine: { files: systemFiles },
      user_id: 0,
      recordDirectory: join(folder, "record"),
      readInputs: async () => inputs,
    },
    undefined,
  );
  return { code, output: output.replaceAll(folder, "") };
}

function run(...[program = "", ...words]: readonly string[]): string {
  return execFileSync(program, words, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
}

function as(userId: number, script: string): void {
  runAs(userId, "sh", "-ec", script, "sh", file, calibrations);
}

function runAs(userId: number, ...words: readonly string[]): void {
  run("setpriv", `--reuid=${userId}`, `--regid=${userId}`, "--clear-groups", ...words);
}

function canRead(userId: number, path = file): boolean {
  try {
    runAs(userId, "cat", path);
    return true;
  } catch {
    return false;
  }
}

/** Modes, owners and access lists of everything that was there. */
function lists(): string {
  return run("getfacl", "-R", "-n", "-p", home);
}

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
    const account = { name: "nobody", user_id: AGENT_ID, group_id: AGENT_ID, group_ids: [AGENT_ID] };
    const { steps, notes } = await planGrant({ ...machine, runProgram }, account, [settings, file], stack);
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
    const account = { name: "nobody", user_id: AGENT_ID, group_id: AGENT_ID, group_ids: [AGENT_ID] };
    const { steps } = await planGrant(machine, account, [file], stack);
    const recordDirectory = join(folder, "record");
    let record: GrantRecord | null = null;
    const failing: RunProgram = async () => {
      record = await readGrantRecord(systemFiles, recordDirectory);
      return { kind: "killed" };
    };
    const ended = await applyGrant({ ...machine, runProgram: failing }, account, steps, EMPTY_RECORD, recordDirectory);
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
    const account = { name: "nobody", user_id: AGENT_ID, group_id: AGENT_ID, group_ids: [AGENT_ID] };
    using stack = new DisposableStack();
    const { steps, refusals } = await planGrant({ files: systemFiles, runProgram }, account, paths, stack);
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

describe.skipIf(!canGrant)("grant on files of a hostile owner (needs root, setfacl and setpriv)", () => {
  /** A file of root's, in a folder of root's. */
  async function secretOfRoot(): Promise<string> {
    const secret = join(folder, "secret");
    await mkdir(secret, { mode: 0o700 });
    await writeFile(join(secret, "arm.json"), "root's", { mode: 0o600 });
    return secret;
  }

  test("a folder that is a link to root's files: refused, and nothing is opened", async () => {
    const secret = await secretOfRoot();
    as(ANN_ID, `mv "$2" "$2.old"; ln -s '${secret}' "$2"`);
    const { code, output } = await runGrant();
    expect(code).toBe(1);
    expect(output).toContain(`user ${ANN_ID} leads to`);
    expect(canRead(AGENT_ID, join(secret, "arm.json"))).toBe(false);
    expect(run("getfacl", "-cpn", secret)).not.toContain(String(AGENT_ID));
  });

  test("a folder that becomes a link between check and change: the checked folder is changed", async () => {
    const secret = await secretOfRoot();
    using stack = new DisposableStack();
    const account = { name: "nobody", user_id: AGENT_ID, group_id: AGENT_ID, group_ids: [AGENT_ID] };
    const { steps } = await planGrant(machine, account, [file], stack);
    await rename(calibrations, `${calibrations}.old`);
    await symlink(secret, calibrations);
    expect(await applyGrant(machine, account, steps, EMPTY_RECORD, join(folder, "record"))).toBeNull();
    expect(run("getfacl", "-cpnR", secret)).not.toContain(String(AGENT_ID));
    expect(canRead(AGENT_ID, `${calibrations}.old/arm.json`)).toBe(true);
  });

  test("a key in a folder that a user can write to does not change its owner", async () => {
    const people = { groups: [], users: [] };
    const account = (userId: number) => ({ name: "", user_id: userId, group_id: userId, group_ids: [userId] });
    const key = join(await secretOfRoot(), "arm.json");
    expect(planKey(key, account(AGENT_ID), account(ANN_ID), people)).toMatchObject({ path: key });
    as(ANN_ID, `ln -sf '${key}' "$1"`);
    expect(planKey(file, account(AGENT_ID), account(ANN_ID), people)).toBeNull();
  });

  test.each([
    ["everybody writes to", async () => chmod(calibrations, 0o777), "any user can replace entries of"],
    [
      "belongs to somebody else",
      async () => chown(calibrations, BEN_ID, BEN_ID),
      `to CAL, which belongs to user ${BEN_ID}`,
    ],
    [
      "an access list lets somebody else write to",
      async () => void run("setfacl", "-m", `u:${BEN_ID}:rwx`, calibrations),
      `lets u:${BEN_ID} replace its entries`,
    ],
    [
      "a shared group writes to",
      async () => {
        // `daemon` and others are of it.
        await chown(calibrations, ANN_ID, 1);
        await chmod(calibrations, 0o770);
      },
      "group 1 can replace entries of",
    ],
  ])("a folder that %s: refused", async (_what, prepare, why) => {
    await prepare();
    const { code, output } = await runGrant();
    expect(code).toBe(1);
    expect(output.replace("/ann/.cache/calibration, which", "CAL, which")).toContain(why);
    expect(canRead(AGENT_ID)).toBe(false);
  });

  test("a FIFO, a loop of links, a missing file: reported, and nothing hangs", async () => {
    as(ANN_ID, `rm "$1"; mkfifo "$1"`);
    expect((await runGrant()).output).toContain("not a regular file");
    as(ANN_ID, `rm "$1"; ln -s "$1" "$1"`);
    expect((await runGrant()).output).toContain("form a loop");
    as(ANN_ID, `rm "$1"`);
    expect((await runGrant()).output).toContain("does not exist");
  });
});

describe.skipIf(!canGrant || !canMount)("grant by the unit (needs root and mount namespaces)", () => {
  interface Surroundings {
    readonly files?: readonly string[];
    /** Lines of shell before the program runs, and after. */
    readonly first?: string;
    readonly after?: string;
  }

  /** The program itself; what it writes to /etc and /var is of its own mounts, and shown before they go. */
  async function runProgram(
    method: string,
    { files = [file], first = "true", after = "true" }: Surroundings = {},
  ): Promise<string> {
    await writeFile(join(folder, "api-key"), "sk_test_0123456789\n", { mode: 0o600 });
    await writeFile(
      join(folder, "config.yaml"),
      `service: {url: "http://127.0.0.1:1", key_file: ${folder}/api-key}\nrobot: {name: a, region: b}\nmanifest: ${folder}/m.yaml\n`,
    );
    await writeFile(
      join(folder, "m.yaml"),
      `robot_type_id: yam.bimanual-joint-position.v1\nconfiguration_files: [${files.join(", ")}]\n`,
    );
    const mounts = "mount -t tmpfs none /var/lib; mount -t tmpfs none /etc/systemd";
    const script = `${mounts}; ${first}; ${programWords()} --method ${method} 2>&1 || true; ${after}`;
    return run(...inShell(withOwnMounts, script, ["true"])).replaceAll(folder, "");
  }

  const programWords = () =>
    `${process.execPath} ${AGENT_PROGRAM} grant --config ${folder}/config.yaml --state-dir ${folder}/state`;

  /** Lines of shell that show what there is, take it back, and show what is left. */
  function showAndRevoke(): string {
    const showKey = `stat -c 'key of %U' ${folder}/api-key`;
    const show = `cat /etc/systemd/system/robot-policy-agent.service.d/50-grant.conf; ${showKey}`;
    const showRest = "ls -A /etc/systemd/system/*.d /var/lib/* 2>/dev/null || true";
    return `(${show}) 2>&1 || true; ${programWords()} --revoke; ${showKey}; ${showRest}`;
  }

  test("--method owner: writes a drop-in and changes the key's owner; --revoke undoes both", async () => {
    run("chown", "-R", "games:games", home);
    expect(await runProgram("owner", { after: showAndRevoke() })).toMatchInlineSnapshot(`
      "/etc/systemd/system/robot-policy-agent.service.d/50-grant.conf: a drop-in of the unit
      /api-key: given to games
      # Written by: robot-policy-agent grant --method owner. Taken back by: robot-policy-agent grant --revoke
      [Service]
      User=games
      the agent can then read whatever games can, and games can read the agent's key and state
      systemd gives the state folder to games at the next start
      games can read them now. To undo this: robot-policy-agent grant --revoke
      # Written by: robot-policy-agent grant --method owner. Taken back by: robot-policy-agent grant --revoke
      [Service]
      User=games
      key of games
      revoked the grant on /etc/systemd/system/robot-policy-agent.service.d/50-grant.conf
      key of root
      /etc/systemd/system/robot-policy-agent.service.d:

      /var/lib/robot-policy-agent-install:
      "
    `);
  });

  test("--method owner: systemd fails to apply it: reported, with the command to run", async () => {
    run("chown", "-R", "games:games", home);
    const first = `mount -t tmpfs none /run; mkdir -p /run/systemd/system; printf '#!/bin/sh\\nexit 1\\n' >/run/systemctl; chmod 755 /run/systemctl; PATH=/run:$PATH`;
    expect(await runProgram("owner", { first })).toContain(
      "systemd did not apply it; run: systemctl daemon-reload && systemctl restart robot-policy-agent\n",
    );
  });

  test("--method owner: accepts files of root that the owner can read, refuses those that only root can", async () => {
    run("chown", "-R", "games:games", home);
    const limits = join(folder, "limits.yaml");
    await writeFile(limits, "limits: {}\n", { mode: 0o644 });
    expect(await runProgram("owner", { files: [file, limits] })).toContain("games can read them now.");
    await chmod(limits, 0o600);
    expect(await runProgram("owner", { files: [file, limits] })).not.toContain("games can read them now.");
  });

  test("--method group: joins the group that may read the files", async () => {
    await chmod(join(home, ".cache"), 0o750);
    await chmod(file, 0o640);
    run("chgrp", "-R", "games", home);
    expect(await runProgram("group", { after: showAndRevoke() })).toMatchInlineSnapshot(`
      "/etc/systemd/system/robot-policy-agent.service.d/50-grant.conf: a drop-in of the unit
      # Written by: robot-policy-agent grant --method group. Taken back by: robot-policy-agent grant --revoke
      [Service]
      SupplementaryGroups=games
      the agent can then read whatever group games can
      nobody can read them now. To undo this: robot-policy-agent grant --revoke
      # Written by: robot-policy-agent grant --method group. Taken back by: robot-policy-agent grant --revoke
      [Service]
      SupplementaryGroups=games
      key of root
      revoked the grant on /etc/systemd/system/robot-policy-agent.service.d/50-grant.conf
      key of root
      /etc/systemd/system/robot-policy-agent.service.d:

      /var/lib/robot-policy-agent-install:
      "
    `);
  });

  test("--method group: refuses a group that may not read the files, and a group with far more rights", async () => {
    run("chgrp", "-R", "games", home);
    expect(await runProgram("group")).toContain("group games may not enter /ann/.cache itself");
    await chmod(join(home, ".cache"), 0o750);
    await chmod(file, 0o640);
    run("chgrp", "-R", "shadow", home);
    expect(await runProgram("group")).toContain("group shadow can do much more");
  });
});

test.skipIf(!canGrant)(
  "with exactly that grant the agent watches by events, and registers what its owner writes (needs root)",
  async () => {
    await using scene = await createScene({ files: { "ann/.cache/calibration/arm.json": "{}\n" } });
    const { robot } = scene;
    const [path = ""] = robot.paths;
    run("chown", "-R", `${ANN_ID}:${ANN_ID}`, robot.path("ann"));
    for (const each of [robot.state_directory, robot.runtime_directory, robot.keyPath])
      await chown(each, AGENT_ID, AGENT_ID);
    await chmod(robot.folder, 0o755);
    await chmod(robot.path("ann"), 0o750);
    await chmod(robot.path("ann/.cache/calibration"), 0o700);
    await chmod(path, 0o600);
    const { code } = await runGrant({}, [path]);
    expect(code).toBe(0);

    await using daemon = await robot.startProcess({}, asNobody);
    await daemon.until(({ state, watching }) => state === "registered" && watching?.mode === "events");
    as(ANN_ID, `umask 077; echo '{"a": 1}' >'${path}'`);
    const { watching } = await expectOneRobot(scene, daemon);
    expect(watching?.mode).toBe("events");
    expect(await readFile(path, "utf8")).toBe('{"a": 1}\n');
  },
);
