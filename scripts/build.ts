/**
 * Writes the shipped programs to dist/ (or --out DIR): minified CommonJS, which starts in two thirds of the time of ES modules. The page of
 * robot-policy-service is built with them; --watch goes on to build it whenever it changes.
 * For packages: --version VERSION instead of package.json's, and --metafile FILE, which tells what each file was made of.
 */
import { chmod, cp, readdir, rm, writeFile } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { parseArgs } from "node:util";

import { build, type Plugin } from "esbuild";

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

/** What a person starts. Each is a launcher in dist/ and a bundle of its name in dist/lib. */
const programs: Readonly<Record<string, { readonly entry: string; readonly launcher: string }>> = {
  "robot-policy-agent": { entry: "src/agent.ts", launcher: agentLauncher("robot-policy-agent") },
  "robot-policy": { entry: "src/operator.ts", launcher: launcher("robot-policy") },
  "robot-policy-service": { entry: "src/service.ts", launcher: serviceLauncher("robot-policy-service") },
};

/** Half of the agent, which its daemon need not read. */
const AGENT_COMMANDS = "agent-commands";
/** What the service starts threads with. */
const SQLITE_WORKER = "sqlite-worker";
const parts: Readonly<Record<string, string>> = {
  [AGENT_COMMANDS]: `src/cli/${AGENT_COMMANDS}.ts`,
  [SQLITE_WORKER]: "src/service/kernel/store/sqlite/worker.ts",
};

/** Packages in files of their own, as they are published, which programs read when they first need them, if ever. */
const latePackages = ["chokidar", "commander", "pino", "undici", "yaml", "zod"];

/**
 * What yaml publishes for browsers, because only that is ES modules: bundled into one scope, they load 3 ms sooner (of 55 ms of an unchanged
 * boot) than its 73 CommonJS modules, each of which is a function to compile and call.
 */
const YAML_MODULES = "node_modules/yaml/browser/index.js";

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

const root = join(import.meta.dirname, "..");
const { values: options } = parseArgs({
  options: {
    out: { type: "string" },
    watch: { type: "boolean", default: false },
    version: { type: "string" },
    metafile: { type: "string" },
  },
});
const dist = resolve(options.out ?? join(root, "dist"));

// Another folder may hold other things; there only what is built is replaced.
if (options.out === undefined) await removeBuild();
await buildPrograms();
await (options.watch ? watchConsole(join(dist, CONSOLE)) : buildConsole(join(dist, CONSOLE)));

/** All but the packages, which took a while to make. */
async function removeBuild(): Promise<void> {
  const names = await readdir(dist).catch(() => []);
  const built = names.filter((name) => name !== "packages");
  await Promise.all(built.map((name) => rm(join(dist, name), { recursive: true })));
}

async function buildPrograms(): Promise<void> {
  const entries = Object.entries(programs).map(([name, { entry }]) => [name, entry]);
  const packages = latePackages.map((name) => [name, name === "yaml" ? YAML_MODULES : name]);
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
    // undici's own word for: without its second HTTP parser, an experiment that has a licence of its own. Node's undici is built so.
    define: { esbuildDetection: "true" },
    // import() becomes require(). Node's own import() starts the loader of ES modules, and of a built-in module reads every export:
    // that of node:http loads all of fetch (15 ms and 5 MB).
    supported: { "dynamic-import": false },
    plugins: [filesLoadedLate(), filesBesideBundle(), otherVersion()],
  });
  for (const [name, { launcher: text }] of Object.entries(programs)) {
    const path = join(dist, `${name}.cjs`);
    await writeFile(path, text);
    await chmod(path, 0o755);
  }
  for (const file of SHARED_FILES) await cp(join(root, file), join(dist, "share", file));
  if (options.metafile !== undefined) await writeFile(options.metafile, JSON.stringify(metafile.outputs));
}

/** Of what has a file of its own, other files hold no copy. */
function filesLoadedLate(): Plugin {
  return {
    name: "files loaded late",
    setup({ onResolve }) {
      onResolve({ filter: new RegExp(`^(${latePackages.join("|")})$|/${AGENT_COMMANDS}\\.ts$`) }, ({ kind, path }) =>
        kind === "entry-point" ? undefined : { path: `./${basename(path, ".ts")}.cjs`, external: true },
      );
    },
  };
}

/** The bundle lies elsewhere than its sources, and so does what it reads and starts. */
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

function launcher(name: string, interpreter = NODE_WORDS, first = ""): string {
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
  const words = `MALLOC_ARENA_MAX=1 ${NODE_WORDS} --max-semi-space-size=4 --max-old-space-size=512`;
  return launcher(name, words, OUTLIVE_HANGUP);
}

/**
 * Compiled code is kept where NODE_COMPILE_CACHE says: written a while after the start of the daemon, and not only in the end, which a robot
 * that is switched off never reaches.
 *
 * While the daemon does nothing V8 looks every 8 s whether to reduce its memory, 7 wake-ups a minute for nothing that can be measured
 * (MemoryReducer in V8's src/heap). It is told to leave that after the start: set before, the flag costs 9 ms, as code in caches counts
 * for the flags that it was compiled under.
 *
 * Nor does it compile on other threads what a heartbeat each 30 s makes warm in hours: of 37 context switches a minute 20 were those of
 * V8's threads, and after 960 heartbeats 95 MB are resident instead of 87. The price: parsing then takes 2.7 times the processor, which is
 * felt with files of megabytes only. TurboFan alone would spare that price for 2 MB.
 */
function agentLauncher(name: string): string {
  const atRest = "--memory-reducer-gc-count=0 --no-concurrent-sparkplug --no-maglev --no-turbofan";
  const daemon = `if (process.argv[2] === "run") {
  setTimeout(() => require("node:module").flushCompileCache(), 10_000).unref();
  setTimeout(() => require("node:v8").setFlagsFromString("${atRest}"), 12_000).unref();
}`;
  return launcher(name, NODE_WORDS, `${OUTLIVE_HANGUP}\n${daemon}`);
}
