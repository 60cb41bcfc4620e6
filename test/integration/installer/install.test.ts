/** @module-tag needs/root */
import { appendFile, chmod, mkdir, readFile, readlink, rm, symlink, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";

import { systemPrograms } from "../../../src/platform/programs.ts";
import {
  ARM64,
  canFillImages,
  describeTree,
  openWorkshop,
  runInstall,
  runUninstall,
  type Setting,
  type Workshop,
} from "./image.ts";

const UNIT = "usr/local/lib/systemd/system/robot-policy-agent.service";
const CURRENT = "usr/local/lib/robot-policy-agent/current";
const COMMAND = "usr/local/bin/robot-policy-agent";
const ETC = "etc/robot-policy-agent";
const STATE = "var/lib/robot-policy-agent";
const WANTS = "etc/systemd/system/multi-user.target.wants";
const KEY = "sk_test_0123456789abcdef";

let workshop: Workshop;
let setting: Setting;
let root: string;
beforeAll(async () => {
  workshop = await openWorkshop();
  setting = { dist: await workshop.makeDistribution("1.0.0"), node: await workshop.makeNode() };
});
beforeEach(async () => {
  root = await workshop.makeImage();
});
afterAll(async () => workshop[Symbol.asyncDispose]());

async function put(path: string, text: string): Promise<void> {
  await mkdir(dirname(join(root, path)), { recursive: true });
  await writeFile(join(root, path), text);
}

async function linkTo(target: string, path: string): Promise<void> {
  await mkdir(dirname(join(root, path)), { recursive: true });
  await symlink(target, join(root, path));
}

describe.runIf(canFillImages)("install --root (needs root and systemd)", () => {
  test("first run → program, Node, units, user and completion, with their modes", async () => {
    const before = new Set(describeTree(root));
    const { exitCode } = await runInstall({ root }, setting);
    expect(exitCode).toBe(0);
    const added = describeTree(root).filter((line) => !before.has(line));
    const shown = added.map((line) => line.replaceAll(/[0-9a-f]{16}$|(?<=1\.0\.0-)[0-9a-f]{12}/g, "…"));
    expect(shown).toMatchInlineSnapshot(`
      [
        "/etc/group 644 0:0 …",
        "/etc/gshadow 640 0:0 …",
        "/etc/passwd 644 0:0 …",
        "/etc/shadow 640 0:0 …",
        "/etc/systemd/system/multi-user.target.wants/ 755 0:0",
        "/etc/systemd/system/multi-user.target.wants/robot-policy-agent.service -> /usr/local/lib/systemd/system/robot-policy-agent.service",
        "/usr/local/bin/robot-policy-agent -> ../lib/robot-policy-agent/current/robot-policy-agent",
        "/usr/local/lib/robot-policy-agent/ 755 0:0",
        "/usr/local/lib/robot-policy-agent/current -> versions/1.0.0-…",
        "/usr/local/lib/robot-policy-agent/versions/ 755 0:0",
        "/usr/local/lib/robot-policy-agent/versions/1.0.0-…/ 755 0:0",
        "/usr/local/lib/robot-policy-agent/versions/1.0.0-…/lib/ 755 0:0",
        "/usr/local/lib/robot-policy-agent/versions/1.0.0-…/lib/robot-policy-agent.cjs 644 0:0 …",
        "/usr/local/lib/robot-policy-agent/versions/1.0.0-…/lib/yaml.cjs 644 0:0 …",
        "/usr/local/lib/robot-policy-agent/versions/1.0.0-…/node 755 0:0 …",
        "/usr/local/lib/robot-policy-agent/versions/1.0.0-…/robot-policy-agent 755 0:0 …",
        "/usr/local/lib/robot-policy-agent/versions/1.0.0-…/share/ 755 0:0",
        "/usr/local/lib/robot-policy-agent/versions/1.0.0-…/share/systemd/ 755 0:0",
        "/usr/local/lib/robot-policy-agent/versions/1.0.0-…/share/systemd/robot-policy-agent-look.service 644 0:0 …",
        "/usr/local/lib/robot-policy-agent/versions/1.0.0-…/share/systemd/robot-policy-agent-setup.service 644 0:0 …",
        "/usr/local/lib/robot-policy-agent/versions/1.0.0-…/share/systemd/robot-policy-agent.service 644 0:0 …",
        "/usr/local/lib/robot-policy-agent/versions/1.0.0-…/share/systemd/robot-policy-agent.sysusers 644 0:0 …",
        "/usr/local/lib/robot-policy-agent/versions/1.0.0-…/share/systemd/robot-policy-agent.timer 644 0:0 …",
        "/usr/local/lib/systemd/ 755 0:0",
        "/usr/local/lib/systemd/system/ 755 0:0",
        "/usr/local/lib/systemd/system/robot-policy-agent-look.service 644 0:0 …",
        "/usr/local/lib/systemd/system/robot-policy-agent-setup.service 644 0:0 …",
        "/usr/local/lib/systemd/system/robot-policy-agent.service 644 0:0 …",
        "/usr/local/lib/systemd/system/robot-policy-agent.timer 644 0:0 …",
        "/usr/local/lib/systemd/system-preset/ 755 0:0",
        "/usr/local/lib/systemd/system-preset/80-robot-policy-agent.preset 644 0:0 …",
        "/usr/local/share/bash-completion/ 755 0:0",
        "/usr/local/share/bash-completion/completions/ 755 0:0",
        "/usr/local/share/bash-completion/completions/robot-policy-agent 644 0:0 …",
        "/usr/local/share/zsh/ 755 0:0",
        "/usr/local/share/zsh/site-functions/ 755 0:0",
        "/usr/local/share/zsh/site-functions/_robot-policy-agent 644 0:0 …",
        "/var/lib/robot-policy-agent/ 750 997:997",
      ]
    `);
    expect(await readFile(join(root, "etc/passwd"), "utf8")).toContain(
      "robot-policy-agent:x:997:997:Robot policy agent:/nonexistent:/usr/sbin/nologin\n",
    );
    expect(await readFile(join(root, "etc/shadow"), "utf8")).toMatch(/^robot-policy-agent:!\*:/m);
  });

  test("unit → starts the installed program with the Node beside it", async () => {
    await runInstall({ root }, setting);
    const unit = await readFile(join(root, UNIT), "utf8");
    expect(unit).toContain("\nExecStart=/usr/local/lib/robot-policy-agent/current/robot-policy-agent run\n");
    expect(unit).not.toContain("/usr/bin/robot-policy-agent");
    // Only the packages contain the manual.
    expect(unit).not.toContain("Documentation=");
    const folder = `/usr/local/lib/robot-policy-agent/${await readlink(join(root, CURRENT))}`;
    const [shebang] = (await readFile(join(root, folder, "robot-policy-agent"), "utf8")).split("\n");
    expect(shebang).toBe(`#!${folder}/node --disable-sigusr1`);
  });

  test("output → the user, the unit, and next steps that name the image; a second run → no change", async () => {
    const { stdout } = await runInstall({ root }, setting);
    expect(stdout.replaceAll(root, "ROOT")).toMatchInlineSnapshot(`
      "add the system user robot-policy-agent
      systemctl enable robot-policy-agent.service
      ok robot-policy-agent 1.0.0 is installed in ROOT
      Next:
        1. sudo /opt/node /checkout/dist/robot-policy-agent.cjs init --dir ROOT/etc/robot-policy-agent
        2. sudo /opt/node /checkout/dist/robot-policy-agent.cjs install --root ROOT --key-file FILE
      "
    `);
    const tree = describeTree(root);
    const { exitCode, stdout: again } = await runInstall({ root }, setting);
    expect([exitCode, again]).toEqual([0, expect.stringContaining("Nothing to change")]);
    expect(describeTree(root)).toEqual(tree);
  });

  test("installed program installs itself again → no change", async () => {
    await runInstall({ root }, setting);
    const folder = join(root, CURRENT, "..", await readlink(join(root, CURRENT)));
    await symlink("robot-policy-agent", join(folder, "robot-policy-agent.cjs"));
    const { stdout } = await runInstall({ root }, { ...setting, dist: folder, node: join(folder, "node") });
    expect(stdout).toContain("Nothing to change");
  });

  test("damaged program, changed mode and changed unit → restored", async () => {
    await runInstall({ root }, setting);
    const tree = describeTree(root);
    const folder = join(root, CURRENT, "..", await readlink(join(root, CURRENT)));
    await chmod(join(folder, "node"), 0o777);
    await writeFile(join(folder, "lib/yaml.cjs"), "damaged");
    await appendFile(join(root, UNIT), "# mine\n");
    await runInstall({ root }, setting);
    expect(describeTree(root)).toEqual(tree);
  });

  test("--dry-run → names every change, makes none", async () => {
    const tree = describeTree(root);
    const { stdout } = await runInstall(
      { root, dryRun: true, firstBoot: true, keyFile: "-" },
      { ...setting, input: KEY },
    );
    expect(describeTree(root)).toEqual(tree);
    await runInstall({ root, firstBoot: true, keyFile: "-" }, { ...setting, input: KEY });
    const made = describeTree(root).filter((line) => !tree.includes(line));
    const ofSystemd = /^\/etc\/(?:group|passwd|shadow|gshadow|systemd\/.*) /;
    const unnamed = made.filter(
      (line) => !/\/ /.test(line) && !ofSystemd.test(line) && !stdout.includes(line.split(" ")[0] ?? ""),
    );
    expect(unnamed).toEqual([]);
    expect(stdout).not.toContain(KEY);
  });

  test("existing configuration and a command from elsewhere → unchanged", async () => {
    await put(`${ETC}/config.yaml`, "mine\n");
    await linkTo("../lib/node_modules/robot-policy-agent/dist/robot-policy-agent.cjs", COMMAND);
    const before = describeTree(root);
    const { stderr } = await runInstall({ root }, setting);
    expect(stderr).toContain(`/${COMMAND} is another program's`);
    const accounts = ["/etc/passwd", "/etc/group", "/etc/shadow", "/etc/gshadow"];
    const kept = before.filter((line) => !accounts.some((path) => line.startsWith(`${path} `)));
    expect(describeTree(root)).toEqual(expect.arrayContaining(kept));
    await runUninstall({ root, purge: true }, setting);
    expect(await readlink(join(root, COMMAND))).toContain("node_modules");
  });

  test("upgrade → switches to the new version, keeps the previous one, removes older ones", async () => {
    const currentAndFolders: string[][] = [];
    for (const version of ["1.0.0", "1.1.0", "1.2.0", "1.3.0"]) {
      const dist = await workshop.makeDistribution(version);
      await runInstall({ root }, { ...setting, dist, version });
      const folders = describeTree(join(root, "usr/local/lib/robot-policy-agent/versions"))
        .filter((line) => /^\/[^/]+\/ /.test(line))
        .map((line) => line.slice(1, 6));
      currentAndFolders.push([(await readlink(join(root, CURRENT))).slice(9, 14), ...folders]);
    }
    expect(currentAndFolders).toEqual([
      ["1.0.0", "1.0.0"],
      ["1.1.0", "1.0.0", "1.1.0"],
      ["1.2.0", "1.1.0", "1.2.0"],
      ["1.3.0", "1.2.0", "1.3.0"],
    ]);
  });

  test.each(["file", "stdin"])("key from a %s → readable by the service user only, not in the output", async (from) => {
    const path = join(workshop.folder, "stick-key");
    await writeFile(path, `${KEY}\n`, { mode: 0o644 });
    const keyFile = from === "file" ? path : "-";
    const { exitCode, stdout, stderr } = await runInstall({ root, keyFile }, { ...setting, input: `${KEY}\n` });
    expect(exitCode).toBe(0);
    expect(await readFile(join(root, ETC, "api-key"), "utf8")).toBe(`${KEY}\n`);
    expect(describeTree(root).find((each) => each.startsWith(`/${ETC}/api-key`))).toMatch(/ 600 997:997 /);
    expect(stdout + stderr).not.toContain(KEY);
  });

  test.each([
    ["of another form", "hello\n", "key-form"],
    ["too large", "x".repeat(5000), "key-too-large"],
    ["missing", null, "not-installed"],
  ])("key %s → refused, nothing changes", async (_what, text, code) => {
    const tree = describeTree(root);
    const path = join(workshop.folder, "bad-key");
    await rm(path, { force: true });
    if (text !== null) await writeFile(path, text);
    const { exitCode, stderr } = await runInstall({ root, keyFile: path }, setting);
    expect([exitCode, stderr]).toEqual([1, expect.stringContaining(`[${code}]`)]);
    expect(describeTree(root)).toEqual(tree);
  });

  test.each([
    ["etc/systemd", "absolute"],
    ["etc/systemd/system", "absolute"],
    [WANTS, "absolute"],
    ["etc/systemd", "relative"],
    ["etc/passwd", "absolute"],
    ["usr/local/lib", "absolute"],
    ["usr/local/bin", "relative"],
    [ETC, "absolute"],
    [STATE, "relative"],
    ["usr/local/share/zsh", "absolute"],
    ["usr/local/lib/robot-policy-agent/versions", "relative"],
  ])("%s of the image is a link out of it (%s) → refused, nothing changes on this machine", async (path, kind) => {
    const outside = await workshop.makeImage();
    await rm(join(root, path), { recursive: true, force: true });
    const target = join(outside, path);
    if (!path.endsWith("passwd")) await mkdir(target, { recursive: true });
    await linkTo(kind === "absolute" ? target : relative(dirname(join(root, path)), target), path);
    const tree = describeTree(outside);
    const { exitCode, stderr } = await runInstall({ root, keyFile: "-" }, { ...setting, input: KEY });
    expect([exitCode, stderr]).toEqual([1, expect.stringContaining("[leads-out]")]);
    expect(describeTree(outside)).toEqual(tree);
    await runUninstall({ root, purge: true }, setting);
    expect(describeTree(outside)).toEqual(tree);
  });

  test("links inside the image → followed", async () => {
    await mkdir(join(root, "data/lib"), { recursive: true });
    await rm(join(root, "usr/local/lib"), { recursive: true });
    await symlink("../../data/lib", join(root, "usr/local/lib"));
    expect((await runInstall({ root }, setting)).exitCode).toBe(0);
    expect(await readFile(join(root, "data/lib/systemd/system/robot-policy-agent.service"), "utf8")).toContain(
      "[Unit]",
    );
  });

  test.each([
    ["not root", {}, { userId: 1000 }, "not-root"],
    ["root is not an image", { root: "/dev/shm" }, {}, "no-image"],
    ["missing root", { root: "/proc/missing" }, {}, "not-installed"],
    ["missing Node", { node: "/nonexistent" }, {}, "not-installed"],
    ["--node is another program", { node: "/bin/ls" }, {}, "unfit-node"],
    ["--node is another program that can run", { node: "/bin/true" }, { runProgram: systemPrograms }, "unfit-node"],
    ["configuration elsewhere", { config: "/tmp/config.yaml" }, {}, "fixed-places"],
  ])("%s → refused, nothing changes", async (_what, options, more, code) => {
    const tree = describeTree(root);
    const { exitCode, stderr } = await runInstall({ root, ...options }, { ...setting, ...more });
    expect(stderr).toContain(`[${code}]`);
    expect(exitCode).not.toBe(0);
    expect(describeTree(root)).toEqual(tree);
  });

  test.each(["lib/robot-policy-agent.cjs", "lib/yaml.cjs", "share/systemd/robot-policy-agent.service"])(
    "%s of the program is missing → named, nothing changes",
    async (name) => {
      const dist = await workshop.makeDistribution("1.0.0");
      await rm(join(dist, name));
      const tree = describeTree(root);
      expect((await runInstall({ root }, { ...setting, dist })).stderr).toContain(join(dist, name));
      expect(describeTree(root)).toEqual(tree);
    },
  );

  test("image for another architecture → refused without a Node for it", async () => {
    const node = await workshop.makeNode(ARM64);
    const { stderr } = await runInstall({ root }, { ...setting, node });
    expect(stderr).toMatch(/this Node is for arm64, but the machine is x86-64 .*\[unfit-node\]/);
    expect((await runInstall({ root, node: setting.node }, { ...setting, node })).exitCode).toBe(0);
  });

  test("Debian package installed → refused; package removed → installs", async () => {
    const list = "var/lib/dpkg/info/robot-policy-agent.list";
    await put(list, "/.\n/usr/bin/robot-policy-agent\n");
    expect((await runInstall({ root }, setting)).stderr).toContain("[package-installed]");
    expect((await runUninstall({ root }, setting)).stderr).toContain("apt-get purge robot-policy-agent");
    await put(list, "/.\n/etc/robot-policy-agent/config.example.yaml\n");
    expect((await runInstall({ root }, setting)).exitCode).toBe(0);
  });
});

describe.runIf(canFillImages)("uninstall --root (needs root and systemd)", () => {
  test("--purge → the tree before the installation; a repeat has nothing to do", async () => {
    const before = describeTree(root);
    await runInstall({ root, keyFile: "-", firstBoot: true }, { ...setting, input: KEY });
    await put("etc/systemd/system/robot-policy-agent.service.d/local.conf", "[Service]\n");
    const installed = describeTree(root);
    const { stdout } = await runUninstall({ root, dryRun: true, purge: true }, setting);
    expect(stdout).toContain(`would remove /${COMMAND}\n`);
    expect(describeTree(root)).toEqual(installed);

    expect((await runUninstall({ root }, setting)).stdout).toContain(
      `as root:\n  /opt/node /checkout/dist/robot-policy-agent.cjs uninstall --root ${root} --purge\n`,
    );
    expect((await runUninstall({ root, purge: true }, setting)).exitCode).toBe(0);
    expect(describeTree(root).filter((line) => !line.startsWith(`/${WANTS}/ `))).toEqual(before);
    const repeat = await runUninstall({ root, purge: true }, setting);
    expect(repeat).toMatchObject({ exitCode: 0, stderr: "" });
    expect(repeat.stdout).toContain("Nothing to remove");
  });

  test("without --purge → keeps configuration, key and registration, and names them", async () => {
    await runInstall({ root, keyFile: "-" }, { ...setting, input: KEY });
    await put(`${ETC}/config.yaml`, "mine\n");
    await put(`${STATE}/registration.json`, "{}\n");
    // Of an interrupted upgrade.
    await put("usr/local/lib/robot-policy-agent/unfinished", "1.0.0-0123456789ab\n");
    const { stdout } = await runUninstall({ root }, setting);
    expect(stdout).toContain(`Left: /${ETC}, /${STATE}, the user robot-policy-agent.`);
    const left = describeTree(root).filter((line) => line.includes("robot-policy"));
    expect(left.map((line) => line.split(" ")[0])).toEqual([
      `/${ETC}/`,
      `/${ETC}/api-key`,
      `/${ETC}/config.yaml`,
      `/${STATE}/`,
      `/${STATE}/registration.json`,
    ]);
    expect((await runUninstall({ root }, setting)).stdout).toContain("Nothing to remove");
  });

  test("--purge of folders that are links → removes the links, and names what they led to", async () => {
    for (const path of [STATE, "usr/local/lib/robot-policy-agent"]) {
      await mkdir(join(root, "data", path), { recursive: true });
      await linkTo(relative(dirname(path), join("data", path)), path);
    }
    await runInstall({ root, keyFile: "-" }, { ...setting, input: KEY });
    const { stdout, stderr } = await runUninstall({ root, purge: true }, setting);
    expect(stdout).toContain(`\nremove /${STATE}\n`);
    expect(stderr).toMatchInlineSnapshot(`
      "/var/lib/robot-policy-agent is a link; what it leads to stays: ../../data/var/lib/robot-policy-agent
      /usr/local/lib/robot-policy-agent is a link; what it leads to stays: ../../../data/usr/local/lib/robot-policy-agent
      The service still knows a robot that was registered here. To remove it there: robot-policy robots remove NAME
      "
    `);
    expect(describeTree(root).filter((line) => line.includes("robot-policy-agent ->"))).toEqual([]);
  });
});
