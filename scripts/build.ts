/**
 * Writes the shipped programs to dist/ (or --out DIR; --program NAME for one): minified CommonJS, which starts faster than ES modules.
 * The console of robot-policy-service is built as if it were a program; --program console --watch builds it whenever it changes.
 * For packages: --version VERSION instead of package.json's, and --metafile FILE, which tells what each file was made of.
 *
 * A robot boots often and changes rarely, so the agent's bundle is arranged for the boot that finds nothing to do. Figures are the CPU
 * time that each step saves there, of about 50 ms; a bare Node takes 14.
 */
import { chmod, cp, mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";

import type { BuildOptions, Metafile, Plugin } from "esbuild";
import { build } from "esbuild";

import { buildConsole, watchConsole } from "./build-console.ts";

/** Older Nodes fail in the middle of something, with a stack trace. */
const OLDEST_NODE = 24;
const CHECK_NODE = `if (Number.parseInt(process.versions.node) < ${OLDEST_NODE}) {
  console.error(\`error: this needs Node ${OLDEST_NODE} or newer; this is \${process.version} (\${process.execPath})\`);
  console.error(\`  → install one from https://nodejs.org, or name it in front: /path/to/node \${process.argv[1]}\`);
  process.exit(1);
}`;

/** SIGUSR1, which log rotators send, would open Node's inspector to every user of the machine. */
const NODE_WORDS = "node --disable-sigusr1";
/** The same where a person or a container starts the program by `node FILE`, past its first line. */
const KEEP_INSPECTOR_CLOSED = `process.on("SIGUSR1", () => {});`;

/**
 * A SIGHUP before the program's own handler stands must not end it. One in Node's own start, before this line, does, and no caller can
 * prevent it: Node takes back what it inherits (ResetSignalHandlers in src/node.cc).
 */
const OUTLIVE_HANGUP = `process.on("SIGHUP", () => {});`;

/** For the service, which probes endpoints over connections that it keeps. */
const WHOLE_UNDICI = "undici-whole";

const AGENT = "robot-policy-agent";
const SERVICE = "robot-policy-service";

/** One bundle of our own code. */
interface Part {
  readonly entry: string;
  readonly name: string;
  /** Writes what a person starts; a part without one is loaded by another. */
  readonly launcher?: (name: string) => string | Promise<string>;
  /** `undici` unless given. */
  readonly undici?: string;
}

const programs: readonly Part[] = [
  { entry: "src/agent.ts", name: AGENT, launcher: agentLauncher },
  { entry: "src/operator.ts", name: "robot-policy", launcher: plainLauncher },
  { entry: "src/service.ts", name: SERVICE, launcher: serviceLauncher, undici: WHOLE_UNDICI },
];

/** What `robot-policy-agent install` lays down beside the program: in dist/share, so that dist/ alone is enough. */
const SHARED_FILES = [
  "systemd/robot-policy-agent.service",
  "systemd/robot-policy-agent-setup.service",
  "systemd/robot-policy-agent.sysusers",
  "systemd/growing-delay.conf",
  "systemd/00-credential-store.conf",
  "config/config.example.yaml",
  "config/robot-manifest.example.yaml",
];

/** In the package: dist/console beside dist/lib. */
const CONSOLE = "console";

/**
 * Packages that lie in files of their own, read when they are first needed, if ever: what is not in the program need not be read and
 * held (4 ms and 5 MB without a compile cache).
 */
const latePackages: ReadonlyMap<string, string> = new Map([
  // Of undici the one class that the client uses; the whole has fetch, web sockets, caches and mocks (4 MB of memory once loaded).
  ["undici", `exports.Client = require("./node_modules/undici/lib/dispatcher/client.js");`],
  [WHOLE_UNDICI, `module.exports = require("undici");`],
  ["chokidar", `export * from "chokidar";`],
  ["commander", `export * from "commander";`],
  ["pino", `module.exports = require("pino");`],
  ["yaml", `module.exports = require("yaml");`],
  ["zod", `export * from "zod";`],
]);

/** The agent's commands but the daemon, in a file of their own: half the program, which a boot need not read. */
const AGENT_COMMANDS = "agent-commands";
const agentCommands: Part = { entry: `src/cli/${AGENT_COMMANDS}.ts`, name: AGENT_COMMANDS };

/** What the service starts threads with. */
const SQLITE_WORKER = "sqlite-worker";
const sqliteWorker: Part = { entry: `src/service/store/${SQLITE_WORKER}.ts`, name: SQLITE_WORKER };

/** What a program needs in files of its own. */
const partsBeside: ReadonlyMap<string, readonly Part[]> = new Map([
  [AGENT, [agentCommands]],
  [SERVICE, [sqliteWorker]],
]);

/** Parts of packages that no program here uses, and what they would cost where the package is loaded. */
const leftOut: readonly { readonly filter: RegExp; readonly instead: string }[] = [
  // HTTP/2, turned off in single-use-client.ts: 2 MB, mostly node:http2.
  { filter: /undici\/lib\/dispatcher\/client-h2\.js$/, instead: "" },
  // Log transports in threads of their own.
  { filter: /pino\/lib\/transport\.js$/, instead: "" },
  // Messages in fifty languages: 0.3 MB.
  { filter: /zod\/v4\/locales\/index\.js$/, instead: "export {};" },
];

/** What packages use of large parts of Node, in their place; the sizes are what a running agent does not hold. */
const standIns: readonly { readonly importer: RegExp; readonly module: string; readonly contents: string }[] = [
  {
    // Its file handles bring a line editor along: 0.5 MB, as in src/platform/files.ts.
    importer: /\/(?:chokidar|readdirp)\//,
    module: "fs/promises",
    contents: `const fs = require("node:fs");
      const { promisify } = require("node:util");
      for (const name of ["lstat", "readdir", "readlink", "realpath", "stat"]) exports[name] = promisify(fs[name]);`,
  },
  { importer: /\/pino\//, module: "worker_threads", contents: `exports.isMainThread = true;` },
  {
    // 0.6 MB with pino, and again 0.5 MB with undici.
    importer: /\/(?:sonic-boom|undici)\//,
    module: "assert",
    contents: `module.exports = (holds, message) => { if (!holds) throw new Error(message ?? "assertion failed"); };`,
  },
  {
    // It parses HTTP itself, and asks whether a stream is one of Node's; ours never is: 0.5 MB.
    importer: /\/undici\//,
    module: "http",
    contents: `exports.maxHeaderSize = 16384; exports.IncomingMessage = class {};`,
  },
];

/** Parts of Node that are costly to load and not needed by a boot that finds nothing to do (4 ms for crypto, 4 ms for tls). */
const lateBuiltins = new Set(["node:crypto", "node:tls"]);

const root = join(import.meta.dirname, "..");
const { values: options } = parseArgs({
  options: {
    out: { type: "string" },
    program: { type: "string" },
    watch: { type: "boolean", default: false },
    version: { type: "string" },
    metafile: { type: "string" },
  },
});
const dist = resolve(options.out ?? join(root, "dist"));

const common: BuildOptions = {
  absWorkingDir: root,
  bundle: true,
  minify: true,
  platform: "node",
  target: "node24",
  format: "cjs",
  mainFields: ["module", "main"],
  legalComments: "none",
  logLevel: "warning",
  metafile: options.metafile !== undefined,
  // As when Node takes undici in: without a second HTTP parser, which is an experiment.
  define: { esbuildDetection: "true" },
  // import() becomes require(). Node's own import() starts the loader of ES modules, and of a built-in module reads every export:
  // that of node:http loads all of fetch (15 ms and 5 MB).
  supported: { "dynamic-import": false },
};

const { program } = options;
if (program === CONSOLE) {
  await (options.watch ? watchConsole(join(dist, CONSOLE)) : buildConsole(join(dist, CONSOLE)));
} else {
  // Another folder may hold other things; there only what is built is replaced.
  if (options.out === undefined) await removeBuild();
  await buildPrograms();
  if (program === undefined) await buildConsole(join(dist, CONSOLE));
}

/** All but the packages, which took a while to make. */
async function removeBuild(): Promise<void> {
  const names = await readdir(dist).catch(() => []);
  const built = names.filter((name) => name !== "packages");
  await Promise.all(built.map((name) => rm(join(dist, name), { recursive: true })));
}

async function buildPrograms(): Promise<void> {
  await mkdir(join(dist, "lib"), { recursive: true });
  const outputs: Metafile["outputs"] = {};

  for (const [name, contents] of latePackages) {
    const outfile = join(dist, "lib", `${name}.cjs`);
    const { metafile } = await build({
      ...common,
      stdin: { contents, resolveDir: root },
      outfile,
      plugins: [partsLeftOut(), standInsForBuiltins(), builtinsLoadedLate()],
    });
    Object.assign(outputs, metafile?.outputs);
  }
  const chosen = programs.filter(({ name }) => program === undefined || program === name);
  const parts = chosen.flatMap((part) => [part].concat(partsBeside.get(part.name) ?? []));
  for (const { entry, name, launcher, undici = "undici" } of parts) {
    const { metafile } = await build({
      ...common,
      entryPoints: [entry],
      outfile: join(dist, "lib", `${name}.cjs`),
      plugins: [
        packagesLoadedLate(undici),
        commandsLoadedLate(),
        builtinsLoadedLate(),
        filesBesideBundle(),
        otherVersion(),
      ],
    });
    Object.assign(outputs, metafile?.outputs);
    if (launcher === undefined) continue;
    const path = join(dist, `${name}.cjs`);
    await writeFile(path, await launcher(name));
    await chmod(path, 0o755);
  }
  for (const file of SHARED_FILES) await cp(join(root, file), join(dist, "share", file));
  if (options.metafile !== undefined) await writeFile(options.metafile, JSON.stringify(outputs));
}

function packagesLoadedLate(undici: string): Plugin {
  return {
    name: "packages loaded late",
    setup({ onResolve }) {
      onResolve({ filter: /^[a-z]+$/ }, ({ path }) =>
        latePackages.has(path) ? { path: `./${path === "undici" ? undici : path}.cjs`, external: true } : undefined,
      );
    },
  };
}

/** The bundle lies elsewhere than its sources, and so does what it reads and starts. */
function filesBesideBundle(): Plugin {
  const paths = new Map([
    [
      "console/console-folder.ts",
      `export const CONSOLE_FOLDER = require("node:path").join(__dirname, "../${CONSOLE}");`,
    ],
    [
      "store/sqlite-worker-file.ts",
      `export const SQLITE_WORKER = require("node:path").join(__dirname, "${SQLITE_WORKER}.cjs");`,
    ],
  ]);
  return {
    name: "files beside the bundle",
    setup({ onLoad }) {
      for (const [file, contents] of paths) {
        onLoad({ filter: new RegExp(`src/service/${file}$`) }, () => ({ contents }));
      }
    },
  };
}

/** To try an upgrade, a package of another version is made of the same sources. */
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

function commandsLoadedLate(): Plugin {
  return {
    name: "the agent's commands loaded late",
    setup({ onResolve }) {
      onResolve({ filter: new RegExp(`/${AGENT_COMMANDS}\\.ts$`) }, ({ kind }) =>
        kind === "entry-point" ? undefined : { path: `./${AGENT_COMMANDS}.cjs`, external: true },
      );
    },
  };
}

function partsLeftOut(): Plugin {
  return {
    name: "parts left out",
    setup({ onLoad }) {
      for (const { filter, instead } of leftOut) onLoad({ filter }, () => ({ contents: instead }));
    },
  };
}

function standInsForBuiltins(): Plugin {
  return {
    name: "stand-ins for built-in modules",
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /./ }, ({ importer, path, namespace }) => {
        if (namespace === "stand-in") return undefined;
        const module = path.replace(/^node:/, "");
        const found = standIns.findIndex((each) => each.module === module && each.importer.test(importer));
        return found === -1 ? undefined : { path: `${found}`, namespace: "stand-in" };
      });
      onLoad({ filter: /./, namespace: "stand-in" }, ({ path }) => ({
        contents: standIns[Number(path)]?.contents ?? "",
      }));
    },
  };
}

/** Puts an object in a built-in module's place whose members load it when they are used. */
function builtinsLoadedLate(): Plugin {
  return {
    name: "built-in modules loaded late",
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /^(node:)?(crypto|tls)$/ }, ({ path, namespace }) => {
        const name = path.startsWith("node:") ? path : `node:${path}`;
        if (namespace === "late" || !lateBuiltins.has(name)) return undefined;
        return { path: name, namespace: "late" };
      });
      onLoad({ filter: /./, namespace: "late" }, ({ path }) => {
        const members = Object.keys(createRequire(import.meta.url)(path) as object);
        const getters = members.map((member) => `get ${member}() { return (whole ??= require("${path}")).${member}; }`);
        return { contents: `let whole;\nmodule.exports = {\n${getters.join(",\n")}\n};` };
      });
    },
  };
}

function plainLauncher(name: string, interpreter = NODE_WORDS, first = ""): string {
  return `#!/usr/bin/env -S ${interpreter}
"use strict";
${first}
${CHECK_NODE}
${KEEP_INSPECTOR_CLOSED}
require("./lib/${name}.cjs");
`;
}

/**
 * Under load most of the service's memory would be garbage that is let lie: V8 does so in proportion to the memory of the machine, and
 * glibc keeps a heap for each of V8's threads. Together this halves it (from 260 MB to 130 with 64 busy connections), at no cost that
 * can be measured.
 */
function serviceLauncher(name: string): string {
  return plainLauncher(
    name,
    `MALLOC_ARENA_MAX=1 ${NODE_WORDS} --max-semi-space-size=4 --max-old-space-size=512`,
    OUTLIVE_HANGUP,
  );
}

/**
 * The daemon starts from compiled code where it has a cache folder of its own (systemd's CacheDirectory=). Only the daemon, and only a
 * folder that its user owns alone.
 *
 * The cache is written a while after the start and not only in the end, which a robot that is switched off never reaches.
 *
 * While the daemon does nothing V8 looks every 8 s whether to reduce its memory, 7 wake-ups a minute for nothing that can be measured
 * (MemoryReducer in V8's src/heap). It is told to leave that after the start: set before, the flag costs 9 ms, as code in caches counts
 * for the flags that it was compiled under.
 */
async function agentLauncher(name: string): Promise<string> {
  return `#!/usr/bin/env -S ${NODE_WORDS}
"use strict";
${OUTLIVE_HANGUP}
${CHECK_NODE}
${KEEP_INSPECTOR_CLOSED}
const program = __dirname + "/lib/${name}.cjs";
if (process.argv[2] === "run") startDaemon(process.env.CACHE_DIRECTORY);
else require(program);

function startDaemon(folder) {
  setTimeout(() => require("node:v8").setFlagsFromString("--memory-reducer-gc-count=0"), 12_000).unref();
  ${await inlined("src/platform/code-cache.ts", "codeCache")}
  if (!folder || !codeCache.isOwnFolder(folder)) return require(program);
  const { load, keep } = codeCache.openCodeCache(folder);
  setTimeout(keep, 10_000).unref();
  process.once("exit", keep);
  load(program);
}
`;
}

/** The statement that defines the exports of a module as a constant. */
async function inlined(entry: string, name: string): Promise<string> {
  const { outputFiles } = await build({
    ...common,
    entryPoints: [entry],
    format: "iife",
    globalName: name,
    write: false,
    metafile: false,
  });
  return outputFiles.map(({ text }) => text.trim()).join("\n");
}
