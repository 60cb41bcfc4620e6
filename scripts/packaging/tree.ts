import { chmod, mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { gzipSync } from "node:zlib";

import { agentManPages } from "../manual/pages.ts";
import { runProgram } from "../support/run-program.ts";
import { type BundledPackage, bundledPackages, type Outputs } from "./bundled.ts";
import type { Release } from "./changelog.ts";
import { copyright, NODE_NOTICES } from "./copyright.ts";
import type { Architecture, NodeRuntime } from "./node.ts";

const root = join(import.meta.dirname, "../..");
const NAME = "robot-policy-agent";

/** Where the package installs the program and its Node. */
const PROGRAM_FOLDER = `usr/lib/${NAME}`;

/** The built agent, equal for every architecture. */
export interface Program {
  /** The launcher, next to lib/. */
  readonly launcher: string;
  readonly folder: string;
  /** Files of lib/ that the agent needs; the build also creates those of the other programs. */
  readonly parts: readonly string[];
  /** npm packages in those files. */
  readonly bundled: readonly BundledPackage[];
  /** Completion scripts by shell. */
  readonly completion: Readonly<Record<string, string>>;
}

export async function buildProgram(folder: string, { version }: Release): Promise<Program> {
  const metafile = `${folder}.json`;
  const build = ["scripts/build.ts", "--version", version, "--out", folder, "--metafile", metafile];
  await runProgram(process.execPath, build, { cwd: root });
  const outputs: Outputs = JSON.parse(await readFile(metafile, "utf8"));
  const parts = reachable(outputs, `${NAME}.cjs`);
  const launcher = join(folder, `${NAME}.cjs`);
  const completion: Record<string, string> = {};
  for (const shell of ["bash", "zsh", "fish"]) {
    completion[shell] = (await runProgram(process.execPath, [launcher, "completion", shell])).toString();
  }
  return { launcher, folder, parts, bundled: await bundledPackages(outputs, parts), completion };
}

/** The file, and every file next to it that it requires, directly or not. */
function reachable(outputs: Outputs, first: string): readonly string[] {
  const names = new Set([first]);
  for (const name of names) {
    const [, output] = Object.entries(outputs).find(([path]) => path.endsWith(`/lib/${name}`)) ?? [];
    for (const { path } of output?.imports ?? []) if (path.startsWith("./")) names.add(path.slice(2));
  }
  return [...names].toSorted();
}

export interface Layout {
  /** The folder that represents / of the robot. */
  readonly tree: string;
  readonly program: Program;
  readonly node: NodeRuntime;
  readonly release: Release;
  readonly architecture: Architecture;
}

/** Writes the files of the package below `tree`. */
export async function layOut({ tree, program, node, release }: Layout): Promise<void> {
  const put = async (path: string, contents: string | Uint8Array, mode = 0o644) => {
    const file = join(tree, path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, contents);
    await chmod(file, mode);
  };
  const source = (path: string) => readFile(join(root, path));

  await put(`${PROGRAM_FOLDER}/node`, node.program, 0o755);
  const launcher = await readFile(program.launcher, "utf8");
  await put(
    `${PROGRAM_FOLDER}/${NAME}.cjs`,
    launcher.replace(/^#!.*/, `#!/${PROGRAM_FOLDER}/node --disable-sigusr1`),
    0o755,
  );
  for (const part of program.parts) {
    // Without the shebang line of the sources.
    const text = await readFile(join(program.folder, "lib", part), "utf8");
    await put(`${PROGRAM_FOLDER}/lib/${part}`, text.replace(/^#!.*\n/, ""));
  }
  await mkdir(join(tree, "usr/bin"), { recursive: true });
  await symlink(`../lib/${NAME}/${NAME}.cjs`, join(tree, "usr/bin", NAME));

  for (const unit of [`${NAME}.service`, `${NAME}-setup.service`]) {
    await put(`usr/lib/systemd/system/${unit}`, await source(`systemd/${unit}`));
  }
  await put(`usr/lib/sysusers.d/${NAME}.conf`, await source(`systemd/${NAME}.sysusers`));
  await put(`usr/share/${NAME}/growing-delay.conf`, await source("systemd/growing-delay.conf"));
  for (const example of ["config.example.yaml", "robot-manifest.example.yaml"]) {
    await put(`etc/${NAME}/${example}`, await source(`config/${example}`));
  }

  const { bash = "", zsh = "", fish = "" } = program.completion;
  await put(`usr/share/bash-completion/completions/${NAME}`, bash);
  await put(`usr/share/zsh/vendor-completions/_${NAME}`, zsh);
  await put(`usr/share/fish/vendor_completions.d/${NAME}.fish`, fish);

  for (const { file, text } of await agentManPages(release)) {
    const section = file.slice(file.lastIndexOf(".") + 1);
    await put(`usr/share/man/man${section}/${file}.gz`, compress(text));
  }
  for (const example of ["credential-store.conf", "sealed-key.conf"]) {
    await put(`usr/share/doc/${NAME}/examples/${example}`, await source(`systemd/${example}`));
  }
  await put(`usr/share/doc/${NAME}/copyright`, copyright(program.bundled));
  await put(NODE_NOTICES, compress(node.license));
  await put(`usr/share/doc/${NAME}/changelog.gz`, compress(release.changelog));
  await put(`usr/share/lintian/overrides/${NAME}`, await source("systemd/debian/lintian-overrides"));
}

/** Compressed, as Debian requires of documents; Node's gzip writes neither time nor name. */
function compress(text: string): Uint8Array {
  return gzipSync(text, { level: 9 });
}
