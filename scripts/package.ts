/**
 * Builds robot-policy-agent_<version>_<architecture>.deb for a robot: the agent's bundle, the Node that it was tested with, units, man
 * pages, completion. Beside it a bill of materials (CycloneDX) and SHA256SUMS. What it needs from outside is Node's own packages in the
 * npm registry, once, pinned by their hashes.
 *
 * The same sources give the same bytes: times are those of systemd/debian/changelog, names are sorted, nothing of this machine goes in.
 */
import { mkdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";

import { scratchFolder } from "./end-of-script.ts";
import { readRelease } from "./package-changelog.ts";
import { buildDeb, writeChecksums } from "./package-deb.ts";
import { ARCHITECTURES, fetchNode, isArchitecture } from "./package-node.ts";
import { writeBillOfMaterials } from "./package-sbom.ts";
import { describeSize } from "./package-size.ts";
import { buildProgram, layOut } from "./package-tree.ts";
import { findMissingProgram, ProgramError } from "./run-program.ts";

const HELP = `Usage: scripts/package [--arch amd64|arm64]… [--out DIR] [--version VERSION] [--fast]

  --arch     one architecture; both without it
  --out      where the packages go (dist/packages); what is there under the same names is replaced
  --version  another version than package.json's, to try an upgrade
  --fast     compress less: for tests`;

const { values: options } = parseArgs({
  options: {
    arch: { type: "string", multiple: true, default: [...ARCHITECTURES] },
    out: { type: "string", default: "dist/packages" },
    version: { type: "string" },
    fast: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});

if (options.help) console.log(HELP);
else process.exitCode = await makePackages();

async function makePackages(): Promise<number> {
  const unknown = options.arch.find((name) => !isArchitecture(name));
  if (unknown !== undefined) {
    console.error(`error: no package is made for '${unknown}'\n${HELP}`);
    return 2;
  }
  const missing = findMissingProgram(["dpkg-deb", "tar", "gzip"]);
  if (missing !== null) {
    console.error(`error: ${missing}`);
    return 1;
  }
  try {
    const out = resolve(options.out);
    const work = scratchFolder("robot-policy-package-");
    const release = await readRelease(options.version);
    await mkdir(out, { recursive: true });
    const program = await buildProgram(join(work, "program"), release);
    const packages: string[] = [];
    for (const architecture of options.arch.filter(isArchitecture)) {
      console.error(`== ${architecture}${options.fast ? "" : ": about a minute, to make it as small as it can be"}`);
      const node = await fetchNode(architecture);
      const tree = join(work, architecture);
      await layOut({ tree, program, node, release, architecture });
      const deb = await buildDeb({ tree, out, release, architecture, is_fast: options.fast });
      const bill = await writeBillOfMaterials({ deb, bundled: program.bundled, node, release, architecture });
      packages.push(deb, bill);
      console.log(`${await describeSize(deb, tree)}\n`);
    }
    await writeChecksums(out, packages);
    console.log(packages.join("\n"));
    return 0;
  } catch (error) {
    if (!(error instanceof ProgramError)) throw error;
    console.error(`error: ${error.message}`);
    return 1;
  }
}
