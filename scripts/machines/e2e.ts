/**
 * Runs test/e2e alone and prints it as a list of checks. The same tests are part of scripts/test.
 *
 * They need root, Debian's mirror, and a few programs of Debian; where one is missing nothing is run, which is said and is no failure.
 * On CI (the variable CI is set) a mirror that cannot be reached is one.
 */
import { spawnSync } from "node:child_process";
import { parseArgs } from "node:util";

import { debianPackage, NEWER_VERSION } from "../../test/support/nspawn/package.ts";
import { debianRoot, RELEASES } from "../../test/support/nspawn/root.ts";
import type { SiteObstacle } from "../../test/support/nspawn/site.ts";
import { findSiteObstacle } from "../../test/support/nspawn/site.ts";
import type { Check } from "./checks.ts";
import { listChecks, runChecks } from "./checks.ts";

const HELP = `Usage: scripts/e2e [--only TEXT] [--list] [--keep] [--json] [--install-tools]

Walks a robot's life under a real systemd: Debian in containers, our package in it, our service beside it, and faults.

  --only TEXT       the checks that have this in their name
  --list            print their names, run none
  --keep            with --only: hold each computer at the end of its check until Ctrl-C, to look around in it
  --json            print one JSON document
  --install-tools   apt-get install what is missing
  --prepare         make what the checks start from and keep, root file systems and packages, and run none

Exit code: 0 passed, or skipped for a reason that is printed; 1 failed; 2 wrong use.`;

const USAGE = 2;

const { values: options } = parseArgs({
  options: {
    only: { type: "string", default: "" },
    list: { type: "boolean", default: false },
    keep: { type: "boolean", default: false },
    json: { type: "boolean", default: false },
    "install-tools": { type: "boolean", default: false },
    prepare: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});

process.exitCode = await main();

async function main(): Promise<number> {
  if (options.help) return say(HELP);
  if (options.keep && options.only === "") {
    console.error(`error: --keep needs --only\n${HELP}`);
    return USAGE;
  }
  const obstacle = options["install-tools"] ? installTools(findSiteObstacle()) : findSiteObstacle();
  if (options.list) {
    const names = await listChecks(options.only);
    return say(options.json ? JSON.stringify(names) : names.join("\n"));
  }
  if (obstacle !== null) return skip(obstacle);
  return options.prepare ? prepare() : walk();
}

/** @returns what still stands in the way. */
function installTools(obstacle: SiteObstacle | null): SiteObstacle | null {
  if (obstacle === null || obstacle.packages.length === 0) return obstacle;
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  for (const words of [["update"], ["install", "--yes", "--no-install-recommends", ...obstacle.packages]]) {
    spawnSync("apt-get", ["--quiet=2", ...words], { env, stdio: ["ignore", 2, 2] });
  }
  return findSiteObstacle();
}

function skip({ what, packages }: SiteObstacle): number {
  const fix = packages.length === 0 ? null : `apt-get install ${packages.join(" ")}, or scripts/e2e --install-tools`;
  if (options.json) return say(JSON.stringify({ outcome: "skipped", why: what, fix }));
  return say(`skipped: ${what}${fix === null ? "" : `; ${fix}`}`);
}

async function prepare(): Promise<number> {
  await Promise.all([...RELEASES.map(debianRoot), debianPackage(NEWER_VERSION)]);
  return 0;
}

async function walk(): Promise<number> {
  const startedAtMs = performance.now();
  const onCheck = (check: Check) => {
    if (!options.json) say(line(check));
  };
  const checks = await runChecks({ only: options.only, keeps: options.keep, onCheck });
  const durationMs = Math.round(performance.now() - startedAtMs);
  const failed = checks.filter(({ state }) => state === "failed").length;
  const outcome = failed > 0 || checks.length === 0 ? "failed" : "passed";
  if (options.json) say(JSON.stringify({ outcome, duration_ms: durationMs, checks }, null, 2));
  else if (checks.length === 0) say(`failed: no check has ${options.only} in its name`);
  else say(`${outcome}: ${checks.length} checks, ${failed} failed, in ${(durationMs / 1000).toFixed(0)} s`);
  return outcome === "passed" ? 0 : 1;
}

function line({ suite, check, state, duration_ms: durationMs, notes, errors }: Check): string {
  const mark = state === "passed" ? "ok  " : "FAIL";
  const more = [...notes, ...errors].map((text) => `\n${text.replaceAll(/^/gm, " ".repeat(14))}`);
  return `${mark} ${`${(durationMs / 1000).toFixed(1)} s`.padStart(7)}  ${suite} › ${check}${more.join("")}`;
}

function say(text: string): number {
  console.log(text);
  return 0;
}
