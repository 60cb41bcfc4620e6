import { beyondSpec } from "../../api/api.ts";
import { type ExitCode, EXIT, type Terminal } from "../../platform/terminal.ts";
import { ENROLL_COMMAND } from "../../views/computers.ts";
import { ENROLMENTS, aloneBecause, enrolledName, enrolmentLine, enrolmentDifferences } from "../../views/enrolments.ts";
import { makeChange, confirmationPrompt, refusedBy, refusedWithoutName } from "../change.ts";
import { command, type OperatorRow } from "../command.ts";
import { CHANGE, CSV, LIST, type Given, labels, onOff, text, waiting } from "../flags.ts";
import { showList, noteFacts } from "../lists/show-list.ts";
import { tableOf, factTexts, shortDigest, shownText } from "../lists/shown.ts";
import type { Service, Answer } from "../service.ts";
import type { EnrolmentView } from "../../api/enrolments.ts";
import type { IdentifiedRobotView } from "../../api/robot-views.ts";
import type { CallResult } from "../../client/call-result.ts";
import { isPathParameter } from "../../client/send-request.ts";
import { shellWord } from "../../platform/text/shell-word.ts";
import { stateInFull } from "../../views/robots.ts";
import { bodyOf, flagPlaces } from "../body.ts";
import { isNothingNamed, isUnknownOperation } from "../failure.ts";
import { itemsIn } from "../lists/listed.ts";
import { refuse, refuseUsage } from "../refuse.ts";
import { differences, warnOfRegion } from "../robots/registration.ts";
import type { Now } from "../times.ts";
import { waitForRobot } from "./wait.ts";

const APPROVE = {
  name: text("<name>", "name of the robot (default: the name that the computer asks for)", { place: "name" }),
  region: text("<region>", "region of the robot (default: the region that the computer says)", {
    names: "regions",
    place: "region",
  }),
  site: text(
    "<site>",
    "site of the robot (default: the site that the computer says); with --all, only computers of this site",
    {
      names: "sites",
      place: "site",
    },
  ),
  label: labels("label of the robot, beside those that the computer says; repeatable", { place: "labels" }),
  all: onOff("approve all computers that wait, after showing the key of each", { excludes: ["--name", "--replace"] }),
  replace: text("<robot>", "replace the computer of this robot, also if it is online", { names: "robots" }),
  ...waiting("wait until its robot is registered: exit 0, or 6 if it is frozen, 1 after --timeout"),
  ...CHANGE,
};

type ApproveFlags = Given<typeof APPROVE>;

const PENDING_REMEDY = "robot-policy robots pending lists the codes that wait; the robot shows its own";

/** Enrolments of robot computers. */
export const enrolmentCommands: readonly OperatorRow[] = [
  command({
    name: "robots pending",
    summary: "list the robot computers that wait for approval",
    flags: { ...CSV, ...LIST },
    examples: ["robot-policy robots pending"],
    run: async (service) => showList(service, await listEnrolments(service), PENDING),
  }),
  command({
    name: "robots approve",
    summary: "approve the computers that show these codes, after showing who asks",
    argument: "[CODE...]",
    names: ["codes"],
    flags: APPROVE,
    examples: [
      "robot-policy robots approve WXYZ-2345 --wait",
      "robot-policy robots approve WXYZ-2345 --name arm-7 --region us-west-2 --site plant-1 --label cell=4 --yes",
      "robot-policy robots approve WXYZ-2345 --replace arm-7",
      "robot-policy robots approve --all --site hall-1",
    ],
    run: (service, flags, _first, _second, codes) => approve(service, flags, codes),
  }),
  command({
    name: "robots deny",
    summary: "deny the computer that shows this code",
    argument: "CODE",
    flags: CHANGE,
    examples: ["robot-policy robots deny WXYZ-2345"],
    run: (service, _flags, code) => deny(service, code),
  }),
];

export function listEnrolments(service: Service) {
  return service.listAll(beyondSpec.listEnrolments, ({ items }) => items);
}

// Nothing tells an organization whether it is the only one.
const NONE_PENDING =
  `${ENROLMENTS.empty}. If the service has several organizations, the list has only computers that name yours; ` +
  `approve others by their code. A technician starts an enrolment on the robot: ${ENROLL_COMMAND}`;

const PENDING = { ...tableOf(ENROLMENTS), empty: NONE_PENDING };

/** The computer that shows the code gets no credential. Shows which one it is, and asks once at a terminal. */
function deny(service: Service, code: string): Promise<ExitCode> {
  const { terminal } = service;
  return makeChange(service, {
    row: beyondSpec.denyEnrolment,
    input: { body: { user_code: code } },
    async explain() {
      const found = await service.call(beyondSpec.getEnrolment, { parameters: { user_code: code } });
      // Without a view there is nothing to show: the code may be approved already, or the denial reports the failure.
      if (found.kind === "ok") noteEnrolment(found.value.value, terminal, service.now());
      return "Deny it?";
    },
    unknownFix: PENDING_REMEDY,
    show({ user_code: denied, requested_name: name }) {
      terminal.print(`${denied} is denied: the computer that asked to be ${name} is told so.`);
    },
  });
}

/** Shows who asks, before the operator decides; on stderr, because the decision is the result. */
function noteEnrolment(enrolment: EnrolmentView, terminal: Terminal, now: Now): void {
  noteFacts(terminal, factTexts(ENROLMENTS.factsOf(enrolment), now));
}

/** An approval that the operator agreed to. */
interface Approval {
  /** The name that the computer asks for; the code where that is not known. */
  readonly name: string;
  readonly code: string;
  /** The fingerprint of the computer's key; null where the service does not show it. */
  readonly key: string | null;
  readonly body: Readonly<Record<string, unknown>>;
}

/** What the operator agreed to of one computer. */
interface Decision {
  readonly name?: string | undefined;
  /** Consent to replace the computer of a robot, also of one that is online. */
  readonly isReplacing: boolean;
}

/**
 * Gives the computers that show these codes credentials of their own, with `--all` those that wait. Shows who asks and asks once; of several,
 * those that need an operator's consent for themselves are left out, and it goes on after one that is refused.
 *
 * @returns the exit code of the first that was not approved.
 */
async function approve(service: Service, flags: ApproveFlags, codes: readonly string[]): Promise<ExitCode> {
  const { terminal } = service;
  const { all, name, replace } = flags;
  const [code] = codes;
  if (all === true && code !== undefined) return refuseUsage("--all takes no codes", "leave one of both out", terminal);
  if (all === true || code === undefined || codes.length > 1) {
    if (all !== true && code === undefined)
      return refuseUsage("no code is given", "give the codes that the robots show, or --all", terminal);
    if (name !== undefined || replace !== undefined)
      return refuseUsage("--name and --replace are for one code", "approve that one by itself", terminal);
    return approveMany(service, flags, codes);
  }
  const approval = await decide(service, flags, code);
  if (typeof approval === "number") return approval;
  if (flags.dryRun === true) return service.showRequest(beyondSpec.approveEnrolment, { body: approval.body });
  return send(service, flags, [approval], ([document]) => document);
}

async function approveMany(service: Service, flags: ApproveFlags, codes: readonly string[]): Promise<ExitCode> {
  const { terminal } = service;
  const found = await (flags.all === true ? listWaiting(service, flags) : fetchEach(service, codes));
  if (typeof found === "number") return found;
  const reasonOf = (each: EnrolmentView) => aloneBecause({ ...each, region: flags.region ?? each.region });
  const left = found.filter((each) => reasonOf(each) !== null);
  for (const each of left) {
    const { user_code: code } = each;
    terminal.note(`${code} is left out, because ${reasonOf(each)}: robot-policy robots approve ${code}`);
  }
  if (found.length === 0) terminal.note(`${ENROLMENTS.empty}${flags.site === undefined ? "" : " at this site"}.`);
  const chosen = found.filter((each) => reasonOf(each) === null);
  const approvals = chosen.map(({ requested_name: name, user_code: code, key_fingerprint: key }) => {
    return { name, code, key, body: { user_code: code, ...bodyOf(APPROVE, flags) } };
  });
  const { method, path } = beyondSpec.approveEnrolment;
  const bodies = approvals.map(({ body }) => body);
  if (flags.dryRun === true)
    return service.answer({ dry_run: true, method, path, bodies }, () => {
      for (const body of bodies) terminal.print(`${method} ${path} ${JSON.stringify(body)}`);
      terminal.note("Nothing was sent.");
    });
  for (const region of new Set(chosen.map((each) => flags.region ?? each.region ?? "")))
    await warnOfRegion(service, region, terminal);
  const prompt = chosen.length === 0 ? null : confirmationPrompt(service);
  if (prompt !== null) {
    for (const each of chosen)
      noteFacts(terminal, [
        [each.user_code, enrolmentLine(each)],
        ["", each.key_fingerprint],
      ]);
    terminal.note("Compare each code and key with what its robot shows.");
    const question = chosen.length === 1 ? "Approve it?" : `Approve all ${chosen.length}?`;
    const refused = await refusedBy(prompt, question, terminal);
    if (refused !== null) return refused;
  }
  const exitCode = await send(service, flags, approvals, (items) => ({ items }));
  return exitCode === EXIT.ok && left.length > 0 && flags.all !== true ? EXIT.conflict : exitCode;
}

/** The computers that wait, with `--site` those that say this site. */
async function listWaiting(service: Service, { site }: ApproveFlags): Promise<readonly EnrolmentView[] | ExitCode> {
  const listed = await service.listAll(beyondSpec.listEnrolments, ({ items }) => items);
  if (listed.kind !== "ok") return service.failed(listed);
  return itemsIn(listed.value).filter((each) => site === undefined || each.site === site);
}

async function fetchEach(service: Service, codes: readonly string[]): Promise<readonly EnrolmentView[] | ExitCode> {
  const found: EnrolmentView[] = [];
  for (const code of new Set(codes)) {
    const result = await service.call(beyondSpec.getEnrolment, { parameters: { user_code: code } });
    if (result.kind !== "ok") {
      service.terminal.note(`Nothing is approved, because of the code ${code}:`);
      return service.failed(result, { unknownFix: PENDING_REMEDY });
    }
    found.push(result.value.value);
  }
  return found;
}

/** Sends approvals one by one, and with `--wait` waits for each. @param documentOf what is printed with `--json`. */
async function send(
  service: Service,
  flags: ApproveFlags,
  approvals: readonly Approval[],
  documentOf: (documents: readonly unknown[]) => unknown,
): Promise<ExitCode> {
  const { terminal } = service;
  const places = flagPlaces(APPROVE, { user_code: "CODE", confirm_replace: "--replace" });
  const approved: { readonly name: string; readonly key: string | null; readonly document: unknown }[] = [];
  const exitCodes: ExitCode[] = [];
  for (const { name: asked, code, key, body } of approvals) {
    const result = await service.call(beyondSpec.approveEnrolment, { body });
    if (result.kind === "ok") {
      const { requested_name: name, region, labels: taken } = result.value.value;
      approved.push({ name, key, document: result.value.document });
      if (service.flags.json !== true) terminal.print(`${name} is approved, in ${region}.`);
      if (taken === undefined && (flags.site !== undefined || flags.label !== undefined)) terminal.note(NOT_TAKEN);
      continue;
    }
    if (approvals.length > 1) terminal.note(`${asked} (${code}) is not approved:`);
    exitCodes.push(service.failed(result, { body, places, unknownFix: PENDING_REMEDY }));
    if (result.kind !== "refused") break;
  }
  const documents = approved.map(({ document }) => document);
  if (service.flags.json === true && (documents.length > 0 || approvals.length !== 1))
    terminal.json(documentOf(documents));
  for (const { name, key } of flags.wait === true ? approved : []) {
    const exitCode = await waitForRobot(service, name, key);
    if (exitCode === EXIT.ok && service.flags.json !== true) terminal.print(`${name} is registered.`);
    exitCodes.push(exitCode);
  }
  return exitCodes.find((each) => each !== EXIT.ok) ?? EXIT.ok;
}

const NOT_TAKEN = "This service takes no site and labels with an approval: write them into the robot's configuration.";

/** Shows the enrolment, and asks. @returns an exit code after saying why it is not approved. */
async function decide(service: Service, flags: ApproveFlags, code: string): Promise<Approval | ExitCode> {
  if (!isPathParameter(code)) return refuseUsage(`'${code}' is not a code`, PENDING_REMEDY, service.terminal);
  const shown = await service.call(beyondSpec.getEnrolment, { parameters: { user_code: code } });
  const decision = await decisionFor(service, flags, shown);
  if (typeof decision === "number") return decision;
  const { name, isReplacing } = decision;
  const replacing = isReplacing ? { confirm_replace: true } : {};
  const body = { user_code: code, ...bodyOf(APPROVE, { ...flags, name }), ...replacing };
  return { name: code, code, key: shown.kind === "ok" ? shown.value.value.key_fingerprint : null, body };
}

async function decisionFor(
  service: Service,
  flags: ApproveFlags,
  shown: CallResult<Answer<EnrolmentView>>,
): Promise<Decision | ExitCode> {
  if (shown.kind === "ok") return decideOn(shown.value.value, flags, service);
  if (isUnknownOperation(shown)) return decideUnseen(flags, service);
  if (!isNothingNamed(shown)) return service.failed(shown);
  // Nothing waits with the code. It may be approved already: the same approval again succeeds, any other is refused.
  const { name, replace } = flags;
  return { name, isReplacing: replace !== undefined };
}

async function decideOn(enrolment: EnrolmentView, flags: ApproveFlags, service: Service): Promise<Decision | ExitCode> {
  const { terminal } = service;
  const region = flags.region ?? enrolment.region;
  if (region === null) {
    const fix = "give the region nearest to it: --region REGION";
    return refuseUsage("the computer did not say its region", fix, terminal);
  }
  const name = enrolledName(flags.name ?? enrolment.requested_name);
  if (flags.replace !== undefined && enrolledName(flags.replace) !== name) {
    const what = `--replace names ${flags.replace}, but the code is for the robot ${name}`;
    return refuseUsage(what, "check the code; --name approves it for another robot", terminal);
  }
  const decision: Decision = { name: flags.name, isReplacing: flags.replace !== undefined };
  const target = await findTarget(service, enrolment, name);
  const isOnline = target !== null && target !== "hidden" && target.status === "online";
  if (flags.dryRun === true) return decision;
  await warnOfRegion(service, region, terminal);
  const prompt = confirmationPrompt(service);
  if (prompt === null) return isOnline && !decision.isReplacing ? refuseOnline(name, terminal) : decision;
  noteEnrolment(enrolment, terminal, service.now());
  const allLabels = { ...enrolment.labels, ...flags.label };
  await noteTarget(service, { ...enrolment, site: flags.site ?? enrolment.site, labels: allLabels }, target, {
    name,
    region,
  });
  terminal.note("Compare the code and the key with what the robot shows.");
  if (!isOnline || decision.isReplacing) return (await refusedBy(prompt, "Approve it?", terminal)) ?? decision;
  const warning = terminal.style("warn", "Another computer is online as this robot.");
  terminal.note(`${warning} It loses its credential as soon as the new computer has its own.`);
  const question = "Type the robot's name to replace its computer: ";
  return (await refusedWithoutName(prompt, question, name, terminal)) ?? { ...decision, isReplacing: true };
}

function refuseOnline(name: string, terminal: Terminal): ExitCode {
  const what = `the robot ${name} is online on another computer`;
  const fix = `make sure that the new one is to replace it, then add --replace ${shellWord(name)}`;
  return refuse({ code: "robot-online", what, fix }, EXIT.conflict, terminal);
}

/** For a service that shows no enrolments: `--replace` also says the name, so that no other robot is replaced. */
async function decideUnseen(flags: ApproveFlags, service: Service): Promise<Decision | ExitCode> {
  const { terminal } = service;
  const decision = { name: flags.name ?? flags.replace, isReplacing: flags.replace !== undefined };
  const prompt = flags.dryRun === true ? null : confirmationPrompt(service);
  if (prompt === null) return decision;
  terminal.note("This service does not show who waits with a code. Compare the code with what the robot shows.");
  return (await refusedBy(prompt, "Approve it?", terminal)) ?? decision;
}

/** The robot of this name; null for a new one, "hidden" where the credential may not see robots. */
async function findTarget(
  service: Service,
  { robot, requested_name: requestedName }: EnrolmentView,
  name: string,
): Promise<IdentifiedRobotView | null | "hidden"> {
  if (name === enrolledName(requestedName)) return robot;
  const found = await service.call(beyondSpec.getRobot, { parameters: { robot: name } });
  if (found.kind === "ok") {
    const { value } = found.value;
    // The operation accepts ids too, but `name` is never meant as an id.
    return value.name === name ? value : null;
  }
  return found.kind === "refused" && found.status === 404 ? null : "hidden";
}

/** Shows whether the name is taken, and what the approval changes of that robot. */
async function noteTarget(
  service: Service,
  enrolment: EnrolmentView,
  target: IdentifiedRobotView | null | "hidden",
  decided: { readonly name: string; readonly region: string },
): Promise<void> {
  const { terminal } = service;
  if (target === "hidden") {
    terminal.note(`This credential may not see whether a robot ${decided.name} exists.`);
    return;
  }
  if (target === null) {
    terminal.note(`This adds the robot ${decided.name}.`);
    return;
  }
  const state = stateInFull({ view: target, registration: null });
  const words = state === null ? "" : `; it is ${shownText(state, service.now())}`;
  terminal.note(`The robot ${target.name} exists (${target.id})${words}.`);
  const digest = await registeredDigest(service, target.id);
  const changes = enrolmentDifferences(enrolment, target, decided.region, digest).map(([member, registered, said]) =>
    member === "digest"
      ? ([member, shortDigest(registered), shortDigest(said)] as const)
      : ([member, registered, said] as const),
  );
  if (changes.length > 0) terminal.note("What the new computer says differs from its registration:");
  for (const change of differences(changes)) terminal.note(`  ${change}`);
}

/** Null where the service or the credential does not show it: the approval needs no registration. */
async function registeredDigest(service: Service, robot: string): Promise<string | null> {
  const result = await service.call(beyondSpec.getRegistration, { parameters: { robot } });
  return result.kind === "ok" ? result.value.value.configuration_digest : null;
}
