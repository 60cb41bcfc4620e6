/** Builds the browser files of robot-policy-service: one page, its script, its style and its icon. */
import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { constants, gzip } from "node:zlib";

import { build, type BuildOptions, context, type Metafile, type OutputFile, type Plugin } from "esbuild";

const root = join(import.meta.dirname, "..");
const source = join(root, "src/console");

const options: BuildOptions = {
  absWorkingDir: root,
  entryPoints: [join(source, "browser/console.tsx")],
  bundle: true,
  minify: true,
  format: "esm",
  // The first with light-dark(), from 2024; older ones show the page in wrong colours.
  target: ["chrome123", "firefox120", "safari17.5"],
  define: { "process.env.NODE_ENV": '"production"' },
  loader: { ".svg": "dataurl" },
  legalComments: "none",
  logLevel: "warning",
  outdir: "assets",
  write: false,
};

interface Asset {
  /** Contains a hash of the content, so that a name always means the same bytes. */
  readonly name: string;
  readonly bytes: Uint8Array;
}

/**
 * Builds the console into `folder`. A service that reads it meanwhile finds either the old page or the new one.
 *
 * @returns the inputs of each file, as esbuild names it.
 */
export async function buildConsole(folder: string): Promise<Metafile["outputs"]> {
  const { outputFiles, metafile } = await build({ ...options, write: false, metafile: true });
  await publish(outputFiles, folder);
  return metafile.outputs;
}

/** Rebuilds the console on every change of its files, until the process ends. */
export async function watchConsole(folder: string): Promise<void> {
  const publishing: Plugin = {
    name: "publish",
    setup({ onEnd }) {
      onEnd(async ({ errors, outputFiles }) => {
        if (errors.length === 0) await publish(outputFiles ?? [], folder);
      });
    },
  };
  const watching = await context({ ...options, plugins: [publishing] });
  await watching.watch();
}

/** Writes the assets, compressed, then the page that names them, then removes assets that it no longer names. */
async function publish(built: readonly OutputFile[], folder: string): Promise<void> {
  const assets = new Map<string, Asset>();
  // The page always links a style, even if the script imports none.
  for (const name of ["console.js", "console.css"]) {
    assets.set(name, named(name, built.find(({ path }) => path.endsWith(name))?.contents ?? new Uint8Array()));
  }
  assets.set("favicon.svg", named("favicon.svg", await readFile(join(source, "favicon.svg"))));

  await mkdir(join(folder, "assets"), { recursive: true });
  const level = constants.Z_BEST_COMPRESSION;
  for (const { name, bytes } of assets.values()) {
    await writeFile(join(folder, "assets", `${name}.gz`), await promisify(gzip)(bytes, { level }));
  }

  const shell = await readFile(join(source, "shell.html"), "utf8");
  const page = shell.replaceAll(/\{\{([\w.]+)\}\}/g, (_whole, name: string) => {
    const asset = assets.get(name);
    if (asset === undefined) throw new Error(`shell.html names ${name}, which is not built`);
    return `/console/assets/${asset.name}`;
  });
  const path = join(folder, "index.html");
  await writeFile(`${path}.new`, page.replaceAll(/\n\s*/g, "\n"));
  await rename(`${path}.new`, path);

  const kept = new Set([...assets.values()].map(({ name }) => `${name}.gz`));
  for (const name of await readdir(join(folder, "assets"))) {
    if (!kept.has(name)) await rm(join(folder, "assets", name));
  }
}

function named(name: string, bytes: Uint8Array): Asset {
  const hash = createHash("sha256").update(bytes).digest("base64url").replaceAll(/[-_]/g, "").slice(0, 10);
  return { name: name.replace(/\.(?=\w+$)/, `-${hash}.`), bytes };
}
