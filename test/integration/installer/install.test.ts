/** @module-tag needs/root */
import { appendFile, chmod, mkdir, readFile, readlink, rm, symlink, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

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
const WANTS = "etc/systemd/system/multi-user.target.wants";
const KEY = "sk_test_0123456789abcdef";

let workshop: Workshop;
let setting: Setting;
beforeAll(async () => {
  workshop = await openWorkshop();
  setting = { dist: await workshop.makeDistribution("1.0.0"), node: await workshop.makeNode() };
});
afterAll(async () => workshop[Symbol.asyncDispose]());

describe.runIf(canFillImages)("install --root (needs root and systemd)", () => {
  test("first run → program, Node, units, user, examples and completion, with their modes", async () => {
    const root = await workshop.makeImage();
    const before = new Set(describeTree(root));
    const { exitCode } = await runInstall({ root }, setting);
    expect(exitCode).toBe(0);
    const tree = describeTree(root);
    const added = tree.filter((line) => !before.has(line));
    // In its folder, the version has a copy of each file that it puts elsewhere.
    const COPY = /^\/usr\/local\/lib\/robot-policy-agent\/versions\/[^/]+\/files(?=\/\w)/;
    const copies = added.filter((line) => COPY.test(line)).map((line) => line.replace(COPY, ""));
    expect(copies.length).toBeGreaterThan(8);
    expect(tree).toEqual(expect.arrayContaining(copies));
    const shown = added
      .filter((line) => !COPY.test(line))
      .map((line) => line.replaceAll(/[0-9a-f]{16}$|(?<=1\.0\.0-)[0-9a-f]{12}/g, "…"));
    expect(shown).toMatchInlineSnapshot(`
      [
        "/etc/group 644 0:0 …",
        "/etc/gshadow 640 0:0 …",
        "/etc/passwd 644 0:0 …",
        "/etc/robot-policy-agent/ 755 0:0",
        "/etc/robot-policy-agent/config.example.yaml 644 0:0 …",
        "/etc/robot-policy-agent/robot-manifest.example.yaml 644 0:0 …",
        "/etc/shadow 640 0:0 …",
        "/etc/systemd/system/multi-user.target.wants/ 755 0:0",
        "/etc/systemd/system/multi-user.target.wants/robot-policy-agent.service -> /usr/local/lib/systemd/system/robot-policy-agent.service",
        "/etc/sysusers.d/ 755 0:0",
        "/etc/sysusers.d/robot-policy-agent.conf 644 0:0 …",
        "/usr/local/ 755 0:0",
        "/usr/local/bin/ 755 0:0",
        "/usr/local/bin/robot-policy-agent -> ../lib/robot-policy-agent/current/robot-policy-agent",
        "/usr/local/lib/ 755 0:0",
        "/usr/local/lib/robot-policy-agent/ 755 0:0",
        "/usr/local/lib/robot-policy-agent/current -> versions/1.0.0-…",
        "/usr/local/lib/robot-policy-agent/versions/ 755 0:0",
        "/usr/local/lib/robot-policy-agent/versions/1.0.0-…/ 755 0:0",
        "/usr/local/lib/robot-policy-agent/versions/1.0.0-…/files/ 755 0:0",
        "/usr/local/lib/robot-policy-agent/versions/1.0.0-…/lib/ 755 0:0",
        "/usr/local/lib/robot-policy-agent/versions/1.0.0-…/lib/robot-policy-agent.cjs 644 0:0 …",
        "/usr/local/lib/robot-policy-agent/versions/1.0.0-…/lib/zod.cjs 644 0:0 …",
        "/usr/local/lib/robot-policy-agent/versions/1.0.0-…/node 755 0:0 …",
        "/usr/local/lib/robot-policy-agent/versions/1.0.0-…/robot-policy-agent 755 0:0 …",
        "/usr/local/lib/robot-policy-agent/versions/1.0.0-…/share/ 755 0:0",
        "/usr/local/lib/robot-policy-agent/versions/1.0.0-…/share/config/ 755 0:0",
        "/usr/local/lib/robot-policy-agent/versions/1.0.0-…/share/config/config.example.yaml 644 0:0 …",
        "/usr/local/lib/robot-policy-agent/versions/1.0.0-…/share/config/robot-manifest.example.yaml 644 0:0 …",
        "/usr/local/lib/robot-policy-agent/versions/1.0.0-…/share/systemd/ 755 0:0",
        "/usr/local/lib/robot-policy-agent/versions/1.0.0-…/share/systemd/growing-delay.conf 644 0:0 …",
        "/usr/local/lib/robot-policy-agent/versions/1.0.0-…/share/systemd/robot-policy-agent-setup.service 644 0:0 …",
        "/usr/local/lib/robot-policy-agent/versions/1.0.0-…/share/systemd/robot-policy-agent.service 644 0:0 …",
        "/usr/local/lib/robot-policy-agent/versions/1.0.0-…/share/systemd/robot-policy-agent.sysusers 644 0:0 …",
        "/usr/local/lib/systemd/ 755 0:0",
        "/usr/local/lib/systemd/system/ 755 0:0",
        "/usr/local/lib/systemd/system/robot-policy-agent-setup.service 644 0:0 …",
        "/usr/local/lib/systemd/system/robot-policy-agent.service 644 0:0 …",
        "/usr/local/lib/systemd/system/robot-policy-agent.service.d/ 755 0:0",
        "/usr/local/lib/systemd/system/robot-policy-agent.service.d/growing-delay.conf 644 0:0 …",
        "/usr/local/share/ 755 0:0",
        "/usr/local/share/bash-completion/ 755 0:0",
        "/usr/local/share/bash-completion/completions/ 755 0:0",
        "/usr/local/share/bash-completion/completions/robot-policy-agent 644 0:0 …",
        "/usr/local/share/zsh/ 755 0:0",
        "/usr/local/share/zsh/site-functions/ 755 0:0",
        "/usr/local/share/zsh/site-functions/_robot-policy-agent 644 0:0 …",
        "/var/lib/robot-policy-agent/ 750 997:997",
        "/var/lib/robot-policy-agent-install/ 700 0:0",
        "/var/lib/robot-policy-agent-install/made-folders 600 0:0 …",
      ]
    `);
    expect(await readFile(join(root, "etc/passwd"), "utf8")).toContain(
      "robot-policy-agent:x:997:997:Robot policy agent:/nonexistent:/usr/sbin/nologin\n",
    );
    expect(await readFile(join(root, "etc/shadow"), "utf8")).toMatch(/^robot-policy-agent:!\*:/m);
  });

  test("unit → starts the installed program with the Node beside it", async () => {
    const root = await workshop.makeImage();
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

  test("second run → changes nothing and says so", async () => {
    const root = await workshop.makeImage();
    await runInstall({ root }, setting);
    const tree = describeTree(root);
    const { exitCode, stdout } = await runInstall({ root, json: true }, setting);
    expect(exitCode).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ changed: false, changes: [], kept: [] });
    expect(describeTree(root)).toEqual(tree);
  });

  test("next steps → commands that name the image", async () => {
    const root = await workshop.makeImage();
    const { stdout } = await runInstall({ root, json: true }, setting);
    expect(JSON.parse(stdout).next).toEqual([
      `sudo /opt/node /checkout/dist/robot-policy-agent.cjs init --dir ${root}/etc/robot-policy-agent`,
      `sudo /opt/node /checkout/dist/robot-policy-agent.cjs install --root ${root} --key-file FILE`,
    ]);
  });

  test("next steps of a robot that enrolled → no key", async () => {
    const root = await workshop.makeImage();
    await mkdir(join(root, "var/lib/robot-policy-agent"), { recursive: true });
    await writeFile(join(root, "var/lib/robot-policy-agent/identity-credential.json"), "{}\n");
    const { stdout } = await runInstall({ root, json: true }, setting);
    expect(JSON.parse(stdout).next).toEqual([
      `sudo /opt/node /checkout/dist/robot-policy-agent.cjs init --dir ${root}/etc/robot-policy-agent`,
    ]);
  });

  test("installed program installs itself again → no change", async () => {
    const root = await workshop.makeImage();
    await runInstall({ root }, setting);
    const folder = join(root, CURRENT, "..", await readlink(join(root, CURRENT)));
    await symlink("robot-policy-agent", join(folder, "robot-policy-agent.cjs"));
    const { stdout } = await runInstall({ root, json: true }, { ...setting, dist: folder, node: join(folder, "node") });
    expect(JSON.parse(stdout)).toMatchObject({ changed: false });
  });

  test("--dry-run → names every change, makes none", async () => {
    const root = await workshop.makeImage();
    const tree = describeTree(root);
    const dryRun = await runInstall({ root, dryRun: true, firstBoot: true, json: true }, setting);
    expect(describeTree(root)).toEqual(tree);
    const realRun = await runInstall({ root, firstBoot: true, json: true }, setting);
    expect(JSON.parse(dryRun.stdout).changes).toEqual(JSON.parse(realRun.stdout).changes);
    const made = describeTree(root).filter((line) => !tree.includes(line));
    const named = new Set(JSON.parse(realRun.stdout).changes.map(({ path }: { path?: string }) => path));
    const ofSystemd = /^\/etc\/(?:group|passwd|shadow|gshadow|systemd\/.*) /;
    const unnamed = made.filter((line) => !ofSystemd.test(line) && !named.has(line.replace(/\/? .*/, "")));
    expect(unnamed).toEqual([]);
  });

  test.each([
    [{}, ["robot-policy-agent.service"]],
    [{ firstBoot: true }, ["robot-policy-agent-setup.service", "robot-policy-agent.service"]],
    [{ enable: false }, []],
  ])("%o → enables %o", async (options, units) => {
    const root = await workshop.makeImage();
    await runInstall({ root, ...options }, setting);
    const links = describeTree(root).filter((line) => line.startsWith(`/${WANTS}/`) && line.includes(" -> "));
    expect(links).toEqual(units.map((unit) => `/${WANTS}/${unit} -> /usr/local/lib/systemd/system/${unit}`));
  });

  test("unit disabled or masked by a person → stays so", async () => {
    const root = await workshop.makeImage();
    await runInstall({ root }, setting);
    await rm(join(root, WANTS, "robot-policy-agent.service"));
    const next = { ...setting, dist: await workshop.makeDistribution("1.1.0"), version: "1.1.0" };
    await runInstall({ root }, next);
    await expect(readlink(join(root, WANTS, "robot-policy-agent.service"))).rejects.toThrow("ENOENT");

    const masked = await workshop.makeImage();
    await mkdir(join(masked, "etc/systemd/system"), { recursive: true });
    await symlink("/dev/null", join(masked, "etc/systemd/system/robot-policy-agent.service"));
    await symlink("/dev/null", join(masked, "etc/systemd/system/robot-policy-agent-setup.service"));
    const { stderr } = await runInstall({ root: masked, firstBoot: true }, setting);
    expect(stderr.replaceAll(masked, "ROOT")).toMatchInlineSnapshot(`
      "warning: robot-policy-agent-setup.service is masked, and stays so; to enable it: systemctl --root=ROOT unmask robot-policy-agent-setup.service; systemctl --root=ROOT enable robot-policy-agent-setup.service
      warning: robot-policy-agent.service is masked, and stays so; to enable it: systemctl --root=ROOT unmask robot-policy-agent.service; systemctl --root=ROOT enable robot-policy-agent.service
      "
    `);
    expect(await readlink(join(masked, "etc/systemd/system/robot-policy-agent.service"))).toBe("/dev/null");
    await expect(readlink(join(masked, WANTS, "robot-policy-agent.service"))).rejects.toThrow("ENOENT");
  });

  test("edited unit → kept, the path of this version's unit is shown", async () => {
    const root = await workshop.makeImage();
    await runInstall({ root }, setting);
    await appendFile(join(root, UNIT), "# mine\n");
    const edited = await readFile(join(root, UNIT), "utf8");
    const repeat = await runInstall({ root, json: true }, setting);
    expect(JSON.parse(repeat.stdout)).toMatchObject({ changed: false, kept: [{ path: `/${UNIT}` }] });

    const dist = await workshop.makeDistribution("1.1.0");
    await appendFile(join(dist, "share/systemd/robot-policy-agent.service"), "# theirs\n");
    const upgraded = await runInstall({ root }, { ...setting, dist, version: "1.1.0" });
    expect(await readFile(join(root, UNIT), "utf8")).toBe(edited);
    const [, shipped = ""] =
      /^kept: \S+ was edited and stays as it is; this version's file: (\S+)\n$/.exec(upgraded.stderr) ?? [];
    expect(await readFile(join(root, shipped), "utf8")).toContain("# theirs\n");
  });

  test("existing configuration and a command from elsewhere → unchanged", async () => {
    const root = await workshop.makeImage();
    await mkdir(join(root, "etc/robot-policy-agent"), { recursive: true });
    await mkdir(join(root, "usr/local/bin"), { recursive: true });
    await writeFile(join(root, "etc/robot-policy-agent/config.yaml"), "mine\n");
    await symlink(
      "../lib/node_modules/robot-policy-agent/dist/robot-policy-agent.cjs",
      join(root, "usr/local/bin/robot-policy-agent"),
    );
    const before = describeTree(root);
    const { stdout } = await runInstall({ root, json: true }, setting);
    expect(JSON.parse(stdout).kept).toEqual([{ path: "/usr/local/bin/robot-policy-agent", shipped: null }]);
    const after = describeTree(root);
    const accounts = ["/etc/passwd", "/etc/group", "/etc/shadow", "/etc/gshadow"];
    const kept = before.filter((line) => !accounts.some((path) => line.startsWith(`${path} `)));
    expect(after).toEqual(expect.arrayContaining(kept));
    await runUninstall({ root, purge: true }, setting);
    expect(await readlink(join(root, "usr/local/bin/robot-policy-agent"))).toContain("node_modules");
  });

  test("upgrade → switches to the new version, keeps the previous one, removes older ones", async () => {
    const root = await workshop.makeImage();
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

  test.each(["file", "stdin"])(
    "key from a %s → readable by the service user only, not in the output",
    async (source) => {
      const root = await workshop.makeImage();
      const path = join(workshop.folder, "stick-key");
      await writeFile(path, `${KEY}\n`, { mode: 0o600 });
      const options = source === "file" ? { keyFile: path } : { keyStdin: true };
      const { exitCode, stdout, stderr } = await runInstall(
        { root, ...options, json: true },
        { ...setting, input: `${KEY}\n` },
      );
      expect(exitCode).toBe(0);
      expect(await readFile(join(root, "etc/robot-policy-agent/api-key"), "utf8")).toBe(`${KEY}\n`);
      const line = describeTree(root).find((each) => each.startsWith("/etc/robot-policy-agent/api-key"));
      expect(line).toMatch(/ 600 997:997 /);
      expect(stdout + stderr).not.toContain(KEY);
    },
  );

  test.each([
    ["empty", "\n", "key-empty"],
    ["with a Windows line ending", `${KEY}\r\n`, "key-line-ending"],
    ["of another form", "hello\n", "key-form"],
    ["too large", "x".repeat(5000), "key-too-large"],
  ])("key %s → refused, nothing changes", async (_what, text, code) => {
    const root = await workshop.makeImage();
    const tree = describeTree(root);
    const path = join(workshop.folder, "bad-key");
    await writeFile(path, text);
    const { exitCode, stderr } = await runInstall({ root, keyFile: path }, setting);
    expect(exitCode).toBe(1);
    expect(stderr).toContain(`[${code}]`);
    expect(describeTree(root)).toEqual(tree);
  });

  test("links out of a hostile image → resolved inside the image", async () => {
    const root = await workshop.makeImage();
    const outside = join(workshop.folder, "outside");
    await mkdir(outside, { recursive: true });
    await mkdir(join(root, "usr/local"));
    await symlink(outside, join(root, "usr/local/lib"));
    await symlink("../../../../../../../../../../../../../../tmp", join(root, "usr/local/bin"));
    await symlink(`${outside}/etc`, join(root, "etc/robot-policy-agent"));
    await mkdir(join(root, outside, "etc"), { recursive: true });
    await runInstall({ root }, setting);
    expect(describeTree(outside)).toEqual([]);
    // Links resolve as on a machine with this root.
    expect(await readFile(join(root, outside, "systemd/system/robot-policy-agent.service"), "utf8")).toContain(
      "[Unit]",
    );
    expect(await readlink(join(root, "tmp/robot-policy-agent"))).toContain("current");
    await runUninstall({ root, purge: true }, setting);
    expect(describeTree(outside)).toEqual([]);
  });

  test.each([
    ["etc/systemd", "absolute"],
    ["etc/systemd/system", "absolute"],
    ["etc/systemd/system/multi-user.target.wants", "absolute"],
    ["etc/systemd", "relative"],
    ["etc/passwd", "absolute"],
  ])("%s of the image is a link out of it (%s) → refused, nothing changes on this machine", async (path, kind) => {
    const root = await workshop.makeImage();
    const outside = await workshop.makeImage();
    await rm(join(root, path), { recursive: true, force: true });
    const target = join(outside, path);
    if (path.endsWith("wants")) await mkdir(target, { recursive: true });
    await symlink(kind === "absolute" ? target : relative(dirname(join(root, path)), target), join(root, path));
    const tree = describeTree(outside);
    for (const ran of [await runInstall({ root }, setting), await runUninstall({ root }, setting)]) {
      expect(ran.exitCode).toBe(1);
      expect(ran.stderr).toContain("[leads-out]");
    }
    expect(describeTree(outside)).toEqual(tree);
  });

  test.each([
    ["not root", {}, { userId: 1000 }, "not-root"],
    ["root is not an image", { root: "/dev/shm" }, {}, "no-image"],
    ["missing root", { root: "/proc/missing" }, {}, "no-root"],
    ["missing Node", { node: "/nonexistent" }, {}, "node-missing"],
    ["--node is another program", { node: "/bin/ls" }, {}, "not-a-node"],
    ["--node is another program that can run", { node: "/bin/true" }, { runProgram: systemPrograms }, "not-a-node"],
    ["two sources of the key", { keyFile: "/key", keyStdin: true }, {}, "two-keys"],
    ["configuration elsewhere", { config: "/tmp/config.yaml" }, {}, "fixed-places"],
  ])("%s → refused, nothing changes", async (_what, options, more, code) => {
    const root = await workshop.makeImage();
    const tree = describeTree(root);
    const { exitCode, stderr } = await runInstall({ root, ...options }, { ...setting, ...more });
    expect(stderr).toContain(`[${code}]`);
    expect(exitCode).not.toBe(0);
    expect(describeTree(root)).toEqual(tree);
  });

  test("image for another architecture → refused without a Node for it", async () => {
    const root = await workshop.makeImage();
    const node = await workshop.makeNode(ARM64);
    const refused = await runInstall({ root }, { ...setting, node });
    // This Node cannot run here: its version is read from the file.
    expect((await runInstall({ root, node }, setting)).stderr).toContain("[wrong-architecture]");
    expect(refused.stderr).toContain("this Node is for arm64, but the machine is x86-64");
    expect((await runInstall({ root, node: setting.node }, { ...setting, node })).exitCode).toBe(0);
  });

  test("Debian package installed → refused; package removed → installs", async () => {
    const root = await workshop.makeImage();
    await mkdir(join(root, "var/lib/dpkg/info"), { recursive: true });
    const list = join(root, "var/lib/dpkg/info/robot-policy-agent.list");
    await writeFile(list, "/.\n/usr/bin/robot-policy-agent\n");
    expect((await runInstall({ root }, setting)).stderr).toContain("[package-installed]");
    expect((await runUninstall({ root }, setting)).stderr).toContain("apt-get purge robot-policy-agent");
    await writeFile(list, "/.\n/etc/robot-policy-agent/config.example.yaml\n");
    expect((await runInstall({ root }, setting)).exitCode).toBe(0);
  });

  test.each(["registration", "identity-key", "identity-enrolment", "identity-credential"])(
    "downgrade to an agent that cannot read %s.json → refused, nothing changes",
    async (name) => {
      const root = await workshop.makeImage();
      await mkdir(join(root, "var/lib/robot-policy-agent"));
      const file = join(root, `var/lib/robot-policy-agent/${name}.json`);
      await writeFile(file, '{\n  "schema_version": 2,\n  "x": 1\n}\n');
      const tree = describeTree(root);
      const { exitCode, stderr } = await runInstall({ root }, setting);
      expect(exitCode).toBe(1);
      expect(stderr).toContain("[newer-state]");
      expect(describeTree(root)).toEqual(tree);
    },
  );

  test.each(["usr/local/lib/robot-policy-agent", UNIT.slice(0, -"/robot-policy-agent.service".length)])(
    "a file in the place of %s → named, nothing changes",
    async (path) => {
      const root = await workshop.makeImage();
      await mkdir(join(root, path, ".."), { recursive: true });
      await writeFile(join(root, path), "in the way");
      const tree = describeTree(root);
      const { stderr } = await runInstall({ root }, setting);
      expect(stderr).toContain(`/${path}`);
      expect(describeTree(root)).toEqual(tree);
    },
  );

  test("changed mode of the program → restored", async () => {
    const root = await workshop.makeImage();
    await runInstall({ root }, setting);
    const node = join(root, CURRENT, "..", await readlink(join(root, CURRENT)), "node");
    await chmod(node, 0o777);
    const { stdout } = await runInstall({ root, json: true }, setting);
    expect(JSON.parse(stdout).changes).toMatchObject([{ action: "set-access", mode: "0755" }]);
  });
});

describe.runIf(canFillImages)("uninstall --root (needs root and systemd)", () => {
  test("--purge → the tree before the installation; a repeat has nothing to do", async () => {
    const root = await workshop.makeImage();
    const before = describeTree(root);
    await runInstall({ root, keyStdin: true, firstBoot: true }, { ...setting, input: KEY });
    expect((await runUninstall({ root }, setting)).stdout).toContain(
      `as root:\n  /opt/node /checkout/dist/robot-policy-agent.cjs uninstall --root ${root} --purge\n`,
    );
    expect((await runUninstall({ root, purge: true }, setting)).exitCode).toBe(0);
    expect(describeTree(root)).toEqual(before);
    const repeat = await runUninstall({ root, purge: true }, setting);
    expect(repeat).toMatchObject({ exitCode: 0, stderr: "" });
    expect(repeat.stdout).toContain("Nothing to remove");
  });

  test("--purge with the account of a person of that name → the account stays, and that is said", async () => {
    const root = await workshop.makeImage();
    const person = "robot-policy-agent:x:1500:1500::/home/robot-policy-agent:/bin/bash\n";
    await appendFile(join(root, "etc/passwd"), person);
    await runInstall({ root }, setting);
    const { exitCode, stderr } = await runUninstall({ root, purge: true }, setting);
    expect([exitCode, stderr]).toEqual([0, expect.stringContaining("The account robot-policy-agent stays")]);
    expect(await readFile(join(root, "etc/passwd"), "utf8")).toContain(person);
  });

  test("--purge of folders that are links → removes the links, and names what they led to", async () => {
    const root = await workshop.makeImage();
    for (const path of ["var/lib/robot-policy-agent", "usr/local/lib/robot-policy-agent"]) {
      await mkdir(join(root, "data", path), { recursive: true });
      await mkdir(join(root, path, ".."), { recursive: true });
      await symlink(`/data/${path}`, join(root, path));
    }
    await runInstall({ root, keyStdin: true }, { ...setting, input: KEY });
    const { stdout, stderr } = await runUninstall({ root, purge: true }, setting);
    expect(stdout).toContain("\nremove /var/lib/robot-policy-agent\n");
    expect(stderr).toMatchInlineSnapshot(`
      "kept: /var/lib/robot-policy-agent is a link; what it leads to stays: /data/var/lib/robot-policy-agent
      kept: /usr/local/lib/robot-policy-agent is a link; what it leads to stays: /data/usr/local/lib/robot-policy-agent
      The service still knows a robot that was registered here. To remove it there: robot-policy robots remove NAME
      "
    `);
    expect(describeTree(root).filter((line) => line.includes("robot-policy-agent ->"))).toEqual([]);
    const { stdout: json } = await runUninstall({ root, purge: true, json: true }, setting);
    expect(JSON.parse(json)).toMatchObject({ changed: false, kept: [] });
  });

  test("without --purge → keeps configuration, key, registration and edits, and names them", async () => {
    const root = await workshop.makeImage();
    await runInstall({ root, keyStdin: true }, { ...setting, input: KEY });
    await writeFile(join(root, "etc/robot-policy-agent/config.yaml"), "mine\n");
    await writeFile(join(root, "var/lib/robot-policy-agent/registration.json"), "{}\n");
    await appendFile(join(root, UNIT), "# mine\n");
    // Of an interrupted upgrade.
    await writeFile(join(root, "var/lib/robot-policy-agent-install/switching"), "1.0.0-0123456789ab\n");
    const { stdout, stderr } = await runUninstall({ root }, setting);
    expect(stderr).toBe(`kept: /${UNIT} was edited and stays\n`);
    expect(stdout).toContain(
      "Left: /etc/robot-policy-agent, /var/lib/robot-policy-agent, the user robot-policy-agent.",
    );
    const left = describeTree(root).filter((line) => line.includes("robot-policy") && !line.endsWith("/"));
    expect(left.map((line) => line.split(" ")[0])).toEqual([
      "/etc/robot-policy-agent/",
      "/etc/robot-policy-agent/api-key",
      "/etc/robot-policy-agent/config.yaml",
      `/${UNIT}`,
      "/var/lib/robot-policy-agent/",
      "/var/lib/robot-policy-agent/registration.json",
      // Kept for a later --purge.
      "/var/lib/robot-policy-agent-install/",
      "/var/lib/robot-policy-agent-install/made-folders",
    ]);
    const repeat = await runUninstall({ root }, setting);
    expect(repeat.stdout).toContain("Nothing to remove");
  });

  test("edited file, uninstall, install again, --purge → the tree before the installation", async () => {
    const root = await workshop.makeImage();
    const before = describeTree(root);
    await runInstall({ root }, setting);
    await appendFile(join(root, UNIT), "# mine\n");
    await runUninstall({ root }, setting);
    await runInstall({ root }, setting);
    expect(await readFile(join(root, UNIT), "utf8")).toContain("# mine\n");
    await runUninstall({ root, purge: true }, setting);
    expect(describeTree(root)).toEqual(before);
  });

  test("--dry-run → removes nothing", async () => {
    const root = await workshop.makeImage();
    await runInstall({ root }, setting);
    const tree = describeTree(root);
    const { stdout } = await runUninstall({ root, dryRun: true, purge: true }, setting);
    expect(stdout).toContain("would remove /usr/local/bin/robot-policy-agent\n");
    expect(describeTree(root)).toEqual(tree);
  });

  test("unit enabled after the installation → disabled too", async () => {
    const root = await workshop.makeImage();
    await runInstall({ root, enable: false }, setting);
    await mkdir(join(root, WANTS), { recursive: true });
    await symlink(
      "/usr/local/lib/systemd/system/robot-policy-agent.service",
      join(root, WANTS, "robot-policy-agent.service"),
    );
    await runUninstall({ root }, setting);
    await expect(readlink(join(root, WANTS, "robot-policy-agent.service"))).rejects.toThrow("ENOENT");
  });

  test("install after uninstall → enables the unit as a first installation does", async () => {
    const root = await workshop.makeImage();
    await runInstall({ root, enable: false }, setting);
    await runUninstall({ root }, setting);
    await runInstall({ root }, setting);
    expect(await readlink(join(root, WANTS, "robot-policy-agent.service"))).toContain("/usr/local/lib/systemd/system");
  });
});
