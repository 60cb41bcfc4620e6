import { readdir, readFile } from "node:fs/promises";
import { basename, join } from "node:path";

const root = join(import.meta.dirname, "../..");

/** SPDX identifiers of the licences allowed in the packages. A person decides about any other and adds it here. */
export const LICENSES = ["MIT", "ISC", "Apache-2.0", "BSD-3-Clause", "Unlicense"] as const;
export type License = (typeof LICENSES)[number];

/** esbuild's name of the console's script; it is installed with a hash in its name, beside a compressed form of it. */
export const CONSOLE_PART = "console.js";

/** An npm package that is compiled into a program or into the console. */
export interface BundledPackage {
  readonly name: string;
  readonly version: string;
  readonly license: License;
  /** The copyright lines of its licence, without the word "Copyright". */
  readonly copyright: readonly string[];
  /** Hash of its tarball: `sha512-` and base64. */
  readonly integrity: string;
  /** Names of its dependencies; not all of them are bundled. */
  readonly dependencies: readonly string[];
  /** The bundled files that contain it. */
  readonly parts: readonly string[];
}

/** esbuild's description of a file that it wrote, by its path. */
export type Outputs = Readonly<
  Record<
    string,
    {
      readonly imports: readonly { readonly path: string }[];
      readonly inputs: Readonly<Record<string, { readonly bytesInOutput: number }>>;
    }
  >
>;

/** The packages with code in one of these files, by name. */
export async function bundledPackages(outputs: Outputs, parts: readonly string[]): Promise<readonly BundledPackage[]> {
  const lockfile: Lockfile = JSON.parse(await readFile(join(root, "package-lock.json"), "utf8"));
  const partsByFolder = new Map<string, string[]>();
  for (const [path, { inputs }] of Object.entries(outputs)) {
    const part = basename(path);
    if (!parts.includes(part)) continue;
    const inside = Object.entries(inputs).filter(([, { bytesInOutput }]) => bytesInOutput > 0);
    const folders = new Set(inside.flatMap(([input]) => packageFolder(input) ?? []));
    for (const folder of folders) partsByFolder.set(folder, [...(partsByFolder.get(folder) ?? []), part]);
  }
  const packages = await Promise.all(
    [...partsByFolder].map(([folder, within]) => readPackage(folder, within.toSorted(), lockfile)),
  );
  return packages.toSorted((one, other) => (one.name < other.name ? -1 : 1));
}

interface Lockfile {
  readonly packages: Readonly<Record<string, { readonly integrity?: string }>>;
}

/** `node_modules/a/node_modules/@b/c` for a file in it. */
function packageFolder(input: string): string | undefined {
  return /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(input)?.[0];
}

async function readPackage(folder: string, parts: readonly string[], lockfile: Lockfile): Promise<BundledPackage> {
  const manifest: Manifest = JSON.parse(await readFile(join(root, folder, "package.json"), "utf8"));
  const { name, version, dependencies = {} } = manifest;
  const declared = manifest.license ?? manifest.licenses?.[0]?.type;
  const license = LICENSES.find((each) => each === declared);
  if (license === undefined) throw new Error(`${name} is licensed as '${declared}'; see scripts/packaging/bundled.ts`);
  const file = (await readdir(join(root, folder))).find((each) => /^LICENSE(?:\.md)?$/i.test(each));
  // A few packages ship no text: then its own package.json names licence and authors.
  const text = file === undefined ? "" : await readFile(join(root, folder, file), "utf8");
  if (file !== undefined) checkLicense(name, license, text);
  const integrity = lockfile.packages[folder]?.integrity;
  if (integrity === undefined) throw new Error(`${name} has no integrity in package-lock.json`);
  const copyright = copyrightLines(text, manifest);
  return { name, version, license, copyright, integrity, dependencies: Object.keys(dependencies), parts };
}

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly license?: string;
  /** The form in very old packages. */
  readonly licenses?: readonly { readonly type: string }[];
  readonly author?: string | { readonly name: string };
  readonly contributors?: readonly { readonly name: string }[];
  readonly dependencies?: Readonly<Record<string, string>>;
}

function copyrightLines(text: string, { name, author, contributors = [] }: Manifest): readonly string[] {
  const lines = text.match(/^Copyright (?:\([Cc]\) |© )?[^[{\n]+$/gm) ?? [];
  if (lines.length > 0) return lines.map((line) => line.replace(/^Copyright (?:\([Cc]\) |© )?/, "").trim());
  // The Apache licence has no copyright line, and some packages have no text.
  const authors = [author, ...contributors].flatMap((each) => (typeof each === "string" ? each : (each?.name ?? [])));
  if (authors.length === 0) throw new Error(`${name} names no copyright holder`);
  return authors;
}

/** A sentence that only this licence contains, to verify that the text is the declared licence. */
const SENTENCES: Readonly<Record<License, string>> = {
  MIT: "Permission is hereby granted, free of charge, to any person obtaining a copy",
  ISC: "Permission to use, copy, modify, and/or distribute this software for any purpose with or without fee",
  "Apache-2.0": "Apache License Version 2.0, January 2004",
  "BSD-3-Clause": "used to endorse or promote products derived from this software",
  Unlicense: "This is free and unencumbered software released into the public domain",
};

function checkLicense(name: string, license: License, text: string): void {
  if (text.replaceAll(/\s+/g, " ").includes(SENTENCES[license])) return;
  throw new Error(`${name} calls its licence ${license}, but ships another text`);
}
