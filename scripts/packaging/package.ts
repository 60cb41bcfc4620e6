/**
 * Builds two Debian packages: robot-policy-agent for a robot; robot-policy with the operator's program and the service. Each has the Node
 * that it was tested with, its units, man pages and completion. Also writes a bill of materials (CycloneDX) of each, and SHA256SUMS. If wanted,
 * adds the packages to a signed apt repository. The only downloads are Node's packages from the npm registry, once, pinned by their hashes.
 *
 * The build is reproducible: times are those of systemd/debian/changelog, names are sorted, and nothing depends on this machine.
 */

import { readFlags, refuseFlags } from "../support/flags.ts";
import { findMissingProgram, ProgramError } from "../support/run-program.ts";
import { isPackageName, PACKAGES } from "./contents.ts";
import { makePackages } from "./make.ts";
import { ARCHITECTURES, fetchNode, isArchitecture } from "./node.ts";
import { findSecretKey, publish } from "./repository.ts";

const HELP = `Usage: scripts/package [--package NAME]… [--arch amd64|arm64]… [--out DIR] [--version VERSION] [--fast]
                       [--repository DIR --sign KEY [--url URL]]

  --package  one package, robot-policy-agent or robot-policy; both without it
  --arch     one architecture; both without it
  --out      where the packages go (dist/packages); what is there under the same names is replaced
  --version  another version than package.json's, to try an upgrade
  --fast     not compressed: for tests

  --repository  also adds the packages to this apt repository, which is made if it is not there
  --sign        the secret key of gpg that signs it: fingerprint, id or address
  --url         where computers will find it, for its .sources file; without it, in DIR on their own disk`;

const options = readFlags(HELP, {
  package: { type: "string", multiple: true, default: PACKAGES.map(({ name }) => name) },
  arch: { type: "string", multiple: true, default: [...ARCHITECTURES] },
  out: { type: "string", default: "dist/packages" },
  version: { type: "string" },
  fast: { type: "boolean", default: false },
  repository: { type: "string" },
  sign: { type: "string" },
  url: { type: "string" },
});

process.exitCode = await main();

async function main(): Promise<number> {
  const other = options.package.find((name) => !isPackageName(name));
  if (other !== undefined) refuseFlags(HELP, `there is no package '${other}'`);
  const unknown = options.arch.find((name) => !isArchitecture(name));
  if (unknown !== undefined) refuseFlags(HELP, `no package is made for '${unknown}'`);
  const { repository: folder, sign: key, url } = options;
  if ((folder === undefined) !== (key === undefined)) refuseFlags(HELP, "--repository and --sign need each other");
  if (url !== undefined && folder === undefined) refuseFlags(HELP, "--url needs --repository");
  const forRepository = folder === undefined ? [] : ["apt-ftparchive", "gpg"];
  const missing = findMissingProgram(["dpkg-deb", "tar", "gzip", ...forRepository]);
  if (missing !== null) {
    console.error(`error: ${missing}`);
    return 1;
  }
  const { out, version, fast: isFast } = options;
  const names = options.package.filter(isPackageName);
  const architectures = options.arch.filter(isArchitecture);
  try {
    // Before the minutes that the packages take.
    if (key !== undefined) await findSecretKey(key);
    const packages = await makePackages({ names, architectures, out, version, isFast }, fetchNode);
    console.log(packages.join("\n"));
    if (folder !== undefined && key !== undefined) {
      await publish({ folder, key, url, debs: packages.filter((path) => path.endsWith(".deb")) });
      console.log(`${folder}/robot-policy.sources`);
    }
    return 0;
  } catch (error) {
    if (!(error instanceof ProgramError)) throw error;
    console.error(`error: ${error.message}`);
    return 1;
  }
}
