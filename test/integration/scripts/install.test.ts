/**
 * scripts/install, which every script sources: its errors when the machine lacks something.
 *
 * @module-tag needs/program
 */
import { chmod, copyFile, mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { beforeEach, expect, test } from "vitest";

import { testFolder } from "../../support/folder.ts";
import { execute } from "../../support/programs/execute.ts";
import { canMount, inShell, withOwnMounts } from "../../support/programs/programs.ts";

const SCRIPT = join(import.meta.dirname, "../../../scripts/install");
const sudo = process.getuid?.() === 0 ? "" : "sudo ";

/** A checkout with only the files that scripts/install reads. */
let checkout: string;
beforeEach(async () => {
  checkout = testFolder("checkout");
  await mkdir(join(checkout, "programs"));
  await copyFile(SCRIPT, join(checkout, "install"));
  await writeFile(join(checkout, "package-lock.json"), "{}");
  await program("programs/apt-get", "");
  await program("programs/node", "echo v20.19.2");
  await program("programs/npm", npm("11.0.0", "echo npm was called >&2; exit 1"));
});

async function program(name: string, script: string): Promise<void> {
  await writeFile(join(checkout, name), `#!/bin/sh\n${script}\n`);
  await chmod(join(checkout, name), 0o755);
}

/** An npm that runs the script for every command but --version. */
function npm(version: string, script: string): string {
  return `if [ "$1" = --version ]; then echo ${version}; exit; fi; ${script}`;
}

/** A checkout after `npm ci`, whose Node runs the script. */
async function installed(script: string): Promise<void> {
  await mkdir(join(checkout, "node_modules/.bin"), { recursive: true });
  await copyFile(join(checkout, "package-lock.json"), join(checkout, "node_modules/.installed-lock.json"));
  await program("node_modules/.bin/node", script);
}

const source = [
  "bash",
  "-euc",
  'cd "$1"; PATH=$1/programs:$2; . ./install; echo "went on with $(command -v node)"',
  "bash",
];

/** Otherwise, Bash with a socket as input takes itself for a remote shell and reads /etc/bash.bashrc (bash(1), INVOCATION). */
const environment = { SHLVL: "1" };

async function run(command = source, path = "/usr/bin:/bin") {
  const { code, stdout, stderr } = await execute([...command, checkout, path], { may_fail: true, environment });
  return { code, stdout, stderr };
}

test("complete installation → no output, and programs find the Node of the checkout", async () => {
  await installed("echo v26.10.0");
  expect(await run()).toEqual({ code: 0, stdout: `went on with ${checkout}/node_modules/.bin/node\n`, stderr: "" });
});

test("Node of the checkout does not start → the loader's error, and the command that helps", async () => {
  const reason = "error while loading shared libraries: libatomic.so.1: cannot open shared object file: No such file";
  await installed(`echo "node: ${reason}" >&2; exit 127`);
  const { code, stderr } = await run();
  expect(code).toBe(1);
  expect(stderr.split("\n")).toEqual([
    `error: the Node of this checkout does not start: node: ${reason}`,
    `  → ${sudo}apt-get install libatomic1`,
    "",
  ]);
});

test.each([
  [
    "a library of an unknown package",
    "node: error while loading shared libraries: libfoo.so.2: no",
    /the package that has libfoo\.so\.2/,
  ],
  ["an old C library", "node: /lib/libc.so.6: version `GLIBC_2.28' not found", /glibc 2\.28 or newer/],
])("Node of the checkout does not start: %s → what is needed", async (_what, output, hint) => {
  await installed(`cat >&2 <<'END'\n${output}\nEND\nexit 1`);
  const { code, stderr } = await run();
  expect(code).toBe(1);
  expect(stderr).toMatch(hint);
});

test("npm cannot read the lockfile → an error before anything is installed", async () => {
  await program("programs/npm", npm("6.14.18", "echo npm was called >&2; exit 1"));
  const { code, stderr } = await run();
  expect(code).toBe(1);
  expect(stderr).toContain(`this is npm 6.14.18 (${checkout}/programs/npm)`);
  expect(stderr).not.toContain("npm was called");
});

test("Node unsupported by native dependencies → npm runs on the Node of the lockfile", async () => {
  await program("programs/node", 'case "$1" in -e) exit 1 ;; -p) echo 26.10.0 ;; esac');
  // `npm install --prefix` installs that Node; `npm ci` prints the Node it would run on.
  const install =
    'mkdir -p "$3/node_modules/.bin"; printf "#!/bin/sh\\necho lockfile" >"$3/node_modules/.bin/node"; chmod +x "$3/node_modules/.bin/node"';
  await program(
    "programs/npm",
    npm("9.2.0", `if [ "$1" = install ]; then ${install}; else echo "$1 on $(node)"; exit 1; fi`),
  );
  const { code, stdout } = await run();
  expect([code, stdout.split("\n")]).toEqual([
    1,
    ["== install dependencies (once, about a minute)", "ci on lockfile", ""],
  ]);
});

test("no npm → the command that installs it", async () => {
  await rm(join(checkout, "programs/npm"));
  const links = "for name in bash id uname cmp true; do ln -s $(command -v $name) $1/programs; done";
  await execute(["sh", "-c", links, "sh", checkout]);
  expect(await run(source, "")).toEqual({
    code: 1,
    stdout: "",
    stderr: `error: this machine lacks npm\n  → ${sudo}apt-get install npm\n`,
  });
});

test.runIf(canMount)("no libatomic → an error before npm is called, which would crash (needs mounts)", async () => {
  const hide =
    "for file in $(ldconfig -p | sed -n 's/.*libatomic.so.1.* => //p'); do mount --bind /dev/null $file; done";
  expect(await run(inShell(withOwnMounts, hide, source))).toEqual({
    code: 1,
    stdout: "",
    stderr: `error: this machine lacks libatomic1\n  → ${sudo}apt-get install libatomic1\n`,
  });
});

test("npm fails → the script fails, and the next run installs again", async () => {
  await expect(run()).resolves.toMatchObject({ code: 1, stderr: "npm was called\n" });
  await expect(run()).resolves.toMatchObject({ code: 1, stderr: "npm was called\n" });
});
