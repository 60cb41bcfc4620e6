import { resolve } from "node:path";

import type { ExitCode, Problem } from "../../platform/terminal.ts";
import { EXIT } from "../../platform/terminal.ts";
import { applySteps } from "../apply.ts";
import type { Applied } from "../apply.ts";
import type { InstallerContext, InstallerMachine } from "../installer.ts";
import { systemInstallerMachine } from "../installer.ts";
import { SERVICE_UNIT } from "../layout.ts";
import { changesService } from "../plan.ts";
import { observeProvisioning, observeUnit } from "../observe-machine.ts";
import type { OpenSite } from "../open-site.ts";
import { openSite } from "../open-site.ts";
import type { InstallWishes } from "../prepare.ts";
import { prepareInstallation } from "../prepare.ts";
import { recover } from "../recover.ts";
import { dropCompiledCode, removeOutdated } from "../remove-outdated.ts";
import type { Shown } from "../show-installation.ts";
import { showInstalled, showPlanned } from "../show-installation.ts";
import { describeNotable } from "../step.ts";
import { reasonOfError } from "../system.ts";

export interface InstallOptions {
  readonly dryRun?: boolean;
  /** An image in place of this machine. */
  readonly root?: string;
  /** The API key's file; `-` for stdin. */
  readonly keyFile?: string;
  readonly keyStdin?: boolean;
  /** The Node to install, in place of the one that runs this. */
  readonly node?: string;
  readonly firstBoot?: boolean;
  /** False with `--no-enable` and `--no-start`. */
  readonly enable?: boolean;
  readonly start?: boolean;
  readonly json?: boolean;
  /** Flags of all other commands: an installation is where the unit looks for it. */
  readonly config?: string;
  readonly stateDir?: string;
  readonly runtimeDir?: string;
}

/** What the program knows of itself that the installer cannot: its completion scripts, by shell. */
export interface InstallContext extends InstallerContext {
  readonly completions: InstallWishes["completions"];
  readonly readInput: InstallWishes["readInput"];
  /** The newest form of the state that this version reads. */
  readonly state_schema_version: number;
}

/** `install`: puts the agent on this machine or into an image; a second time, brings it up to this version. */
export async function install(
  options: InstallOptions,
  context: InstallContext,
  machine: InstallerMachine = systemInstallerMachine,
): Promise<ExitCode> {
  const misuse = findMisuse(options);
  if (misuse !== null) {
    context.terminal.problem(misuse);
    return EXIT.usage;
  }
  try {
    const site = await openSite(options, "install", context, machine);
    if (site.kind === "problem") return fail(site.problem, context);
    await using _site = site;
    return await installOn(site, options, context, machine);
  } catch (error) {
    return fail({ code: "unusable", what: reasonOfError(error), fix: "mend that and run it again" }, context);
  }
}

async function installOn(
  site: OpenSite,
  options: InstallOptions,
  context: InstallContext,
  machine: InstallerMachine,
): Promise<ExitCode> {
  const { terminal, version, completions, signal } = context;
  const is_json = options.json === true;
  const recovered = await recover(site, options.dryRun === true);
  if (recovered.kind === "problem") return fail(recovered.problem, context);
  const installation = await prepareInstallation(
    {
      version,
      is_image: site.system === null,
      key_from: keyPlace(options),
      readInput: context.readInput,
      node: options.node === undefined ? null : resolve(options.node),
      enables: options.enable !== false,
      starts: options.start !== false,
      enables_first_boot: options.firstBoot === true,
      completions,
      state_schema_version: context.state_schema_version,
    },
    site,
    machine,
  );
  if (installation.kind === "problem") return fail(installation.problem, context);
  const shown: Shown = { terminal, is_json, interrupted: recovered.interrupted };
  if (options.dryRun === true) {
    showPlanned(installation, shown);
    return site.obstacle === null ? EXIT.ok : fail(site.obstacle, context);
  }
  const { steps, plan, outdated } = installation;
  if (!is_json && recovered.interrupted !== null) {
    terminal.print(`put back the interrupted installation of ${recovered.interrupted}`);
  }
  // Before this version comes up, which writes there at once.
  if (changesService(steps, plan.record.program)) await dropCompiledCode(site.disk);
  const applied: Applied =
    steps.length === 0
      ? { kind: "applied", service: { kind: "untouched" } }
      : await applySteps(steps, version, site, signal, (step) => {
          const text = is_json ? null : describeNotable(step);
          if (text !== null) terminal.print(text);
        });
  switch (applied.kind) {
    case "interrupted":
      fail(takenBack("it was interrupted", applied.remains), context);
      return EXIT.interrupted;
    case "taken-back":
      return fail(takenBack(applied.reason, applied.remains), context);
    case "applied": {
      await removeOutdated(plan.record, outdated, site.disk);
      const service = site.system === null ? null : await observeUnit(site, SERVICE_UNIT);
      const provisioned = await observeProvisioning(site.disk);
      return showInstalled(installation, { outcome: applied.service, service, provisioned }, shown);
    }
  }
}

function keyPlace({ keyFile, keyStdin }: InstallOptions): string | null {
  if (keyStdin === true || keyFile === "-") return "-";
  return keyFile === undefined ? null : resolve(keyFile);
}

function findMisuse({ keyFile, keyStdin, config, stateDir, runtimeDir }: InstallOptions): Problem | null {
  if (keyStdin === true && keyFile !== undefined && keyFile !== "-") {
    const what = "there are two places for one key";
    return { code: "two-keys", what, fix: "give either --key-file FILE or --key-stdin" };
  }
  if (config === undefined && stateDir === undefined && runtimeDir === undefined) return null;
  return {
    code: "fixed-places",
    what: "an installed agent has its files in the standard places",
    fix: "leave --config, --state-dir and --runtime-dir away; for others: systemctl edit robot-policy-agent",
  };
}

function takenBack(reason: string, remains: readonly string[]): Problem {
  if (remains.length === 0) {
    return {
      code: "taken-back",
      what: `${reason}; everything is as it was before`,
      fix: "mend that and run install again",
    };
  }
  return {
    code: "not-put-back",
    what: `${reason}; what could not be put back: ${remains.join("; ")}`,
    fix: "mend that and run install again, which puts the rest back first",
  };
}

function fail(problem: Problem, { terminal }: InstallerContext): ExitCode {
  terminal.problem(problem);
  return EXIT.failed;
}
