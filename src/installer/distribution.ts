import { basename, dirname, join } from "node:path";

import { measure, type Measured } from "./disk/content.ts";
import { type Disk, readText } from "./disk/disk.ts";
import { type InstallerProblem, refusal } from "./installer.ts";
import { NAME } from "./layout.ts";

/** The built program and its files, as `scripts/build` writes them to dist/. */
export interface Distribution {
  readonly kind: "distribution";
  /** The launcher without its first line, which names its Node. */
  readonly launcher: string;
  /** By name inside the program's folder, such as `lib/zod.cjs`. */
  readonly files: ReadonlyMap<string, Measured>;
  /** Units as shipped, with the program in /usr/bin. */
  readonly units: Readonly<Record<"service" | "firstBoot", string>>;
}

/** Paths relative to the program's folder. */
export const SHARED = {
  service: "share/systemd/robot-policy-agent.service",
  firstBoot: "share/systemd/robot-policy-agent-setup.service",
  growingDelay: "share/systemd/growing-delay.conf",
  sysusers: "share/systemd/robot-policy-agent.sysusers",
  configuration: "share/config/config.example.yaml",
  manifest: "share/config/robot-manifest.example.yaml",
} as const;

const TEXT_LIMIT_BYTES = 1024 * 1024;
const BUNDLE_LIMIT_BYTES = 32 * 1024 * 1024;
/** How a bundle loads a package from a separate file. */
const LATE_PACKAGE = /\brequire\("\.\/([a-z-]+\.cjs)"\)/g;
const SHEBANG = /^#![^\n]*\n/;

/**
 * Finds what to install: the program that is running.
 *
 * @param programPath the launcher, in dist/ or in an installation; links followed.
 * @throws DiskError where its files cannot be read.
 */
export async function findDistribution(host: Disk, programPath: string): Promise<Distribution | InstallerProblem> {
  const folder = dirname(programPath);
  const isLauncher = [NAME, `${NAME}.cjs`].includes(basename(programPath));
  if (!isLauncher || (await host.look(join(folder, "lib"))).kind !== "directory") {
    return refusal({
      code: "not-built",
      what: "this is run from source, and only the built program can be installed",
      where: programPath,
      fix: `npm run build, then: sudo node_modules/.bin/node dist/${NAME}.cjs install`,
    });
  }
  const launcher = await readText(host, programPath, TEXT_LIMIT_BYTES);
  if (launcher === null || launcher === "too-large" || !SHEBANG.test(launcher)) return incomplete(programPath);

  const files = new Map<string, Measured>();
  const ahead = [`${NAME}.cjs`];
  for (let name = ahead.pop(); name !== undefined; name = ahead.pop()) {
    const path = join(folder, "lib", name);
    const bundle = await readText(host, path, BUNDLE_LIMIT_BYTES);
    if (bundle === null || bundle === "too-large") return incomplete(path);
    files.set(`lib/${name}`, await measure({ kind: "copy", from: path }, host));
    const named = [...bundle.matchAll(LATE_PACKAGE)].map(([, late = ""]) => late);
    ahead.push(...new Set(named.filter((late) => !files.has(`lib/${late}`) && !ahead.includes(late))));
  }

  const texts = new Map<string, string>();
  for (const name of Object.values(SHARED)) {
    const path = join(folder, name);
    const text = await readText(host, path, TEXT_LIMIT_BYTES);
    if (text === null || text === "too-large") return incomplete(path);
    texts.set(name, text);
    files.set(name, await measure({ kind: "text", text }, host));
  }
  const { service: serviceName, firstBoot: firstBootName } = SHARED;
  const units = { service: texts.get(serviceName) ?? "", firstBoot: texts.get(firstBootName) ?? "" };
  return { kind: "distribution", launcher: launcher.replace(SHEBANG, ""), files, units };
}

function incomplete(where: string): InstallerProblem {
  return refusal({
    code: "incomplete-program",
    what: "a part of the program is missing",
    where,
    fix: "unpack the whole folder again; in a checkout: npm run build",
  });
}
