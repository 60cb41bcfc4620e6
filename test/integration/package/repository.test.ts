/**
 * The apt repository, as apt sees it: with folders of its own, so that nothing of this machine is read or changed.
 *
 * @module-tag needs/program
 */
import { mkdtempSync } from "node:fs";
import { appendFile, cp, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import manifest from "../../../package.json" with { type: "json" };
import { makePackages } from "../../../scripts/packaging/make.ts";
import { findSecretKey, publish } from "../../../scripts/packaging/repository.ts";
import { execute } from "../../support/programs/execute.ts";
import { hasProgram } from "../../support/programs/programs.ts";
import { smallNode } from "./small-node.ts";

const PROGRAMS = ["apt-ftparchive", "apt-get", "dpkg-deb", "gpg"];
const missing = PROGRAMS.filter((program) => !hasProgram(program));
const NEWER = "9.0.0";
const ARCHITECTURES = ["amd64", "arm64"] as const;
const NAMES = ["robot-policy-agent", "robot-policy"] as const;

describe.skipIf(missing.length > 0)(`scripts/package --repository (needs ${PROGRAMS.join(", ")})`, () => {
  const work = mkdtempSync(join(tmpdir(), "repository-"));
  const folder = join(work, "repository");
  const key = "release@robot-policy-agent.invalid";
  const debs: Record<string, readonly string[]> = {};
  let former: string | undefined;

  beforeAll(async () => {
    former = process.env["GNUPGHOME"];
    process.env["GNUPGHOME"] = join(work, "gpg");
    await mkdir(join(work, "gpg"), { mode: 0o700 });
    for (const address of [key, "other@robot-policy-agent.invalid"]) {
      await execute(["gpg", "--batch", "--quiet", "--passphrase", "", "--quick-gen-key", address]);
    }
    for (const version of [manifest.version, NEWER]) {
      const options = { names: NAMES, architectures: ARCHITECTURES, out: join(work, version), isFast: true, version };
      const made = await makePackages(options, smallNode);
      debs[version] = made.filter((path) => path.endsWith(".deb"));
    }
    await publish({ folder, debs: debs[manifest.version] ?? [], key });
  }, 120_000);

  afterAll(async () => {
    await execute(["gpgconf", "--kill", "gpg-agent"]);
    if (former === undefined) delete process.env["GNUPGHOME"];
    else process.env["GNUPGHOME"] = former;
    await rm(work, { recursive: true, force: true });
  });

  /** A computer with the repository: apt with folders of its own, the .sources file, and the public key. */
  async function computer(name: string, architecture = "amd64", repository = folder) {
    const root = join(work, name);
    const [lists, parts] = [join(root, "lists/partial"), join(root, "etc/sources.list.d")];
    for (const each of [lists, parts, join(root, "cache/archives/partial")]) await mkdir(each, { recursive: true });
    const keyFile = join(root, "etc/robot-policy.asc");
    await cp(join(folder, "robot-policy.asc"), keyFile);
    const sources = await readFile(join(repository, "robot-policy.sources"), "utf8");
    await writeFile(join(parts, "robot-policy.sources"), sources.replace(/(?<=^Signed-By: ).*/m, keyFile));
    await writeFile(join(root, "status"), "");
    const settings = {
      "APT::Architecture": architecture,
      "APT::Architectures": architecture,
      "APT::Sandbox::User": "",
      "Dir::Cache": join(root, "cache"),
      "Dir::Etc": join(root, "etc"),
      "Dir::State": root,
      "Dir::State::Lists": join(root, "lists"),
      "Dir::State::status": join(root, "status"),
    };
    const options = Object.entries(settings).flatMap(([option, value]) => ["-o", `${option}=${value}`]);
    const apt = (program: string, ...argv: readonly string[]) =>
      execute([program, ...options, ...argv], { may_fail: true, environment: { LC_ALL: "C" } });
    return { apt, update: () => apt("apt-get", "--error-on=any", "update") };
  }

  test.each(ARCHITECTURES)("%s → apt takes signature and index, and offers both packages", async (architecture) => {
    const { apt, update } = await computer(`clean-${architecture}`, architecture);
    const { code, stdout, stderr } = await update();
    expect([code, stderr], stdout).toEqual([0, ""]);
    for (const name of NAMES) {
      const { stdout: shown } = await apt("apt-cache", "show", name);
      expect(shown).toContain(`Filename: pool/${name}_${manifest.version}_${architecture}.deb`);
    }
  });

  test("a newer version → the candidate; the one before is still there", async () => {
    const copy = join(work, "two-versions");
    await cp(folder, copy, { recursive: true });
    await publish({ folder: copy, debs: debs[NEWER] ?? [], key });
    const { apt, update } = await computer("upgraded", "arm64", copy);
    expect((await update()).code).toBe(0);
    for (const name of NAMES) {
      const { stdout } = await apt("apt-cache", "policy", name);
      expect(stdout).toContain(`Candidate: ${NEWER}`);
      expect(stdout).toContain(` ${manifest.version} 500`);
    }
    // Once more: nothing changes but the date.
    const index = () => readFile(join(copy, "dists/stable/main/binary-arm64/Packages"), "utf8");
    const before = await index();
    await publish({ folder: copy, debs: debs[NEWER] ?? [], key });
    expect(await index()).toBe(before);
  });

  test.each([
    [
      "the index is changed",
      (copy: string) => appendFile(join(copy, "dists/stable/main/binary-amd64/Packages.gz"), "x"),
    ],
    ["the signed file is changed", (copy: string) => appendFile(join(copy, "dists/stable/InRelease"), "\nOrigin: x\n")],
    [
      "another key signs",
      (copy: string) => publish({ folder: copy, debs: [], key: "other@robot-policy-agent.invalid" }),
    ],
  ])("%s → apt refuses it", async (what, change) => {
    const name = what.replaceAll(" ", "-");
    const copy = join(work, name);
    await cp(folder, copy, { recursive: true });
    const file = join(copy, "robot-policy.sources");
    await writeFile(file, (await readFile(file, "utf8")).replace(folder, copy));
    await rm(join(copy, "dists/stable/main/binary-amd64/Packages"));
    expect((await (await computer(`${name}-before`, "amd64", copy)).update()).code).toBe(0);
    await change(copy);
    expect((await (await computer(`${name}-after`, "amd64", copy)).update()).code).not.toBe(0);
  });

  test("the same version with other content → refused, and the repository stays as it was", async () => {
    const other = join(work, "other", `robot-policy_${manifest.version}_amd64.deb`);
    await mkdir(join(work, "other"));
    await writeFile(other, "other");
    const before = await readFile(join(folder, "dists/stable/InRelease"), "utf8");
    await expect(publish({ folder, debs: [other], key })).rejects.toThrow("is published with other content");
    expect(await readFile(join(folder, "dists/stable/InRelease"), "utf8")).toBe(before);
  });

  test("the file for computers → deb822, with the key that signs and the address that was given", async () => {
    const copy = join(work, "with-url");
    await publish({ folder: copy, debs: [], key, url: "https://packages.example.com/robots" });
    expect(await readFile(join(copy, "robot-policy.sources"), "utf8")).toMatchInlineSnapshot(`
      "# With the key beside this file: install -D -m 644 robot-policy.asc /etc/apt/keyrings/robot-policy.asc
      Types: deb
      URIs: https://packages.example.com/robots
      Suites: stable
      Components: main
      Signed-By: /etc/apt/keyrings/robot-policy.asc
      "
    `);
  });

  test("a key that gpg does not have → said before anything is built", async () => {
    await expect(findSecretKey("nobody@robot-policy-agent.invalid")).rejects.toThrow(/No secret key/);
  });
});

describe("scripts/package", () => {
  test.each([
    [["--repository", "x"], "--repository and --sign need each other"],
    [["--sign", "x"], "--repository and --sign need each other"],
    [["--url", "https://x"], "--url needs --repository"],
  ])("%j → exit 2: %s", async (flags, message) => {
    const script = join(import.meta.dirname, "../../../scripts/packaging/package.ts");
    const { code, stderr } = await execute([process.execPath, script, ...flags], { may_fail: true });
    expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
  });
});
