import type { EnrolmentStart, SiteInference } from "../../api/enrolments.ts";
import { isoTime } from "../../platform/clock.ts";
import { readPublicKey } from "../../platform/ed25519.ts";
import { findLiveByKey } from "./installations.ts";
import type { Principal } from "../kernel/auth/authenticate.ts";
import { createToken, hashSecret } from "../kernel/auth/token.ts";
import { type Answer, answerValue, isAnswer, refuse, refuseInvalid } from "../kernel/http/answers.ts";
import { printJson } from "../kernel/json/json.ts";
import { holdKeyToAdd } from "../kernel/auth/key-queries.ts";
import { type Actor, authorship, type OpenHandler } from "../kernel/operation.ts";
import { audit } from "../kernel/store/audit.ts";
import type { Reader, Transaction } from "../kernel/store/store.ts";
import { StoreUnavailableError } from "../kernel/store/unavailable.ts";
import { readClientAddress } from "../kernel/traffic/client-address.ts";
import { TokenBuckets } from "../kernel/traffic/token-buckets.ts";
import { ruleBroken } from "../kernel/validation/finding.ts";
import { findRobotNamed, readLabels, type RobotQuota } from "../robots/index.ts";
import { approvalColumns, createUserCode, decide, overlaid, regionOf, showUserCode } from "./approval.ts";
import {
  areTooManyWaiting,
  endOneOfLargest,
  type EnrolmentRow,
  type EnrolmentsContext,
  entryOf,
  expireWaitingOf,
  insertEnrolment,
  type KeyEnrolment,
  readKeyEnrolment,
  shownOf,
  UNDECIDED,
} from "./enrolments.ts";

/** Starts a minute of one client address. */
export const STARTS_PER_MINUTE = 120;
/** Addresses that are counted. */
const BUCKETS_MAXIMUM = 20_000;
const MINUTE_S = 60;
/** How long a computer waits between polls. */
export const POLL_INTERVAL_S = 5;
/** A second code is needed once in many millions of starts. */
const CODES_TRIED = 5;
const POLL_TOKEN_PREFIX = "rps_poll_";

const KEY_IN_USE = refuse(
  "Conflict",
  "This key is that of a computer that is enrolled already; make a fresh key, and start again with it",
  {},
  "key_in_use",
);
const USES_SPENT = refuse(
  "Forbidden",
  "The key for enrolments is used up; ask for a new one, or start without a key and have the code approved",
  {},
  "uses_spent",
);
const NOT_FOR_ENROLMENTS = refuse("Forbidden", "The API key is not made for enrolments", {}, "scope");
const TOO_MANY_WAITING = refuse(
  "RateLimited",
  "Too many enrolments wait for their approval; start again in a few minutes",
  { "retry-after": "60" },
);

/** `POST /v1/robot-agent/enrollment`: a computer asks for a credential. Only this answer contains the poll token. */
export function startEnrolment(context: EnrolmentsContext, quota: RobotQuota): OpenHandler<EnrolmentStart> {
  const { newId, machine, identity, limitMet } = context;
  const limit = { burst: STARTS_PER_MINUTE, per_second: STARTS_PER_MINUTE / MINUTE_S };
  const starts = new TokenBuckets(limit, BUCKETS_MAXIMUM);
  return async ({ actor, body, address, requestId }) => {
    const said = readStart(body);
    if (isAnswer(said)) return said;
    const { network, site } = readClientAddress(address);
    const taken = starts.take(network, machine.clock.monotonicMs());
    if (!taken.isAllowed) {
      limitMet("enrolments.starts");
      return refuseStarts(taken.waitMs);
    }
    const nowMs = machine.clock.wallMs();
    const pollToken = createToken(POLL_TOKEN_PREFIX, machine.random);
    const row: EnrolmentRow = {
      ...said,
      ...UNDECIDED,
      id: newId("renr"),
      user_code: "",
      confirm_replace: 0,
      installation_id: null,
      poll_token_sha256: hashSecret(pollToken),
      client_address: address,
      client_site: site,
      created_at: isoTime(nowMs),
      expires_at: isoTime(nowMs + identity.codeTtlMs),
    };
    const codes = Array.from({ length: CODES_TRIED }, () => createUserCode(machine.random));
    const started = await (actor === null
      ? start(context, row, codes)
      : startWithKey(context, quota, row, codes, actor, requestId));
    if (isAnswer(started)) return started;
    machine.log.info("enrolment_started", { request_id: requestId, ...shownOf(started) });
    return answerValue({
      approval_id: row.id,
      user_code: showUserCode(started.user_code),
      poll_token: pollToken,
      expires_at: row.expires_at,
      interval_s: POLL_INTERVAL_S,
      approval_required: started.status !== "approved",
      // A key for enrolments approves all names but those of robots that exist.
      ...(actor !== null && started.status !== "approved" ? { reason: "name_exists" } : {}),
    });
  };
}

/** What a computer says of itself and its robot, as it is stored; name and region are judged when the enrolment is approved. */
function readStart(body: EnrolmentStart) {
  const publicKey = readPublicKey(body.public_key);
  if (publicKey === null) {
    const fault = ruleBroken("not an Ed25519 public key: 32 raw bytes in base64url, 43 characters");
    return refuseInvalid([{ ...fault, loc: ["body", "public_key"], input: null }]);
  }
  const { site_inference: inference = null, robot_type_id: robotTypeId = null, contract = null } = body;
  return {
    public_key: publicKey,
    requested_name: body.requested_name,
    region: regionOf(body.region) ?? regionOf(inference?.site.aws_region),
    site_inference: inference === null ? null : printJson(withoutAddress(inference)),
    site: body.site === undefined || body.site === "" ? null : body.site,
    labels: printJson(body.labels ?? {}),
    configuration_digest: body.configuration_digest,
    robot_type_id: robotTypeId,
    // A contract describes a type, so that without one it says nothing.
    contract: contract === null || robotTypeId === null ? null : printJson(contract),
    wanted_organization_id: body.organization_id ?? null,
  };
}

/** The inference as it was sent, but for the address that it was made from, which is nobody's business but the computer's. */
function withoutAddress(inference: SiteInference): unknown {
  const { geolocation } = inference;
  if (typeof geolocation !== "object" || geolocation === null || Array.isArray(geolocation)) return inference;
  const shown = Object.entries(geolocation).filter(([name]) => name !== "ip");
  return { ...inference, geolocation: new Map(shown) };
}

function refuseStarts(waitMs: number): Answer {
  const retryAfterS = String(Math.max(1, Math.ceil(waitMs / 1000)));
  const detail = `Too many enrolments start from this address; start again in ${retryAfterS} s`;
  return refuse("RateLimited", detail, { "retry-after": retryAfterS });
}

/** Without a key, a person decides. */
function start(
  { store, limitMet }: EnrolmentsContext,
  row: EnrolmentRow,
  codes: readonly string[],
): Promise<EnrolmentRow | Answer> {
  return store.write(async (transaction) => {
    if (await areTooManyWaiting(transaction, row.created_at)) {
      const ended = await endOneOfLargest(transaction, row.client_site, row.created_at);
      limitMet("enrolments.waiting");
      if (ended === null) return TOO_MANY_WAITING;
    }
    if (!(await releaseKey(transaction, row.public_key))) return KEY_IN_USE;
    return insertWithCode(transaction, row, codes);
  });
}

/**
 * A key for enrolments approves at once, and takes one use. If there is a robot of that name, the enrolment waits for a person
 * instead: such a key never takes over a robot.
 */
async function startWithKey(
  { store, newId }: EnrolmentsContext,
  quota: RobotQuota,
  sent: EnrolmentRow,
  codes: readonly string[],
  { principal, write }: Actor,
  requestId: string,
): Promise<EnrolmentRow | Answer> {
  const { organizationId, keyId } = principal;
  const terms = await findTerms(store.lookup, principal);
  if (terms === null) return NOT_FOR_ENROLMENTS;
  const row = underTerms(sent, organizationId, terms);
  if (isAnswer(row)) return row;
  const decision = decide(row, {}, "computer");
  if (isAnswer(decision)) return decision;
  const full = await quota.organizationRefusal(principal);
  if (full !== null) return refuse("Conflict", full);
  const approved = { ...row, ...approvalColumns(principal, row.created_at, decision), key_id: keyId };
  const author = authorship({ principal, requestId }, newId, row.created_at);
  return write(async (transaction) => {
    if (!(await releaseKey(transaction, row.public_key))) return KEY_IN_USE;
    const isNew = (await findRobotNamed(transaction, organizationId, decision.name)) === undefined;
    // Of concurrent starts with the last use, one gets it. An enrolment that ends without an installation takes none.
    const key = isNew ? await holdKeyToAdd(transaction, organizationId, keyId) : undefined;
    if (key !== undefined && key.uses >= terms.uses) return USES_SPENT;
    const inserted = await insertWithCode(transaction, isNew ? approved : row, codes);
    await audit(transaction, author, entryOf("enrolment.start", inserted));
    return inserted;
  });
}

async function findTerms(reader: Reader, { keyId }: Principal): Promise<KeyEnrolment | null> {
  const key = await reader.selectFrom("api_keys").select("enrolment").where("id", "=", keyId).executeTakeFirst();
  return readKeyEnrolment(key?.enrolment ?? null);
}

/** The enrolment for the organization of the key, with the key's site, region and labels laid over what the computer said. */
function underTerms(
  row: EnrolmentRow,
  organizationId: string,
  { site, region, labels }: KeyEnrolment,
): EnrolmentRow | Answer {
  if (row.wanted_organization_id !== null && row.wanted_organization_id !== organizationId) {
    const fault = ruleBroken("the key for enrolments belongs to another organization");
    return refuseInvalid([{ ...fault, loc: ["body", "organization_id"], input: row.wanted_organization_id }]);
  }
  return {
    ...row,
    site: site ?? row.site,
    region: region ?? row.region,
    labels: overlaid(row.labels, Object.fromEntries(readLabels(labels))),
    wanted_organization_id: organizationId,
  };
}

/** Ends the enrolments that wait with this public key; of concurrent starts, the last one waits. False if a live installation has the key. */
async function releaseKey(transaction: Transaction, publicKey: string): Promise<boolean> {
  await expireWaitingOf(transaction, publicKey);
  // After the rows that wait were locked: the first poll for one of them may have made an installation just before.
  return (await findLiveByKey(transaction, publicKey)) === undefined;
}

/** Adds the enrolment with the first of these codes that is free. */
async function insertWithCode(
  transaction: Transaction,
  row: EnrolmentRow,
  codes: readonly string[],
): Promise<EnrolmentRow> {
  for (const code of codes) {
    const coded = { ...row, user_code: code };
    if (await insertEnrolment(transaction, coded)) return coded;
    // The code is taken, or another replica has just started an enrolment with this key.
    await expireWaitingOf(transaction, row.public_key);
  }
  throw new StoreUnavailableError("Found no code for an enrolment");
}
