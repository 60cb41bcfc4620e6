import { chmod, cp, mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { gzipSync } from "node:zlib";

import { completionScripts } from "../../src/cli/completion.ts";
import { runProgram } from "../support/run-program.ts";
import { type BundledPackage, bundledPackages, CONSOLE_PART, type Outputs } from "./bundled.ts";
import type { Release } from "./changelog.ts";
import type { PackageContents } from "./contents.ts";
import { copyright, nodeNotices } from "./copyright.ts";
import type { NodeRuntime } from "./node.ts";

const root = join(import.meta.dirname, "../..");

/** What `npm run build` makes, equal for every architecture. */
export interface Build {
  /** Launchers, next to lib/ and console/. */
  readonly folder: string;
  readonly outputs: Outputs;
}

export async function buildPrograms(folder: string, { version }: Release): Promise<Build> {
  const metafile = `${folder}.json`;
  const build = ["scripts/build.ts", "--version", version, "--out", folder, "--metafile", metafile];
  await runProgram(process.execPath, build, { cwd: root });
  return { folder, outputs: JSON.parse(await readFile(metafile, "utf8")) };
}

/** The built files of a package, and the npm packages in them. */
export interface BuiltParts {
  readonly parts: readonly string[];
  readonly bundled: readonly BundledPackage[];
}

export async function builtParts(
  { outputs }: Build,
  { programs, parts: others }: PackageContents,
): Promise<BuiltParts> {
  const parts = reachable(outputs, [...programs.map(({ name }) => `${name}.cjs`), ...others]);
  return { parts, bundled: await bundledPackages(outputs, parts) };
}

/** These files, and every file next to them that they require, directly or not. */
function reachable(outputs: Outputs, first: readonly string[]): readonly string[] {
  const names = new Set(first);
  for (const name of names) {
    const [, output] = Object.entries(outputs).find(([path]) => path.endsWith(`/lib/${name}`)) ?? [];
    for (const { path } of output?.imports ?? []) if (path.startsWith("./")) names.add(path.slice(2));
  }
  return [...names].toSorted();
}

export interface Layout {
  /** The folder that represents / of the computer. */
  readonly tree: string;
  readonly contents: PackageContents;
  readonly build: Build;
  readonly built: BuiltParts;
  readonly node: NodeRuntime;
  readonly release: Release;
}

/** Writes the files of the package below `tree`. */
export async function layOut({ tree, contents, build, built, node, release }: Layout): Promise<void> {
  const { name, programs } = contents;
  const folder = `usr/lib/${name}`;
  const put = async (path: string, data: string | Uint8Array, mode = 0o644) => {
    const file = join(tree, path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, data);
    await chmod(file, mode);
  };

  await put(`${folder}/node`, node.program, 0o755);
  await mkdir(join(tree, "usr/bin"), { recursive: true });
  for (const table of programs) {
    const launcher = await readFile(join(build.folder, `${table.name}.cjs`), "utf8");
    await put(`${folder}/${table.name}.cjs`, startsNode(launcher, `/${folder}/node`), 0o755);
    await symlink(`../lib/${name}/${table.name}.cjs`, join(tree, "usr/bin", table.name));
    const { bash = "", zsh = "", fish = "" } = Object.fromEntries(completionScripts(table.name));
    await put(`usr/share/bash-completion/completions/${table.name}`, bash);
    await put(`usr/share/zsh/vendor-completions/_${table.name}`, zsh);
    await put(`usr/share/fish/vendor_completions.d/${table.name}.fish`, fish);
  }
  for (const part of built.parts.filter((each) => each !== CONSOLE_PART)) {
    // Without the shebang line of the sources.
    const text = await readFile(join(build.folder, "lib", part), "utf8");
    await put(`${folder}/lib/${part}`, text.replace(/^#!.*\n/, ""));
  }
  if (built.parts.includes(CONSOLE_PART)) {
    await cp(join(build.folder, "console"), join(tree, folder, "console"), { recursive: true });
  }
  for (const [path, source] of Object.entries(contents.files)) await put(path, await readFile(join(root, source)));

  for (const { file, text } of await contents.manPages(release)) {
    const section = file.slice(file.lastIndexOf(".") + 1);
    await put(`usr/share/man/man${section}/${file}.gz`, compress(text));
  }
  await put(`usr/share/doc/${name}/copyright`, copyright(name, built.bundled));
  await put(nodeNotices(name), compress(node.license));
  await put(`usr/share/doc/${name}/changelog.gz`, compress(release.changelog));
  const overrides = await readFile(join(root, "systemd/debian/lintian-overrides"), "utf8");
  await put(`usr/share/lintian/overrides/${name}`, overrides.replaceAll("@PACKAGE@", name));
}

/** The launcher with this Node. env(1) stays where there is more than the one argument that the kernel passes on. */
function startsNode(launcher: string, node: string): string {
  return launcher.replace(/^#!.*/, (line) =>
    line.replace("/usr/bin/env -S node ", `${node} `).replace(" node ", ` ${node} `),
  );
}

/** Compressed, as Debian requires of documents; Node's gzip writes neither time nor name. */
function compress(text: string): Uint8Array {
  return gzipSync(text, { level: 9 });
}
