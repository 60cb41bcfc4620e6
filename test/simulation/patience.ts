import { isDeepStrictEqual } from "node:util";

import type { Answer, SentRequest } from "./network.ts";
import { PLACES } from "./robot-files.ts";
import type { Process } from "./scheduler.ts";
import type { Incarnation, Witness, World } from "./world.ts";

/** The last attempt of a process, and what came of it. */
interface Attempt {
  readonly sent: SentRequest;
  outcome: Outcome | null;
}

interface Outcome {
  readonly at_ms: number;
  readonly kind: "accepted" | "soon" | "person" | "refused";
  /** Not before this, unless something else changed. */
  readonly not_before_ms: number;
}

interface Account {
  last: Attempt | null;
  /** Changes of the files that may still be sent without waiting: three, and one more every 20 s. */
  tokens: number;
  /** The digest that the service answered to last: sent again with something else corrected, it is no change of the files. */
  answered_digest: string | null;
  counted_ms: number;
  /** Failures in a row that are tried again by backoff, and since when. */
  streak: number;
  streak_ms: number;
  forced: number;
}

export interface Patience extends Witness {
  /** A person asked the agent to register now: one request more. */
  allowOne(process: Process): void;
}

const BURST = 3;
const REFILL_MS = 20_000;
const FIRST_RETRY_FLOOR_MS = 500;
const LONGEST_RETRY_AFTER_MS = 3_600_000;
const PERSON_MS = 5 * 60_000 * 0.9;
const REFUSED_MS = 60 * 60_000 * 0.9;
/** Full jitter up to 5 minutes means 2.5 on average; four times as many attempts is no accident. */
const STREAK_FREE = 16;
const STREAK_MEAN_MS = 150_000;
const STREAK_FACTOR = 4;
const KEY_OPERATIONS = 20;

/** Whether requests come no faster than the error table of the design lets them. A count of its own, not the agent's. */
export function patience(world: World): Patience {
  const accounts = new Map<Process, Account>();

  function accountOf(process: Process): Account {
    const known = accounts.get(process);
    if (known !== undefined) return known;
    const account: Account = {
      last: null,
      tokens: BURST,
      answered_digest: null,
      counted_ms: 0,
      streak: 0,
      streak_ms: 0,
      forced: 0,
    };
    accounts.set(process, account);
    return account;
  }

  /** When the key file was last replaced; its stat tells. */
  let key_version = "";
  let key_changed_ms = Number.NEGATIVE_INFINITY;

  function keyVersion(): string {
    try {
      const { number, mtime_ns, ctime_ns } = world.disk.look(PLACES.key);
      return `${number} ${mtime_ns} ${ctime_ns}`;
    } catch {
      return "";
    }
  }

  function hasToken(account: Account, { sent_ms, request }: SentRequest): boolean {
    return digestIn(request) === account.answered_digest || tokensAt(account, sent_ms) >= 1 - 1e-6;
  }

  function tokensAt({ tokens, counted_ms }: Account, now_ms: number): number {
    return Math.min(BURST, tokens + (now_ms - counted_ms) / REFILL_MS);
  }

  /** Trouble on the way has its backoff; only what the service answers counts. */
  function count(account: Account, { sent_ms, request }: SentRequest): void {
    const digest = digestIn(request);
    if (digest === account.answered_digest) return;
    account.answered_digest = digest;
    account.tokens = tokensAt(account, sent_ms) - 1;
    account.counted_ms = sent_ms;
  }

  /** null when the request may be sent now. */
  function complaintAbout(account: Account, sent: SentRequest): string | null {
    const now_ms = sent.sent_ms;
    const { last } = account;
    if (last === null) return hasToken(account, sent) ? null : "the first request was one too many";
    const { outcome } = last;
    if (outcome === null) return "a request was sent while another was under way";
    const waited = `${((now_ms - outcome.at_ms) / 1000).toFixed(3)} s after the last (${outcome.kind})`;
    const is_elsewhere = sent.request.url !== last.sent.request.url;
    // The key of the last request was read a few operations before it was sent.
    const has_other_key = key_changed_ms >= last.sent.sent_ms - KEY_OPERATIONS * world.disk_trouble.latency_ms;
    const is_due = now_ms >= outcome.not_before_ms - 1;
    switch (outcome.kind) {
      case "accepted":
        return hasToken(account, sent) ? null : `changes were sent faster than 3 and 1 every 20 s, ${waited}`;
      case "soon":
        if (!is_due && !is_elsewhere) return `tried again ${waited}`;
        return isStreakTooLong(account, now_ms)
          ? `tried ${account.streak} times in ${(now_ms - account.streak_ms) / 1000} s`
          : null;
      case "person":
        return is_due || is_elsewhere || has_other_key ? null : `tried again ${waited}`;
      case "refused":
        if (is_due || is_elsewhere || has_other_key) return null;
        if (isDeepStrictEqual(sent.request.body, last.sent.request.body)) return `sent the same again ${waited}`;
        return hasToken(account, sent) ? null : `refused changes were sent faster than 3 and 1 every 20 s, ${waited}`;
    }
  }

  function isStreakTooLong({ streak, streak_ms }: Account, now_ms: number): boolean {
    return streak > STREAK_FREE + (STREAK_FACTOR * (now_ms - streak_ms)) / STREAK_MEAN_MS;
  }

  return {
    onDisk() {
      const version = keyVersion();
      if (version === key_version) return;
      key_version = version;
      key_changed_ms = world.scheduler.now_ms;
    },
    onTrouble() {
      // A key file that cannot be looked at may be another one the next time.
      key_changed_ms = world.scheduler.now_ms;
    },
    allowOne(process) {
      accountOf(process).forced += 1;
    },
    onRequest({ process }: Incarnation, sent) {
      const account = accountOf(process);
      const complaint = complaintAbout(account, sent);
      if (complaint !== null && account.forced > 0) account.forced -= 1;
      else if (complaint !== null) world.fail(`#${process.id} ${complaint}`);
      account.last = { sent, outcome: null };
    },
    onAnswer({ process }, sent, answer) {
      const account = accountOf(process);
      const outcome = judge(answer, sent, world.scheduler.now_ms, world.wall.true_ms());
      if (account.last?.sent === sent) account.last.outcome = outcome;
      if (outcome.kind !== "soon") count(account, sent);
      if (outcome.kind !== "soon") account.streak = 0;
      else if (account.streak === 0) account.streak_ms = outcome.at_ms;
      if (outcome.kind === "soon") account.streak += 1;
    },
  };
}

function judge(answer: Answer, sent: SentRequest, at_ms: number, true_ms: number): Outcome {
  const soon = (asked_ms: number): Outcome => ({
    at_ms,
    kind: "soon",
    not_before_ms: at_ms + Math.max(FIRST_RETRY_FLOOR_MS, Math.min(LONGEST_RETRY_AFTER_MS, asked_ms)),
  });
  if (answer.kind === "none") return soon(0);
  const { status, headers, body } = answer.answer;
  if (status === 401 || status === 403 || status === 404 || status === 405)
    return { at_ms, kind: "person", not_before_ms: at_ms + PERSON_MS };
  if (status === 409 || status === 422) return { at_ms, kind: "refused", not_before_ms: at_ms + REFUSED_MS };
  if (status === 200 && isAbout(new TextDecoder().decode(body), sent))
    return { at_ms, kind: "accepted", not_before_ms: at_ms };
  return soon(askedDelay(headers["retry-after"] ?? "", true_ms));
}

function digestIn({ body }: SentRequest["request"]): string {
  return String(JSON.parse(body ?? "").configuration_digest);
}

function isAbout(text: string, sent: SentRequest): boolean {
  try {
    const name: unknown = JSON.parse(sent.request.body ?? "").name;
    return JSON.parse(text).robot.name === name;
  } catch {
    return false;
  }
}

/** Only what a service writes on purpose counts; the rest is for the agent to make nothing of. */
function askedDelay(text: string, true_ms: number): number {
  if (/^\d+$/.test(text)) return Number(text) * 1000;
  const date_ms = text.endsWith(" GMT") ? Date.parse(text) : Number.NaN;
  // Dates are whole seconds, and the answer was under way for a moment.
  return Number.isNaN(date_ms) ? 0 : Math.max(0, date_ms - true_ms - 1200);
}
