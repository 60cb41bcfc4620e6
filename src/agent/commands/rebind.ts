import type { ExitCode, Problem } from "../../platform/terminal.ts";
import { EXIT } from "../../platform/terminal.ts";
import { resolveFolders } from "../folders.ts";
import { lockState } from "../lock.ts";
import { openState } from "../open.ts";
import { registrationPath } from "../registration.ts";
import { errorCode } from "../../platform/files.ts";
import type { Command, CommonOptions } from "./context.ts";
import { showProblem } from "./show-problem.ts";

/**
 * `rebind`: makes this machine a robot of its own, after a copied image, a new motherboard or a new name. The old registration is kept
 * beside the state under a name that says so; the next start registers afresh.
 */
export const rebind: Command<CommonOptions> = async (options, context) => {
  const { machine, terminal } = context;
  const { state_directory } = resolveFolders(options, context.environment);
  const taken = await lockState(machine.files, state_directory);
  if (taken.kind === "problem") return refuse(taken.problem);
  if (taken.kind === "held") {
    return refuse({
      code: "already-running",
      what: "the agent is running and holds the state",
      where: state_directory,
      fix: "systemctl stop robot-policy-agent, then rebind, then start it again",
    });
  }
  await using _lock = taken.lock;
  const state = await openState(machine, state_directory, true);
  if (state.kind === "problem") return refuse(state.problem);
  const { registration } = state;
  if (registration === null) {
    report(null);
    return EXIT.ok;
  }
  const path = registrationPath(state_directory);
  const kept = `${path}.rebound`;
  try {
    await machine.files.rename(path, kept);
    await machine.files.syncDirectory(state_directory);
  } catch (error) {
    return refuse({
      code: "state-not-writable",
      what: `the state cannot be moved (${errorCode(error) ?? "unknown error"})`,
      where: path,
      fix: "run it as root",
    });
  }
  report(kept);
  return EXIT.ok;

  function refuse(problem: Problem): ExitCode {
    return showProblem(problem, { rebound: false, kept: null, was: null }, options, terminal);
  }

  function report(kept_as: string | null): void {
    if (options.json === true)
      terminal.json({ rebound: kept_as !== null, kept: kept_as, was: registration?.request.name ?? null });
    else if (kept_as === null) terminal.print("Nothing to rebind: this machine has no registration.");
    else
      terminal.print(
        `Unbound from ${registration?.request.name ?? "?"} (kept as ${kept_as}). The next start or --setup registers this machine.`,
      );
  }
};
