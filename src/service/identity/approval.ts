/** What people do with the enrolments that wait: see, approve and deny them. */
import type { EnrolmentApproval, EnrolmentDenial } from "../../api/enrolments.ts";
import { isoNow, isoTime } from "../../platform/clock.ts";
import { keyFingerprint } from "../../platform/ed25519.ts";
import { isRobotOnline, type Presence, presenceAt } from "./presence.ts";
import type { Principal } from "../kernel/auth/authenticate.ts";
import { type Answer, answerValue, isAnswer, refuse, refuseInvalid } from "../kernel/http/answers.ts";
import { printJson } from "../kernel/json/json.ts";
import { authorship, type Handler } from "../kernel/operation.ts";
import { audit } from "../kernel/store/audit.ts";
import type { Transaction } from "../kernel/store/store.ts";
import { ruleBroken } from "../kernel/validation/finding.ts";
import { isOnlyOrganization } from "../organizations/index.ts";
import {
  findIdentifiedRobots,
  findRobotNamed,
  GENERIC_ROBOT_TYPE_ID,
  identifiedRobotView,
  type IdentifiedRow,
  readLabels,
  ROBOT_NAME_RULE,
  robotNameOf,
  type RobotQuota,
} from "../robots/index.ts";
import {
  type EnrolmentRow,
  type EnrolmentsContext,
  entryOf,
  findByCode,
  isFoundBy,
  listWaiting,
  lockEnrolment,
  shownOf,
  stateAt,
  updateEnrolment,
} from "./enrolments.ts";
import type { Random } from "../../platform/random.ts";
import { createFairQueue } from "../kernel/traffic/fair-queue.ts";
import { TokenBuckets } from "../kernel/traffic/token-buckets.ts";

/** `GET /v1/robot-enrollments`: newest first. */
export function listEnrolments(context: EnrolmentsContext): Handler<null> {
  const { machine } = context;
  const { reader } = context.store;
  return async ({ principal: { organizationId } }) => {
    const nowMs = machine.clock.wallMs();
    const isOnly = await isOnlyOrganization(reader);
    const rows = await listWaiting(reader, organizationId, isOnly, isoTime(nowMs));
    const names = rows.flatMap(({ requested_name: requestedName }) => robotNameOf(requestedName) ?? []);
    const robots = await findIdentifiedRobots(reader, organizationId, names);
    const presence = presenceAt(nowMs, context);
    return answerValue({ items: rows.map((row) => enrolmentView(row, robots, presence)) });
  };
}

/** `GET /v1/robot-enrollments/{user_code}`: what an approval by this code would approve. A wrong code counts towards the limit of wrong codes, as at an approval. */
export function getEnrolment(context: EnrolmentsContext, lookUp: LookUpCode): Handler<null> {
  const { store, machine } = context;
  return async ({ principal, path }) => {
    const row = await lookUp(principal, path["user_code"] ?? "");
    if (isAnswer(row)) return row;
    if (row.status !== "pending") return UNKNOWN_CODE;
    const name = robotNameOf(row.requested_name);
    const robots = await findIdentifiedRobots(store.reader, principal.organizationId, name === null ? [] : [name]);
    return answerValue(enrolmentView(row, robots, presenceAt(machine.clock.wallMs(), context)));
  };
}

function enrolmentView(row: EnrolmentRow, robots: ReadonlyMap<string, IdentifiedRow>, presence: Presence) {
  const robot = robots.get(robotNameOf(row.requested_name) ?? "");
  const labels: unknown = JSON.parse(row.labels);
  return {
    approval_id: row.id,
    user_code: showUserCode(row.user_code),
    requested_name: row.requested_name,
    region: row.region,
    site: row.site,
    labels,
    robot_type_id: row.robot_type_id,
    configuration_digest: row.configuration_digest,
    address: row.client_address,
    key_fingerprint: keyFingerprint(row.public_key),
    created_at: row.created_at,
    expires_at: row.expires_at,
    robot: robot === undefined ? null : identifiedRobotView(robot, presence),
  };
}

interface Approved {
  readonly robotTypeId: string;
  readonly isRepeated: boolean;
}

/** `POST /v1/robots/approve`: the enrolment belongs to the organization from then on, and its computer gets a credential when it polls. */
export function approveEnrolment(
  context: EnrolmentsContext,
  quota: RobotQuota,
  lookUp: LookUpCode,
): Handler<EnrolmentApproval> {
  const { newId, machine } = context;
  return async (call) => {
    const { principal, body } = call;
    const found = await lookUp(principal, body.user_code);
    if (isAnswer(found)) return found;
    const decision = decide(found, body, "approver");
    if (isAnswer(decision)) return decision;
    const { name, region } = decision;
    const site = (body.site ?? "") === "" ? found.site : (body.site ?? null);
    const labels = overlaid(found.labels, body.labels ?? {});
    const full = await quota.refusal(principal);
    const now = isoNow(machine.clock);
    const author = authorship(call, newId, now);
    const confirmed = body.confirm_replace === true;
    const approved = await call.write(async (transaction): Promise<Approved | Answer> => {
      const row = await lockFound(transaction, found.id, principal, now);
      if (row === undefined) return UNKNOWN_CODE;
      const robot = await findRobotNamed(transaction, principal.organizationId, name);
      const robotTypeId = robot?.robot_type_id ?? row.robot_type_id ?? GENERIC_ROBOT_TYPE_ID;
      if (row.status === "approved") {
        const isSame = row.decided_name === name && row.decided_region === region;
        if (!isSame || row.site !== site || row.labels !== labels) return refuseOtherValues(row);
        if (confirmed) await updateEnrolment(transaction, row.id, { confirm_replace: 1 });
        return { robotTypeId, isRepeated: true };
      }
      if (robot === undefined) {
        if (full !== null) return refuse("Conflict", full);
      } else if (!confirmed) {
        const presence = presenceAt(Date.parse(now), context);
        if (await isRobotOnline(transaction, robot, presence)) return refuseOnline(name);
      }
      const said = { site, labels };
      const columns = { ...approvalColumns(principal, now, decision), ...said, confirm_replace: confirmed ? 1 : 0 };
      await updateEnrolment(transaction, row.id, columns);
      const decided = { name, region, ...said, confirm_replace: confirmed };
      await audit(transaction, author, entryOf("enrolment.approve", row, decided));
      return { robotTypeId, isRepeated: false };
    });
    if (isAnswer(approved)) return approved;
    if (!approved.isRepeated) {
      const fields = { request_id: call.requestId, credential_id: principal.credentialId, ...shownOf(found) };
      machine.log.info("enrolment_approved", { ...fields, name, region, confirm_replace: confirmed });
    }
    return answerValue({
      approval_id: found.id,
      user_code: showUserCode(found.user_code),
      status: "approved",
      requested_name: name,
      region,
      robot_type_id: approved.robotTypeId,
      // Clients of the wire, which give neither, get the answer that it describes.
      ...((body.site ?? body.labels ?? null) === null ? {} : { site, labels: Object.fromEntries(readLabels(labels)) }),
    });
  };
}

/** `POST /v1/robots/deny`: also an approval that the computer has not polled for yet. */
export function denyEnrolment(context: EnrolmentsContext, lookUp: LookUpCode): Handler<EnrolmentDenial> {
  const { newId, machine } = context;
  return async (call) => {
    const { principal, body } = call;
    const found = await lookUp(principal, body.user_code);
    if (isAnswer(found)) return found;
    const now = isoNow(machine.clock);
    const author = authorship(call, newId, now);
    const isDenied = await call.write(async (transaction) => {
      const row = await lockFound(transaction, found.id, principal, now);
      if (row === undefined || row.installation_id !== null) return false;
      const { organizationId, credentialId } = principal;
      await updateEnrolment(transaction, row.id, {
        status: "denied",
        organization_id: organizationId,
        decided_by: credentialId,
        decided_at: now,
      });
      await audit(transaction, author, entryOf("enrolment.deny", row));
      return true;
    });
    if (!isDenied) return UNKNOWN_CODE;
    const fields = { request_id: call.requestId, credential_id: principal.credentialId };
    machine.log.info("enrolment_denied", { ...fields, ...shownOf(found) });
    return answerValue({
      approval_id: found.id,
      user_code: showUserCode(found.user_code),
      status: "denied",
      requested_name: found.requested_name,
    });
  };
}

/** The enrolment again, locked, unless it has ended or is of another organization now. */
async function lockFound(
  transaction: Transaction,
  id: string,
  { organizationId }: Principal,
  now: string,
): Promise<EnrolmentRow | undefined> {
  const row = await lockEnrolment(transaction, id);
  if (row === undefined || !isFoundBy(row, organizationId)) return undefined;
  const state = stateAt(row, now);
  return state === "pending" || state === "approved" || state === "installed" ? row : undefined;
}

function refuseOnline(name: string): Answer {
  const detail = `The robot ${name} is online on another computer; to replace that, approve the code again with confirm_replace`;
  return refuse("Conflict", detail, {}, "robot_online");
}

function refuseOtherValues({ decided_name: name, decided_region: region }: EnrolmentRow): Answer {
  const detail = `The code was approved already, as ${name} in ${region}; deny it to have the computer enroll again`;
  return refuse("Conflict", detail, {}, "already_approved");
}

/** Name and region that an approval gives the robot. */
interface Decision {
  readonly name: string;
  readonly region: string;
}

/** @param by who can send another name or region. @returns a refusal of one that is missing or wrong. */
export function decide(
  { requested_name: requestedName, region: knownRegion }: Pick<EnrolmentRow, "requested_name" | "region">,
  wish: Pick<EnrolmentApproval, "name" | "region">,
  by: "approver" | "computer",
): Decision | Answer {
  const isApprover = by === "approver";
  const wanted = wish.name ?? requestedName;
  const name = robotNameOf(wanted);
  if (name === null) {
    const fault = ruleBroken(`${ROBOT_NAME_RULE}${isApprover ? "; choose another one as name" : ""}`);
    return refuseInvalid([{ ...fault, loc: ["body", isApprover ? "name" : "requested_name"], input: wanted }]);
  }
  const region = regionOf(wish.region) ?? knownRegion;
  if (region === null) {
    const remedy = isApprover ? "name one as region" : "send one, or use a key that has one";
    const fault = ruleBroken(`the computer did not say its region; ${remedy}`);
    return refuseInvalid([{ ...fault, loc: ["body", "region"], input: wish.region ?? null }]);
  }
  return { name, region };
}

/** What an approval at `at` (ISO 8601) writes. */
export function approvalColumns(
  { organizationId, credentialId, keyId }: Pick<Principal, "organizationId" | "credentialId" | "keyId">,
  at: string,
  { name, region }: Decision,
) {
  return {
    status: "approved",
    organization_id: organizationId,
    decided_by: credentialId,
    made_by: keyId,
    decided_at: at,
    decided_name: name,
    decided_region: region,
  } as const satisfies Partial<EnrolmentRow>;
}

/** A region as it is stored; null for an empty one. */
export function regionOf(region: string | null | undefined): string | null {
  const cleaned = (region ?? "").trim().toLowerCase();
  return cleaned === "" ? null : cleaned;
}

/** Labels as the store has them, with others laid over. */
export function overlaid(labels: string, over: Readonly<Record<string, string>>): string {
  return printJson(new Map([...readLabels(labels), ...Object.entries(over)]));
}

/** Capital letters and digits without those that look alike. */
const ALPHABET = "ABCDEFGHJKMNPQRSTUVWXYZ23456789";
const LENGTH = 8;
/** Bytes above the largest multiple of the alphabet would make some letters more likely. */
const BYTES_USED = 256 - (256 % ALPHABET.length);

/** A code for a person to type, as the store has it: 31⁸ are possible, and only a few thousand wait at a time. */
export function createUserCode(random: Random): string {
  let code = "";
  while (code.length < LENGTH) {
    for (const byte of random.bytes(LENGTH)) {
      if (byte < BYTES_USED && code.length < LENGTH) code += ALPHABET.charAt(byte % ALPHABET.length);
    }
  }
  return code;
}

/** `XXXX-XXXX` */
export function showUserCode(code: string): string {
  return `${code.slice(0, LENGTH / 2)}-${code.slice(LENGTH / 2)}`;
}

/** A code as a person typed it: without spaces and hyphens of any kind, in upper case. */
export function readUserCode(typed: string): string {
  return typed.replaceAll(/[\s\p{Dash}]/gu, "").toUpperCase();
}

/** Wrong codes a minute. */
export const GUESSES_PER_MINUTE = { credential: 10, organization: 100 } as const;

/** Credentials and organizations that are counted; one that is dropped starts anew. */
const BUCKETS_MAXIMUM = 10_000;
const MINUTE_S = 60;
/** Lookups of one credential run one after the other, so that many at once are no more guesses than many in a row. */
const LOOK_UPS = { own: 100, all: 1000, allAtOnce: 8 } as const;

/** Unknown, ended and another organization's are not told apart. */
const UNKNOWN_CODE = refuse(
  "NotFound",
  "No enrolment waits with this code; check it on the robot, or start the enrolment there again",
);

/** The enrolment of a code, if people of the principal's organization may find it; else a refusal. */
type LookUpCode = (principal: Principal, typedCode: string) => Promise<EnrolmentRow | Answer>;

/**
 * Looks codes up, and keeps credentials from guessing them: wrong ones count, by each replica for itself.
 */
export function createCodeLookUp({ store, machine: { clock }, limitMet }: EnrolmentsContext): LookUpCode {
  const bucketsOf = (perMinute: number) =>
    new TokenBuckets({ burst: perMinute, per_second: perMinute / MINUTE_S }, BUCKETS_MAXIMUM);
  const credentials = bucketsOf(GUESSES_PER_MINUTE.credential);
  const organizations = bucketsOf(GUESSES_PER_MINUTE.organization);
  const turns = createFairQueue(LOOK_UPS);

  async function lookUpNow({ credentialId, organizationId }: Principal, code: string): Promise<EnrolmentRow | Answer> {
    const nowMs = clock.monotonicMs();
    const left = [credentials.look(credentialId, nowMs), organizations.look(organizationId, nowMs)];
    const waitMs = Math.max(...left.filter(({ isAllowed }) => !isAllowed).map((taken) => taken.waitMs));
    if (waitMs > 0) {
      limitMet("enrolments.wrong_codes");
      return tooManyGuesses(waitMs);
    }
    const found = await findByCode(store.lookup, code, isoNow(clock));
    if (found !== undefined && isFoundBy(found, organizationId)) return found;
    credentials.take(credentialId, clock.monotonicMs());
    organizations.take(organizationId, clock.monotonicMs());
    return UNKNOWN_CODE;
  }

  return async (principal, typedCode) => {
    const code = readUserCode(typedCode);
    return (await turns.run(principal.credentialId, () => lookUpNow(principal, code))) ?? tooManyGuesses(0);
  };
}

function tooManyGuesses(waitMs: number): Answer {
  const retryAfterS = String(Math.max(1, Math.ceil(waitMs / 1000)));
  const detail = `Too many wrong codes; check the code on the robot, and try again in ${retryAfterS} s`;
  return refuse("RateLimited", detail, { "retry-after": retryAfterS });
}
