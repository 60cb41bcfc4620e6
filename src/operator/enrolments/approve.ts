import { beyondSpec } from "../../api/api.ts";
import type { EnrolmentView } from "../../api/enrolments.ts";
import { enrolledName } from "../../api/words/enrolments.ts";
import type { CallResult } from "../../client/call-result.ts";
import type { ExitCode } from "../../platform/terminal.ts";
import { EXIT } from "../../platform/terminal.ts";
import { shellWord } from "../../platform/text/shell-word.ts";
import { confirmationPrompt, refusedBy, refusedWithoutName } from "../confirm.ts";
import type { OperatorContext } from "../context.ts";
import { defined } from "../defined.ts";
import { isUnknownOperation } from "../failure.ts";
import { flagPlaces } from "../files/places.ts";
import type { OperatorFlags } from "../flags.ts";
import { withService } from "../operator.ts";
import { refuse, refuseMissingOperation, refusePathParameter, refuseUnknown, refuseUsage } from "../refuse.ts";
import type { Service } from "../service.ts";
import { findTarget, noteTarget } from "./target.ts";
import { waitTimeout } from "../wait.ts";
import { waitForRobot } from "./wait.ts";
import { noteEnrolment, PENDING_REMEDY } from "./words.ts";

const PLACES = flagPlaces({ user_code: "CODE", name: "--name", region: "--region", confirm_replace: "--replace" });

/** What the operator agreed to. */
interface Decision {
  readonly name?: string | undefined;
  /** Consent to replace the computer of a robot, also of one that is online. */
  readonly isReplacing: boolean;
}

/**
 * `robots approve CODE`: gives the computer that shows the code a credential of its own. Shows who asks and asks once; to replace the computer
 * of a robot that is online, the operator types the robot's name or gives it with `--replace`.
 */
export async function robotsApprove(
  flags: OperatorFlags,
  context: OperatorContext,
  code: string | undefined,
): Promise<ExitCode> {
  const { terminal } = context;
  const timeoutMs = waitTimeout(flags, terminal);
  if (code === undefined || timeoutMs === null || refusePathParameter(code, terminal)) return EXIT.usage;
  return withService(flags, context, async (service) => {
    const found = await service.call(beyondSpec.getEnrolment, { parameters: { user_code: code } });
    const shown: CallResult<EnrolmentView> = found.kind === "ok" ? { ...found, value: found.value.value } : found;
    const decision = await decide(shown, service, flags, context);
    if (typeof decision === "number") return decision;
    const { name, isReplacing } = decision;
    const { region } = flags;
    const body = { user_code: code, ...defined({ name, region, confirm_replace: isReplacing ? true : undefined }) };
    if (flags.dryRun === true) return service.showRequest(beyondSpec.approveEnrolment, { body }, flags.json === true);
    const result = await service.call(beyondSpec.approveEnrolment, { body });
    if (result.kind !== "ok") {
      if (isUnknownOperation(result)) {
        const fix = "give the robot an API key: robot-policy keys create LABEL --scope robots:setup";
        return refuseMissingOperation("does not enroll robots", fix, terminal);
      }
      const isUnknown = result.kind === "refused" && result.status === 404;
      if (isUnknown) return refuseUnknown(result.detail, PENDING_REMEDY, terminal);
      return service.failed(result, { body, places: PLACES });
    }
    const { value, document } = result.value;
    if (flags.json === true) terminal.json(document);
    else
      terminal.print(
        `${value.requested_name} is approved, in ${value.region}: its computer gets its credential within seconds.`,
      );
    if (flags.wait !== true) return EXIT.ok;
    const fingerprint = shown.kind === "ok" ? shown.value.key_fingerprint : null;
    const exitCode = await waitForRobot(service, value.requested_name, fingerprint, timeoutMs, context);
    if (exitCode === EXIT.ok && flags.json !== true) terminal.print(`${value.requested_name} is registered.`);
    return exitCode;
  });
}

/** Shows the enrolment, and asks. @returns an exit code after saying why nothing is approved. */
async function decide(
  shown: CallResult<EnrolmentView>,
  service: Service,
  flags: OperatorFlags,
  context: OperatorContext,
): Promise<Decision | ExitCode> {
  if (shown.kind === "ok") return decideOn(shown.value, service, flags, context);
  if (isUnknownOperation(shown)) return decideUnseen(flags, context);
  // Nothing waits with the code. It may be approved already: the same approval again succeeds, any other is refused.
  if (shown.kind === "refused" && shown.status === 404)
    return { name: flags.name, isReplacing: flags.replace !== undefined };
  return service.failed(shown);
}

async function decideOn(
  enrolment: EnrolmentView,
  service: Service,
  flags: OperatorFlags,
  context: OperatorContext,
): Promise<Decision | ExitCode> {
  const { terminal, machine } = context;
  const region = flags.region ?? enrolment.region;
  if (region === null)
    return refuseUsage(
      "the computer did not say its region",
      "give the region nearest to it: --region REGION",
      terminal,
    );
  const name = enrolledName(flags.name ?? enrolment.requested_name);
  if (flags.replace !== undefined && enrolledName(flags.replace) !== name) {
    const what = `--replace names ${flags.replace}, and the code is for the robot ${name}`;
    return refuseUsage(what, "check the code; --name approves it for another robot", terminal);
  }
  const decision: Decision = { name: flags.name, isReplacing: flags.replace !== undefined };
  const target = await findTarget(service, enrolment, name);
  const isOnline = target !== null && target !== "hidden" && target.status === "online";
  if (flags.dryRun === true) return decision;
  const prompt = confirmationPrompt(flags, context);
  if (prompt === null) return isOnline && !decision.isReplacing ? refuseOnline(name, context) : decision;
  const nowMs = machine.clock.wallMs();
  noteEnrolment(enrolment, terminal, nowMs);
  await noteTarget(service, enrolment, target, { name, region }, terminal, nowMs);
  terminal.note("Compare the code and the key with what the robot shows.");
  if (!isOnline || decision.isReplacing) return (await refusedBy(prompt, "Approve it?", terminal)) ?? decision;
  noteReplacement(name, context);
  const question = "Type the robot's name to replace its computer: ";
  return (await refusedWithoutName(prompt, question, name, terminal)) ?? { ...decision, isReplacing: true };
}

function noteReplacement(name: string, { terminal }: OperatorContext): void {
  const warning = terminal.style("warn", "Another computer is online as this robot.");
  terminal.note(`${warning} It is cut off as soon as the new one has its credential as ${name}.`);
}

function refuseOnline(name: string, { terminal }: OperatorContext): ExitCode {
  const what = `the robot ${name} is online on another computer`;
  const fix = `make sure that the new one is to replace it, then add --replace ${shellWord(name)}`;
  return refuse({ code: "robot-online", what, fix }, EXIT.conflict, terminal);
}

/** For a service that shows no enrolments: `--replace` also says the name, so that no other robot is replaced. */
async function decideUnseen(flags: OperatorFlags, context: OperatorContext): Promise<Decision | ExitCode> {
  const { terminal } = context;
  const decision = { name: flags.name ?? flags.replace, isReplacing: flags.replace !== undefined };
  const prompt = flags.dryRun === true ? null : confirmationPrompt(flags, context);
  if (prompt === null) return decision;
  terminal.note("This service does not show who waits with a code. Compare the code with what the robot shows.");
  return (await refusedBy(prompt, "Approve it?", terminal)) ?? decision;
}
