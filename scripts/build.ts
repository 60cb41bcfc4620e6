/**
 * Builds the release programs as minified CommonJS, which starts in two thirds of the time of ES modules, and the console of
 * robot-policy-service.
 */
import { chmod, cp, readdir, rm, writeFile } from "node:fs/promises";
import { basename, join, resolve } from "node:path";

import { build, type Metafile, type Plugin } from "esbuild";

import { buildConsole, watchConsole } from "./build-console.ts";
import { readFlags } from "./support/flags.ts";

const USAGE = `Usage: npm run build -- [options]

  --out DIR          instead of dist
  --watch            build the console again on every change
  --version VERSION  for packages: instead of the version of package.json
  --metafile FILE    for packages: list the inputs of each file there`;

/** Older versions of Node fail later, with a stack trace. */
const OLDEST_NODE = 24;
const CHECK_NODE = `if (Number.parseInt(process.versions.node) < ${OLDEST_NODE}) {
  console.error(\`error: this needs Node ${OLDEST_NODE} or newer; this is \${process.version} (\${process.execPath})\`);
  console.error(\`  → install one from https://nodejs.org, or name it in front: /path/to/node \${process.argv[1]}\`);
  process.exit(1);
}`;

/** SIGUSR1, which log rotators send, would open Node's inspector to every user of the machine. */
const NODE_COMMAND = "node --disable-sigusr1";
/** The same for `node FILE`, which a user or a container may run and which ignores the first line. */
const KEEP_INSPECTOR_CLOSED = `process.on("SIGUSR1", () => {});`;

/**
 * A SIGHUP that arrives before the program's own handler is installed must not end it. One during Node's own start, before this line, does;
 * no caller can prevent that, because Node resets inherited handlers (ResetSignalHandlers in src/node.cc).
 */
const OUTLIVE_HANGUP = `process.on("SIGHUP", () => {});`;

/** The programs. Each has a launcher in dist/ and a bundle with its name in dist/lib. */
const programs: Readonly<Record<string, { readonly entry: string; readonly launcher: string }>> = {
  "robot-policy-agent": { entry: "src/agent.ts", launcher: agentLauncher("robot-policy-agent") },
  "robot-policy": { entry: "src/operator.ts", launcher: launcher("robot-policy") },
  "robot-policy-service": { entry: "src/service.ts", launcher: serviceLauncher("robot-policy-service") },
};

/** The entry point of the service's threads. */
const SQLITE_WORKER = "sqlite-worker";
const parts: Readonly<Record<string, string>> = {
  [SQLITE_WORKER]: "src/service/kernel/store/sqlite/worker.ts",
};

/** Packages kept in separate files as published, which programs load on first use. */
const latePackages = ["@clack/prompts", "chokidar", "commander", "pino", "undici", "yaml"];

/**
 * The browser build of yaml, because only that one uses ES modules. Bundled into one scope it loads 3 ms faster (of 55 ms for a start with
 * unchanged files) than its 73 CommonJS modules, each of which is a function to compile and call.
 */
const YAML_MODULES = "node_modules/yaml/browser/index.js";

/** Entry points of late packages that are not the package's own. */
const lateEntries: ReadonlyMap<string, string> = new Map([["yaml", YAML_MODULES]]);

/** Files that `robot-policy-agent install` installs next to the program: in dist/share, so that dist/ alone is sufficient. */
const SHARED_FILES = [
  "systemd/robot-policy-agent.service",
  "systemd/robot-policy-agent-setup.service",
  "systemd/robot-policy-agent.timer",
  "systemd/robot-policy-agent-look.service",
  "systemd/robot-policy-agent.sysusers",
];

/** In the package dist/console is next to dist/lib. */
const CONSOLE = "console";

const root = join(import.meta.dirname, "..");
const options = readFlags(USAGE, {
  out: { type: "string" },
  watch: { type: "boolean", default: false },
  version: { type: "string" },
  metafile: { type: "string" },
});
const dist = resolve(options.out ?? join(root, "dist"));

// Another folder may contain other files, so only the built ones are replaced there.
if (options.out === undefined) await removeBuild();
const outputs = await buildPrograms();
if (options.watch) await watchConsole(join(dist, CONSOLE));
else Object.assign(outputs, await buildConsole(join(dist, CONSOLE)));
if (options.metafile !== undefined) await writeFile(options.metafile, JSON.stringify(outputs));

/** Everything except the packages, which take a while to build. */
async function removeBuild(): Promise<void> {
  const names = await readdir(dist).catch(() => []);
  const built = names.filter((name) => name !== "packages");
  await Promise.all(built.map((name) => rm(join(dist, name), { recursive: true })));
}

/** @returns the inputs of each built file. */
async function buildPrograms(): Promise<Metafile["outputs"]> {
  const entries = Object.entries(programs).map(([name, { entry }]) => [name, entry]);
  const packages = latePackages.map((name) => [basename(name), lateEntries.get(name) ?? name]);
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: { ...Object.fromEntries([...entries, ...packages]), ...parts },
    outdir: join(dist, "lib"),
    outExtension: { ".js": ".cjs" },
    bundle: true,
    minify: true,
    platform: "node",
    target: "node24",
    format: "cjs",
    mainFields: ["module", "main"],
    legalComments: "none",
    logLevel: "warning",
    metafile: true,
    // undici's own switch to omit its second HTTP parser, an experiment with a separate licence. Node's undici is built this way.
    define: { esbuildDetection: "true" },
    // import() becomes require(). Node's own import() starts the loader of ES modules, and reads every export of a built-in module:
    // those of node:http load all of fetch (15 ms and 5 MB).
    supported: { "dynamic-import": false },
    plugins: [filesLoadedLate(), filesBesideBundle(), otherVersion()],
  });
  for (const [name, { launcher: text }] of Object.entries(programs)) {
    const path = join(dist, `${name}.cjs`);
    await writeFile(path, text);
    await chmod(path, 0o755);
  }
  for (const file of SHARED_FILES) await cp(join(root, file), join(dist, "share", file));
  return metafile.outputs;
}

/** Modules with a separate file, which other files do not include. */
function filesLoadedLate(): Plugin {
  return {
    name: "files loaded late",
    setup({ onResolve }) {
      onResolve({ filter: new RegExp(`^(${latePackages.join("|")})$`) }, ({ kind, path }) =>
        kind === "entry-point" ? undefined : { path: `./${basename(path)}.cjs`, external: true },
      );
    },
  };
}

/** The bundle has another location than its sources, and so have the files that it reads and starts. */
function filesBesideBundle(): Plugin {
  const paths = new Map([
    [
      "console/server/console-folder.ts",
      `export const CONSOLE_FOLDER = require("node:path").join(__dirname, "../${CONSOLE}");`,
    ],
    [
      "service/kernel/store/sqlite/worker-file.ts",
      `export const SQLITE_WORKER = require("node:path").join(__dirname, "${SQLITE_WORKER}.cjs");`,
    ],
  ]);
  return {
    name: "files beside the bundle",
    setup({ onLoad }) {
      for (const [file, contents] of paths) {
        onLoad({ filter: new RegExp(`src/${file}$`) }, () => ({ contents }));
      }
    },
  };
}

/** A package of another version from the same sources, to test upgrades. */
function otherVersion(): Plugin {
  return {
    name: "another version",
    setup({ onLoad }) {
      if (options.version === undefined) return;
      const contents = JSON.stringify({ version: options.version });
      onLoad({ filter: /\/package\.json$/ }, ({ path }) =>
        path === join(root, "package.json") ? { contents, loader: "json" } : undefined,
      );
    },
  };
}

function launcher(name: string, interpreter = NODE_COMMAND, first = ""): string {
  return `#!/usr/bin/env -S ${interpreter}
"use strict";
${first}
${CHECK_NODE}
${KEEP_INSPECTOR_CLOSED}
require("./lib/${name}.cjs");
`;
}

/**
 * Under load most of the service's memory would be uncollected garbage: V8 sizes its heap by the memory of the machine, and glibc keeps an
 * arena for each of V8's threads. These settings halve it (from 260 MB to 130 MB with 64 busy connections) at no measurable cost.
 */
function serviceLauncher(name: string): string {
  const interpreter = `MALLOC_ARENA_MAX=1 ${NODE_COMMAND} --max-semi-space-size=4 --max-old-space-size=512`;
  return launcher(name, interpreter, OUTLIVE_HANGUP);
}

/**
 * NODE_COMPILE_CACHE stores compiled code. The cache is written some time after the start of the daemon, not only at its end, because a
 * robot that loses its power never reaches that.
 */
function agentLauncher(name: string): string {
  const daemon = `if (process.argv[2] === "run") setTimeout(() => require("node:module").flushCompileCache(), 10_000).unref();`;
  return launcher(name, NODE_COMMAND, `${OUTLIVE_HANGUP}\n${daemon}`);
}
