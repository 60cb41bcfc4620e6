/** What differs between two registrations, and a robot's history with what each registration changed. */
import type { Difference, Differences, DifferencesQuery, RegistrationPart } from "../../api/differences.ts";
import { isContract } from "../../api/is-contract.ts";
import { HISTORY_KEPT, type RegistrationRecord } from "../../api/registrations.ts";
import { eachOf, ROBOT_TEXT_NAMES } from "../../api/robot-texts.ts";
import { diffContracts } from "../../differences/contract.ts";
import { diffLabels, diffParts, ofValue, withContents } from "../../differences/differences.ts";
import { nameActors } from "../audit/index.ts";
import { answerValue, isAnswer, refuse } from "../kernel/http/answers.ts";
import type { Handler, OperationContext } from "../kernel/operation.ts";
import { type Reader, readSnapshot } from "../kernel/store/store.ts";
import { yieldEventLoop } from "../kernel/traffic/event-loop.ts";
import {
  changedMembers,
  contentHashOf,
  findRegistration,
  isRegistration,
  lastEntries,
  type RecordedRegistration,
  registrationBefore,
} from "./history.ts";
import { readContent, readParts } from "./parts.ts";
import { findRobot, liveRobots } from "./robots.ts";
import { UNKNOWN_ROBOT } from "./views.ts";

/** Files whose contents are compared in one answer; of further ones it is only said that they changed. */
const CONTENTS_COMPARED = 100;
/** Sentences about one contract. */
const CONTRACT_DETAILS = 200;

/** `GET /v1/robots/{robot}/history`: the registrations that the audit log still has, newest first. */
export function getRobotHistory({ store }: OperationContext): Handler<null> {
  return async ({ principal: { organizationId }, path }) => {
    const asked = path["robot"] ?? "";
    const robot = await findRobot(store.reader, organizationId, asked);
    const items = await readSnapshot(store.reader, (snapshot) =>
      readRobotHistory(snapshot, organizationId, robot?.id ?? asked),
    );
    // A robot that was removed keeps its history, which only its id finds.
    if (robot === undefined && items.length === 0) return UNKNOWN_ROBOT;
    return answerValue({ items });
  };
}

export async function readRobotHistory(
  reader: Reader,
  organizationId: string,
  robotId: string,
): Promise<readonly RegistrationRecord[]> {
  const registrations = (await lastEntries(reader, organizationId, robotId, HISTORY_KEPT)).filter(isRegistration);
  const names = await nameActors(
    reader,
    organizationId,
    registrations.map(({ actor }) => actor),
  );
  const compare = createComparison(reader, organizationId);
  const records: RegistrationRecord[] = [];
  for (const [index, registration] of registrations.entries()) {
    const { id, at, actor, details } = registration;
    const before = registrations[index + 1] ?? null;
    records.push({
      registration_id: id,
      at,
      configuration_digest: details.configuration_digest,
      changed: before === null ? null : changedMembers(before.details, details),
      differences: before === null ? [] : [...(await compare(before, registration)).differences],
      robot_type_id: details.robot_type_id,
      region: details.region,
      ...eachOf(ROBOT_TEXT_NAMES, (text) => details[text]),
      actor: { id: actor, label: names.get(actor) ?? null },
      address: details.address,
      contested: details.contested,
    });
  }
  return records;
}

/** `GET /v1/robots/{robot}/differences` */
export function getRobotDifferences({ store }: OperationContext): Handler<null, DifferencesQuery> {
  return ({ principal: { organizationId }, path, query }) =>
    readSnapshot(store.reader, async (reader) => {
      const after = await registrationAsked(reader, organizationId, path["robot"] ?? "", query.registration);
      if (isAnswer(after)) return after;
      const before =
        query.against === undefined
          ? ((await registrationBefore(reader, organizationId, after)) ?? null)
          : await registrationAgainst(reader, organizationId, query.against);
      if (before === null) {
        return answerValue({ before, after: sideOf(after), parts: "not_known", differences: [] } satisfies Differences);
      }
      if (isAnswer(before)) return before;
      const compared = await createComparison(reader, organizationId)(before, after);
      const answer: Differences = {
        before: sideOf(before),
        after: sideOf(after),
        parts: compared.parts,
        differences: [...(await withFiles(reader, organizationId, compared.differences))],
      };
      return answerValue(answer);
    });
}

type Asked = RecordedRegistration & { readonly robotId: string };

const NOT_KEPT = refuse("NotFound", "This registration is not kept, or never was");

/** A registration of the robot: that with the id, or the last one. */
async function registrationAsked(reader: Reader, organizationId: string, robot: string, id: string | undefined) {
  const found = await findRobot(reader, organizationId, robot);
  if (id === undefined) return found === undefined ? UNKNOWN_ROBOT : lastRegistration(reader, organizationId, found.id);
  const registration = await findRegistration(reader, organizationId, id);
  return registration?.robotId === (found?.id ?? robot) ? registration : NOT_KEPT;
}

/** The registration with this id, or the last one of this robot. */
async function registrationAgainst(reader: Reader, organizationId: string, against: string) {
  const registration = await findRegistration(reader, organizationId, against);
  return registration ?? registrationAsked(reader, organizationId, against, undefined);
}

async function lastRegistration(reader: Reader, organizationId: string, robotId: string) {
  const robot = await liveRobots(reader, organizationId)
    .select("audit_id")
    .where("id", "=", robotId)
    .executeTakeFirst();
  const id = robot?.audit_id ?? "";
  return (await findRegistration(reader, organizationId, id)) ?? NOT_KEPT;
}

function sideOf({ id, at, robotId, details }: Asked): Differences["after"] {
  const { name, configuration_digest: digest } = details;
  return { robot_id: robotId, robot: name, registration_id: id, at, configuration_digest: digest };
}

type Compared = Pick<Differences, "parts" | "differences">;

/** Compares registrations, but for what is in files. Parts are read once for the two comparisons that a registration is in. */
function createComparison(reader: Reader, organizationId: string) {
  let last: { readonly id: string; readonly parts: readonly RegistrationPart[] | null } | null = null;

  async function partsOf({ id }: RecordedRegistration) {
    return last?.id === id ? last.parts : readParts(reader, id);
  }

  return async (before: RecordedRegistration, after: RecordedRegistration): Promise<Compared> => {
    const now = await partsOf(after);
    const old = await partsOf(before);
    last = { id: before.id, parts: old };
    const [then, since] = [before.details, after.details];
    const areKnown = old !== null && now !== null;
    const members = ["robot_type_id", "region", ...ROBOT_TEXT_NAMES] as const;
    // The digest says no more than the parts.
    const compared = areKnown ? members : (["configuration_digest", ...members] as const);
    const values = compared.flatMap((name) =>
      then[name] === since[name] ? [] : [ofValue("member", name, then[name], since[name])],
    );
    await yieldEventLoop();
    return {
      parts: areKnown ? "compared" : "not_known",
      differences: [
        ...(areKnown ? diffParts(old, now) : []),
        ...(await compareContracts(reader, organizationId, then.contract_sha256, since.contract_sha256)),
        ...values,
        ...compareLabels(then, since),
      ],
    };
  };
}

type Details = RecordedRegistration["details"];

function compareLabels(before: Details, after: Details): readonly Difference[] {
  if (before.labels_sha256 === after.labels_sha256) return [];
  // Entries of an earlier release have the hash alone.
  if (before.labels === null || after.labels === null)
    return [{ ...ofValue("member", "labels", "", ""), before: null, after: null }];
  return diffLabels(JSON.parse(before.labels), JSON.parse(after.labels));
}

/** @param before hash of the contract in base64url; null without one. */
async function compareContracts(
  reader: Reader,
  organizationId: string,
  before: string | null,
  after: string | null,
): Promise<readonly Difference[]> {
  if (before === after) return [];
  if (before === null) return [ofContract("the contract", "added", [], null)];
  if (after === null) return [ofContract("the contract", "removed", [], null)];
  const [old, now] = [
    await readContract(reader, organizationId, before),
    await readContract(reader, organizationId, after),
  ];
  if (old === null || now === null) return [ofContract("the contract", "changed", [], "not_kept")];
  const changes = diffContracts(old, now);
  await yieldEventLoop();
  const byPlace = Map.groupBy(changes.slice(0, CONTRACT_DETAILS), ({ where }) => where);
  return [...byPlace].map(([where, found]): Difference => {
    const change = CHANGES.get(found[0]?.kind ?? "") ?? "changed";
    return ofContract(
      where,
      change,
      found.map(({ what }) => what),
      "compared",
    );
  });
}

function ofContract(
  subject: string,
  change: Difference["change"],
  details: readonly string[],
  content: Difference["content"],
): Difference {
  return {
    group: "contract",
    subject,
    change,
    part_kind: null,
    before: null,
    after: null,
    details,
    omitted: 0,
    content,
  };
}

const CHANGES: ReadonlyMap<string, Difference["change"]> = new Map([
  ["added", "added"],
  ["removed", "removed"],
  ["order", "moved"],
]);

async function readContract(reader: Reader, organizationId: string, sha256: string) {
  const text = await readContent(reader, organizationId, contentHashOf(sha256));
  const contract: unknown = text === null ? null : JSON.parse(text);
  return typeof contract === "object" && contract !== null && isContract(contract) ? contract : null;
}

/** The same with what is in files that are shared, one at a time: each may hold up the loop for some ten milliseconds. */
async function withFiles(
  reader: Reader,
  organizationId: string,
  differences: readonly Difference[],
): Promise<readonly Difference[]> {
  const filled: Difference[] = [];
  let count = 0;
  for (const difference of differences) {
    const { content, before, after } = difference;
    const isShared = content === "not_kept" && before !== null && after !== null;
    if (isShared && count >= CONTENTS_COMPARED) {
      filled.push({ ...difference, content: null });
      continue;
    }
    const old = isShared ? await readContent(reader, organizationId, before) : null;
    const now = isShared ? await readContent(reader, organizationId, after) : null;
    if (old === null || now === null) filled.push(difference);
    else {
      count += 1;
      filled.push(withContents(difference, old, now));
      await yieldEventLoop();
    }
  }
  return filled;
}
