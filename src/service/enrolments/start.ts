import type { EnrolmentStart } from "../../api/enrolments.ts";
import { isoTime } from "../../platform/clock.ts";
import { findLiveByKey, type PresenceContext } from "../installations/index.ts";
import { createToken, hashSecret } from "../kernel/auth/token.ts";
import { type Answer, answerValue, isAnswer } from "../kernel/http/answers.ts";
import { authorship, type OpenCall, type OpenHandler, type OperationContext } from "../kernel/operation.ts";
import { audit } from "../kernel/store/audit.ts";
import type { Transaction } from "../kernel/store/store.ts";
import { StoreUnavailableError } from "../kernel/store/unavailable.ts";
import { readClientAddress } from "../kernel/traffic/client-address.ts";
import { TokenBuckets } from "../kernel/traffic/token-buckets.ts";
import type { RobotQuota } from "../robots/index.ts";
import { approveByKey, prepareBulk } from "./bulk.ts";
import { createUserCode, showUserCode } from "./codes.ts";
import { areTooManyWaiting, endOneOfLargest, expireWaitingOf, insertEnrolment } from "./queries.ts";
import { KEY_IN_USE, refuseStarts, TOO_MANY_WAITING, USES_SPENT } from "./refusals.ts";
import { type EnrolmentRow, POLL_INTERVAL_S, shownOf, UNDECIDED } from "./rules.ts";
import { readStart } from "./start-body.ts";

/** Starts a minute of one client address. */
export const STARTS_PER_MINUTE = 120;
/** Addresses that are counted. */
const BUCKETS_MAXIMUM = 20_000;
const MINUTE_S = 60;
/** A second code is needed once in many millions of starts. */
const CODES_TRIED = 5;
const POLL_TOKEN_PREFIX = "rps_poll_";

export type EnrolmentsContext = OperationContext & PresenceContext;

/** `POST /v1/robot-agent/enrollment`: a computer asks for a credential. Only this answer contains the poll token. */
export function startEnrolment(context: EnrolmentsContext, quota: RobotQuota): OpenHandler<EnrolmentStart> {
  const { newId, machine, identity, limitMet } = context;
  const limit = { burst: STARTS_PER_MINUTE, per_second: STARTS_PER_MINUTE / MINUTE_S };
  const starts = new TokenBuckets(limit, BUCKETS_MAXIMUM);
  return async (call) => {
    const said = readStart(call.body);
    if (isAnswer(said)) return said;
    const { network, site } = readClientAddress(call.address);
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
      client_address: call.address,
      client_site: site,
      created_at: isoTime(nowMs),
      expires_at: isoTime(nowMs + identity.codeTtlMs),
    };
    const started = await (call.actor === null
      ? start(context, row)
      : startWithKey(context, quota, row, call, call.actor));
    if (isAnswer(started)) return started;
    machine.log.info("enrolment_started", { request_id: call.requestId, ...shownOf(started) });
    return answerValue({
      approval_id: row.id,
      user_code: showUserCode(started.user_code),
      poll_token: pollToken,
      expires_at: row.expires_at,
      interval_s: POLL_INTERVAL_S,
      approval_required: started.status !== "approved",
      // A key for enrolments approves all names but those of robots that exist.
      ...(call.actor !== null && started.status !== "approved" ? { reason: "name_exists" } : {}),
    });
  };
}

function start({ store, machine, limitMet }: EnrolmentsContext, row: EnrolmentRow): Promise<EnrolmentRow | Answer> {
  const codes = newCodes(machine);
  return store.write(async (transaction) => {
    if (await areTooManyWaiting(transaction, row.created_at)) {
      const ended = await endOneOfLargest(transaction, row.client_site, row.created_at);
      limitMet("enrolments.waiting");
      if (ended === null) return TOO_MANY_WAITING;
    }
    return insert(transaction, row.public_key, codes, async () => row);
  });
}

async function startWithKey(
  context: EnrolmentsContext,
  quota: RobotQuota,
  row: EnrolmentRow,
  call: OpenCall<EnrolmentStart>,
  { principal, write }: NonNullable<OpenCall<EnrolmentStart>["actor"]>,
): Promise<EnrolmentRow | Answer> {
  const { store, newId, machine } = context;
  const prepared = await prepareBulk(store.lookup, quota, row, principal);
  if (isAnswer(prepared)) return prepared;
  const codes = newCodes(machine);
  const author = authorship({ principal, requestId: call.requestId }, newId, row.created_at);
  return write(async (transaction) => {
    const inserted = await insert(transaction, row.public_key, codes, () =>
      approveByKey(transaction, prepared, principal),
    );
    if (!isAnswer(inserted)) {
      const { approval_id: subjectId, ...details } = shownOf(inserted);
      await audit(transaction, author, { action: "enrolment.start", subjectId, details });
    }
    return inserted;
  });
}

/**
 * Adds the enrolment that `decide` makes, and ends those that wait with its key. Of concurrent starts with one key, the last one waits.
 *
 * @param decide resolves with null if the key for enrolments has no uses left.
 */
async function insert(
  transaction: Transaction,
  publicKey: string,
  codes: readonly string[],
  decide: () => Promise<EnrolmentRow | null>,
): Promise<EnrolmentRow | Answer> {
  await expireWaitingOf(transaction, publicKey);
  // After the rows that wait were locked: the first poll for one of them may have made an installation just before.
  if ((await findLiveByKey(transaction, publicKey)) !== undefined) return KEY_IN_USE;
  const row = await decide();
  if (row === null) return USES_SPENT;
  for (const code of codes) {
    const coded = { ...row, user_code: code };
    if (await insertEnrolment(transaction, coded)) return coded;
    // The code is taken, or another replica has just started an enrolment with this key.
    await expireWaitingOf(transaction, publicKey);
  }
  throw new StoreUnavailableError("Found no code for an enrolment");
}

function newCodes({ random }: EnrolmentsContext["machine"]): readonly string[] {
  return Array.from({ length: CODES_TRIED }, () => createUserCode(random));
}
