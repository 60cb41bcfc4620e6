import { createHash } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";

import type { BundledPackage } from "./bundled.ts";
import type { Release } from "./changelog.ts";
import type { PackageName } from "./contents.ts";
import type { Architecture, NodeRuntime } from "./node.ts";

export interface BillOptions {
  readonly name: PackageName;
  /** The finished package. */
  readonly deb: string;
  readonly bundled: readonly BundledPackage[];
  readonly node: NodeRuntime;
  readonly release: Release;
  readonly architecture: Architecture;
}

/**
 * Writes the bill of materials of a package next to it, in CycloneDX 1.6, for vulnerability scanners: the npm packages with code in the
 * bundle, Node, and the parts of Node, such as OpenSSL.
 *
 * @returns the path of the bill.
 */
export async function writeBillOfMaterials(options: BillOptions): Promise<string> {
  const path = options.deb.replace(/\.deb$/, ".cdx.json");
  const sha256 = createHash("sha256")
    .update(await readFile(options.deb))
    .digest("hex");
  await writeFile(path, `${JSON.stringify(describeBill(options, sha256), null, 2)}\n`);
  return path;
}

function describeBill({ name: ownName, bundled, node, release, architecture }: BillOptions, sha256: string) {
  const product = `pkg:deb/${ownName}@${release.version}?arch=${architecture}`;
  const names = new Set(bundled.map(({ name }) => name));
  const inner = bundled.map(({ name, version, dependencies }) => ({
    ref: npmUrl(name, version),
    dependsOn: bundled
      .filter((other) => dependencies.includes(other.name))
      .map((other) => npmUrl(other.name, other.version)),
  }));
  const wanted = new Set(bundled.flatMap(({ dependencies }) => dependencies.filter((name) => names.has(name))));
  const direct = bundled.filter(({ name }) => !wanted.has(name)).map(({ name, version }) => npmUrl(name, version));
  return {
    $schema: "http://cyclonedx.org/schema/bom-1.6.schema.json",
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    // Derived from the package, so that the same package has the same bill.
    serialNumber: `urn:uuid:${uuidOf(sha256)}`,
    version: 1,
    metadata: {
      timestamp: new Date(release.epochS * 1000).toISOString(),
      component: {
        type: "application",
        "bom-ref": product,
        name: ownName,
        version: release.version,
        hashes: [{ alg: "SHA-256", content: sha256 }],
        licenses: [{ license: { id: "Apache-2.0" } }],
        purl: product,
      },
    },
    components: [describeNode(node), ...bundled.map(describePackage)],
    dependencies: [{ ref: product, dependsOn: [nodeUrl(node), ...direct] }, ...inner],
  };
}

function describePackage({ name, version, license, copyright, integrity }: BundledPackage) {
  const url = npmUrl(name, version);
  return {
    type: "library",
    "bom-ref": url,
    name,
    version,
    hashes: [hashOf(integrity)],
    licenses: [{ license: { id: license } }],
    copyright: copyright.join("\n"),
    purl: url,
  };
}

function describeNode(node: NodeRuntime) {
  const url = nodeUrl(node);
  return {
    type: "platform",
    "bom-ref": url,
    name: node.package,
    version: node.version,
    description: "Node.js",
    cpe: `cpe:2.3:a:nodejs:node.js:${node.version}:*:*:*:-:*:*:*`,
    hashes: [hashOf(node.integrity)],
    licenses: [{ license: { id: "MIT" } }],
    purl: url,
    components: Object.entries(libraryVersions(node)).map(([name, version]) => ({
      type: "library",
      "bom-ref": `${url}#${name}`,
      name,
      version,
      // JSON omits it when undefined.
      cpe: name === "openssl" ? `cpe:2.3:a:openssl:openssl:${version}:*:*:*:*:*:*:*` : undefined,
    })),
  };
}

/** Entries that are not libraries: Node itself, and versions of its interfaces and data. */
const NO_LIBRARIES = new Set(["node", "modules", "napi"]);

/**
 * The running Node is the one packaged for this machine's architecture; the one for the other is built from the same sources.
 */
function libraryVersions({ version }: NodeRuntime): Readonly<Record<string, string>> {
  const { versions } = process;
  if (versions.node !== version) throw new Error(`this runs on Node ${versions.node}; start it by scripts/package`);
  const libraries = Object.entries(versions).filter(([name, each]) => !NO_LIBRARIES.has(name) && each !== "");
  return Object.fromEntries(libraries.map(([name, each]): [string, string] => [name, each ?? ""]).toSorted());
}

function npmUrl(name: string, version: string): string {
  return `pkg:npm/${name.replace(/^@/, "%40")}@${version}`;
}

function nodeUrl(node: NodeRuntime): string {
  return npmUrl(node.package, node.version);
}

function hashOf(integrity: string) {
  const [, digest = ""] = integrity.split("-");
  return { alg: "SHA-512", content: Buffer.from(digest, "base64").toString("hex") };
}

/** A UUID with custom bits (RFC 9562, version 8). */
function uuidOf(sha256: string): string {
  const variant = ((Number.parseInt(sha256.charAt(16), 16) & 0x3) | 0x8).toString(16);
  const digits = `${sha256.slice(0, 12)}8${sha256.slice(13, 16)}${variant}${sha256.slice(17, 32)}`;
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}
