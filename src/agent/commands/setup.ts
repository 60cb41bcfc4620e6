import { EXIT, type ExitCode, type Problem } from "../../platform/terminal.ts";
import { findDenials, withDenials } from "../access/check-access.ts";
import { describeChanges } from "../changes.ts";
import { type Folders, resolveFolders } from "../configuration/folders.ts";
import { type EitherAgent, openAgent } from "../control/either-agent.ts";
import { decide, sharesOthers, type Wanted } from "../decide.ts";
import { describeFiles } from "../describe-agent.ts";
import { readHoldNow } from "../hold.ts";
import { changesOf, collectSettled, describeOneShot, statusFromDisk } from "../one-shot.ts";
import type { Registration } from "../registration/registration.ts";
import { exitCodeOf, statusProblem } from "../states.ts";
import type { StatusDocument } from "../status.ts";
import type { Command, CommandContext, CommonOptions } from "./context.ts";
import { hashProgress, openToRead, showFindings, showProblem } from "./show.ts";

export interface SetupOptions extends CommonOptions {
  /** Show what would be sent. Sends and writes nothing. */
  readonly dryRun?: boolean;
  /** Do nothing when the service already has this registration. */
  readonly ifChanged?: boolean;
}

/** How often a running agent that enrolls is looked at. */
export const LOOK_PERIOD_MS = 500;

/** `--setup`: registers once and reports the result; through the daemon when one runs. */
export const setup: Command<SetupOptions> = async (options, context) => {
  const folders = resolveFolders(options, context.environment);
  if (options.dryRun === true) return preview(folders, options, context);
  const opened = await openAgent(folders, context, { onProgress: hashProgress(context.terminal) });
  switch (opened.kind) {
    case "problem":
      return showProblem(opened.problem, {}, options, context.terminal);
    case "invalid":
      return conclude(await statusFromDisk(folders, context), options, context, null);
    case "agent": {
      await using agent = opened.agent;
      const before = await agent.status();
      if ("fix" in before) return showProblem(before, {}, options, context.terminal);
      return await conclude(await register(agent, options, context), options, context, before.registration);
    }
  }
};

/** Asks until there is an answer: an enrolment that needs no person is waited for. */
export async function register(
  agent: EitherAgent,
  options: SetupOptions,
  context: CommandContext,
): Promise<StatusDocument | Problem> {
  let status = await agent.ask(options.ifChanged === true ? "confirm" : "register");
  while (!("fix" in status) && isEnrolling(status)) {
    await context.machine.clock.sleep(LOOK_PERIOD_MS, context.signal);
    status = await agent.status();
    // The agent registers by itself once it is enrolled.
    if (!("fix" in status) && !isEnrolling(status)) status = await agent.ask("confirm");
  }
  return status;
}

/** An enrolment that needs no person so far: within seconds it ends, or has a code or a problem. */
function isEnrolling({ state, identity }: StatusDocument): boolean {
  return state === "waiting-for-approval" && identity?.user_code === null && identity.problem === null;
}

/** @param before the registration before this command. */
async function conclude(
  status: StatusDocument | Problem,
  options: SetupOptions,
  context: CommandContext,
  before: Pick<Registration, "registered_at"> | null,
): Promise<ExitCode> {
  const { terminal } = context;
  if ("fix" in status) return showProblem(status, {}, options, terminal);
  const { registration } = status;
  const registeredNow = registration !== null && registration.registered_at !== before?.registered_at;
  const unconfirmed = options.ifChanged === true && !registeredNow ? notConfirmed(status) : null;
  if (options.json === true) terminal.json({ ...status, registered_now: registeredNow });
  else {
    await showFindings(status.findings, context);
    if (registration !== null && status.state === "registered") {
      const verb = registeredNow ? "Registered" : unconfirmed === null ? "Already registered:" : "Was registered:";
      terminal.print(`${verb} ${status.robot.name} as ${status.robot.view?.id ?? "?"} at ${registration.service_url}`);
      terminal.print(`Configuration ${registration.configuration_digest}`);
      const changes = registeredNow ? status.registered_changes : null;
      if (changes !== null)
        for (const line of describeChanges(changes, context.machine.clock.wallMs())) terminal.print(`  ${line}`);
    }
    if (status.state_problem !== null)
      terminal.note(`State not saved: ${status.state_problem}; the next start checks with the service.`);
  }
  const problem = statusProblem(status) ?? notYet(status) ?? unconfirmed;
  if (problem !== null) terminal.problem(withNextStep(problem, status));
  // These states exit 0 for a daemon, but this command was asked to register and has not.
  const isConcluded = status.state === "registered" || statusProblem(status) !== null;
  const code = isConcluded ? exitCodeOf(status) : EXIT.failed;
  return code === EXIT.ok && unconfirmed !== null ? EXIT.unreachable : code;
}

/** Where no agent runs, somebody has to go on after the approval. */
function withNextStep(problem: Problem, { state, daemon }: StatusDocument): Problem {
  if (state !== "waiting-for-approval" || daemon !== null) return problem;
  return { ...problem, fix: `${problem.fix}; then: sudo robot-policy-agent --setup` };
}

function notYet({ state, summary }: StatusDocument): Problem | null {
  if (state === "registered") return null;
  if (state === "held")
    return { code: "held", what: summary, fix: "wait, or end that hold: robot-policy-agent release" };
  return {
    code: "not-yet",
    what: `not registered yet: ${summary}`,
    fix: "see how it goes with: robot-policy-agent status --watch",
  };
}

/** The problem when nothing changed here, but the service could not be asked whether it still has the registration. */
function notConfirmed({ state, confirmation, service }: StatusDocument): Problem | null {
  const why = confirmation?.problem ?? null;
  if (state !== "registered" || why === null) return null;
  return {
    code: "not-confirmed",
    what: `the service could not be asked whether it still has the registration: ${why}`,
    ...(service.url === null ? {} : { where: service.url }),
    fix: "find the cause with: robot-policy-agent doctor",
  };
}

const WOULD = {
  register: "Would send",
  nothing: "Would send nothing, unless the service lost it:",
  wait: "Held (by whom: robot-policy-agent status); would send once released:",
  refuse: "Would not send:",
} as const;

const NOTHING_SENT = { would: "refuse", method: "POST", url: null, request: null, files: [] };

/** `--setup --dry-run`: shows the request, and whether it would be sent. Sends and writes nothing. */
async function preview(folders: Folders, options: SetupOptions, context: CommandContext): Promise<ExitCode> {
  const { terminal, machine } = context;
  const oneShot = await openToRead("read", NOTHING_SENT, options, context);
  if (typeof oneShot === "number") return oneShot;
  const { collector, registration } = oneShot;
  const denials = await findDenials(oneShot, folders, context);
  const collected = await collectSettled(oneShot, context.signal);
  const wanted: Wanted = denials.length > 0 ? { kind: "invalid" } : collected.wanted;
  const findings = withDenials(collector.findings, denials);
  const reading = await readHoldNow(folders, context);
  const decision = decide({
    wanted,
    registration,
    lastFailure: null,
    credentialVersion: "",
    machine: collected.machineId,
    serviceUrl: collector.configuration.service.url,
    route: "",
    held: null,
    isNameApproved: collector.isNameApproved,
    sharesOthers: sharesOthers(registration, collector.snapshot),
    holdUntilMs: reading.kind === "held" ? reading.hold.untilMs : null,
    forced: options.ifChanged !== true,
    rateCappedUntilMs: Number.NEGATIVE_INFINITY,
    nowMs: machine.clock.monotonicMs(),
  });
  const request = wanted.kind === "body" ? wanted.body : null;
  const files = describeFiles(collector.snapshot?.files ?? []);
  const changes = await changesOf(oneShot, wanted);
  const url = `${collector.configuration.service.url}/v1/robots/setup`;
  if (options.json === true) {
    terminal.json({ would: decision.kind, method: "POST", url, request, files, findings, changes });
  } else {
    await showFindings(findings, context);
    if (request !== null) {
      terminal.print(`${WOULD[decision.kind]} POST ${url}`);
      terminal.printText(JSON.stringify(request, null, 2));
      terminal.table(
        ["sha256", "bytes", "file"],
        files.map(({ sha256, bytes, path }) => [sha256, String(bytes), path]),
      );
      if (changes !== null) for (const line of describeChanges(changes, machine.clock.wallMs())) terminal.print(line);
    }
  }
  if (decision.kind !== "refuse") return EXIT.ok;
  const status = describeOneShot(oneShot, decision.reason);
  const problem = statusProblem(status);
  if (problem !== null) terminal.problem(problem);
  return exitCodeOf(status);
}
