import { EXIT, type ExitCode, type Problem } from "../../platform/terminal.ts";
import { applySteps, Interrupted, RestartFailed, type Site } from "../apply/apply.ts";
import { dropCompiledCode, restoreVersion } from "../apply/restore-version.ts";
import { reasonOfError } from "../apply/system.ts";
import { type Disk, DiskError } from "../disk/disk.ts";
import { removeEmptyDirectory, removeIfPresent, temporaryPath } from "../disk/durable.ts";
import { fail, type InstallerMachine, type InstallerProblem, systemInstallerMachine } from "../installer.ts";
import { NAME, SERVICE_UNIT } from "../layout.ts";
import { tryNode } from "../node-runtime.ts";
import { type OpenSite, openSite } from "../open-site.ts";
import { observeProvisioning } from "../plan/observation.ts";
import { type Installation, type InstallContext, type InstallOptions, prepareInstallation } from "../plan/prepare.ts";
import { describeNotable, type Step } from "../plan/step.ts";
import { showInstalled, type Shown, showPlanned } from "../show-installation.ts";

/** `install`: installs the agent on this machine or into an image, or updates it to this version. */
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
    return fail({ code: "unusable", what: reasonOfError(error), fix: "fix that and run it again" }, context);
  }
}

async function installOn(
  site: OpenSite,
  options: InstallOptions,
  context: InstallContext,
  machine: InstallerMachine,
): Promise<ExitCode> {
  const { terminal, signal } = context;
  const isJson = options.json === true;
  const installation = await prepareInstallation(options, context, site, machine);
  if (installation.kind === "problem") return fail(installation.problem, context);
  const shown: Shown = { terminal, isJson, program: context.program };
  if (options.dryRun === true) {
    showPlanned(installation, shown);
    return site.obstacle === null ? EXIT.ok : fail(site.obstacle, context);
  }
  const tell = (step: Step) => {
    const text = isJson ? null : describeNotable(step);
    if (text !== null) terminal.print(text);
  };
  try {
    const problem = await copyVersion(installation, site, machine, signal, tell);
    if (problem !== null) return fail(problem.problem, context);
    // Before the restart: the new version writes its own compile cache at once.
    if (installation.changesService) await dropCompiledCode(site.disk);
    const outcome = await applySteps(installation.steps, site, signal, tell);
    const service = site.system.isRunning ? await site.system.readUnit(SERVICE_UNIT) : null;
    const provisioned = await observeProvisioning(site.disk);
    return showInstalled(installation, { outcome, service, provisioned }, shown);
  } catch (error) {
    if (error instanceof Interrupted) {
      fail({ code: "interrupted", what: "the installation was interrupted", fix: GO_ON }, context);
      return EXIT.interrupted;
    }
    if (error instanceof RestartFailed) return fail(await returnToPrevious(installation, site, error), context);
    return fail({ code: "not-installed", what: reasonOfError(error), fix: GO_ON }, context);
  }
}

const GO_ON = "fix the cause, if there is one, and run install again: it continues from there";

/** Creates the version's folder and tries its Node. If either fails, the folder is removed again: nothing has changed. */
async function copyVersion(
  { node, copying }: Installation,
  site: Site,
  { runProgram }: InstallerMachine,
  signal: AbortSignal,
  onStep: (step: Step) => void,
): Promise<InstallerProblem | null> {
  if (copying.length === 0) return null;
  try {
    await applySteps(copying, site, signal, onStep);
  } catch (error) {
    if (error instanceof DiskError || error instanceof Interrupted) await removeMade(copying, site.disk);
    throw error;
  }
  const problem = node === null ? null : await tryNode(node, site, runProgram);
  if (problem !== null) await removeMade(copying, site.disk);
  return problem;
}

/** The next run finds and removes what could not be removed here. */
async function removeMade(steps: readonly Step[], disk: Disk): Promise<void> {
  for (const step of steps.toReversed()) {
    try {
      if (step.kind === "make-directory") await removeEmptyDirectory(disk, step.path);
      if (step.kind !== "write-file") continue;
      await removeIfPresent(disk, temporaryPath(step.path));
      if (!step.replaces) await removeIfPresent(disk, step.path);
    } catch (error) {
      if (!(error instanceof DiskError)) throw error;
    }
  }
}

/** The service was active with the previous version and does not start with this one. The robot comes first: go back. */
async function returnToPrevious({ version, previous }: Installation, site: Site, error: Error): Promise<Problem> {
  const fix = `journalctl -u ${NAME} -n 30 says why; the next install of this version tries it again`;
  if (previous === null) return { code: "start-failed", what: `the agent did not start: ${error.message}`, fix };
  const neither = (reason: string): Problem => ({
    code: "not-put-back",
    what: `version ${version} does not start (${error.message}), and neither does the one before: ${reason}`,
    fix,
  });
  try {
    const outcome = await restoreVersion(previous, site);
    if (outcome.kind === "start-failed") return neither(outcome.reason);
    const what = `version ${version} does not start, and the version before runs again: ${error.message}`;
    return { code: "taken-back", what, fix };
  } catch (failure) {
    return neither(reasonOfError(failure));
  }
}

function findMisuse({ keyFile, keyStdin, config, stateDir, runtimeDir }: InstallOptions): Problem | null {
  if (keyStdin === true && keyFile !== undefined && keyFile !== "-") {
    const what = "the key is given twice";
    return { code: "two-keys", what, fix: "give either --key-file FILE or --key-stdin" };
  }
  if (config === undefined && stateDir === undefined && runtimeDir === undefined) return null;
  return {
    code: "fixed-places",
    what: "an installed agent has its files in the standard places",
    fix: "leave out --config, --state-dir and --runtime-dir; for other places: systemctl edit robot-policy-agent",
  };
}
