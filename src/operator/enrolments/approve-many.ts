import { beyondSpec } from "../../api/api.ts";
import type { EnrolmentView } from "../../api/enrolments.ts";
import { EXIT, type ExitCode } from "../../platform/terminal.ts";
import { aloneBecause, enrolmentLine, ENROLMENTS } from "../../views/enrolments.ts";
import { bodyOf, flagPlaces } from "../body.ts";
import { confirmationPrompt, refusedBy } from "../change.ts";
import { itemsIn } from "../lists/listed.ts";
import { noteFacts } from "../lists/show-list.ts";
import { refuseUsage } from "../refuse.ts";
import { warnOfRegion } from "../robots/registration-checks.ts";
import type { Service } from "../service.ts";
import { APPROVE, type ApproveFlags, PENDING_REMEDY } from "./approve.ts";
import { waitForRobot } from "./wait.ts";

/**
 * Approves the computers with these codes, or with `--all` those that wait: shows code and key of each, asks once, and goes on after one that
 * is refused. Those that need an operator's consent for themselves are left out.
 *
 * @returns the exit code of the first that was not approved.
 */
export async function approveMany(service: Service, flags: ApproveFlags, codes: readonly string[]): Promise<ExitCode> {
  const { terminal } = service;
  const { all, name, replace, region } = flags;
  if (all === true && codes.length > 0) return refuseUsage("--all takes no codes", "leave one of both out", terminal);
  if (name !== undefined || replace !== undefined)
    return refuseUsage("--name and --replace are for one code", "approve that one by itself", terminal);
  const found = await (all === true ? listWaiting(service, flags) : fetchEach(service, codes));
  if (typeof found === "number") return found;
  const reasonOf = (each: EnrolmentView) => aloneBecause({ ...each, region: region ?? each.region });
  const chosen = found.filter((each) => reasonOf(each) === null);
  const left = found.filter((each) => reasonOf(each) !== null);
  for (const each of left)
    terminal.note(
      `${each.user_code} is left out, because ${reasonOf(each)}: robot-policy robots approve ${each.user_code}`,
    );
  if (found.length === 0) terminal.note(`${ENROLMENTS.empty}${flags.site === undefined ? "" : " at this site"}.`);
  const bodies = chosen.map((each) => ({ user_code: each.user_code, ...bodyOf(APPROVE, flags) }));
  const { method, path } = beyondSpec.approveEnrolment;
  if (flags.dryRun === true)
    return service.answer({ dry_run: true, method, path, bodies }, () => {
      for (const body of bodies) terminal.print(`${method} ${path} ${JSON.stringify(body)}`);
      terminal.note("Nothing was sent.");
    });
  if (chosen.length > 0) {
    for (const each of new Set(chosen.map((enrolment) => region ?? enrolment.region ?? "")))
      await warnOfRegion(service, each, terminal);
    const prompt = confirmationPrompt(service);
    if (prompt !== null) {
      const linesOf = (each: EnrolmentView) =>
        [
          [each.user_code, enrolmentLine(each)],
          ["", each.key_fingerprint],
        ] as const;
      noteFacts(terminal, chosen.flatMap(linesOf));
      terminal.note("Compare each code and key with what its robot shows.");
      const question = chosen.length === 1 ? "Approve it?" : `Approve all ${chosen.length}?`;
      const refused = await refusedBy(prompt, question, terminal);
      if (refused !== null) return refused;
    }
  }
  const exitCode = await approveEach(service, flags, chosen);
  return exitCode === EXIT.ok && left.length > 0 && all !== true ? EXIT.conflict : exitCode;
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

async function approveEach(
  service: Service,
  flags: ApproveFlags,
  enrolments: readonly EnrolmentView[],
): Promise<ExitCode> {
  const { terminal } = service;
  const places = flagPlaces(APPROVE, { user_code: "CODE" });
  const approved: { readonly name: string; readonly key: string; readonly document: unknown }[] = [];
  const exitCodes: ExitCode[] = [];
  for (const { user_code: code, requested_name: asked, key_fingerprint: key } of enrolments) {
    const body = { user_code: code, ...bodyOf(APPROVE, flags) };
    const result = await service.call(beyondSpec.approveEnrolment, { body });
    if (result.kind === "ok") {
      const { requested_name: name, region } = result.value.value;
      approved.push({ name, key, document: result.value.document });
      if (service.flags.json !== true) terminal.print(`${name} is approved, in ${region} (${code}).`);
      continue;
    }
    terminal.note(`${asked} (${code}) is not approved:`);
    exitCodes.push(service.failed(result, { body, places, unknownFix: PENDING_REMEDY }));
    if (result.kind !== "refused") break;
  }
  if (service.flags.json === true) terminal.json({ items: approved.map(({ document }) => document) });
  if (flags.wait === true) for (const { name, key } of approved) exitCodes.push(await waitForRobot(service, name, key));
  return exitCodes.find((each) => each !== EXIT.ok) ?? EXIT.ok;
}
