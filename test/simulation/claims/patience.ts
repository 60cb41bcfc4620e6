import { isDeepStrictEqual } from "node:util";

import type { Answer, SentRequest } from "../machine/network.ts";
import { PLACES } from "../machine/robot-files.ts";
import type { Process } from "../scheduler.ts";
import type { Incarnation, Witness, World } from "../world.ts";

/** The last attempt of a process and its outcome. */
interface Attempt {
  readonly sent: SentRequest;
  outcome: Outcome | null;
}

interface Outcome {
  readonly atMs: number;
  readonly kind: "accepted" | "soon" | "person" | "refused";
  /** Earliest time of the next attempt, unless something else changes. */
  readonly notBeforeMs: number;
}

interface Account {
  last: Attempt | null;
  /** Changes of the files that may be sent without waiting: three, plus one every 20 s. */
  tokens: number;
  /** The digest of the last answered request. Sending it again after another correction is not a change of the files. */
  answeredDigest: string | null;
  countedMs: number;
  /** Consecutive failures with backoff, and the time of the first. */
  streak: number;
  streakMs: number;
  forced: number;
}

export interface Patience extends Witness {
  /** A person requests a registration, which allows one more request. */
  allowOne(process: Process): void;
}

const BURST = 3;
const REFILL_MS = 20_000;
const FIRST_RETRY_FLOOR_MS = 500;
const LONGEST_RETRY_AFTER_MS = 3_600_000;
const PERSON_MS = 5 * 60_000 * 0.9;
const REFUSED_MS = 60 * 60_000 * 0.9;
/** Full jitter up to 5 minutes averages 2.5 minutes. Four times as many attempts cannot be chance. */
const STREAK_FREE = 16;
const STREAK_MEAN_MS = 150_000;
const STREAK_FACTOR = 4;
const KEY_OPERATIONS = 20;

/** Requests come no faster than the error table of the design allows, computed independently of the agent's code. */
export function patience(world: World): Patience {
  const accounts = new Map<Process, Account>();

  function accountOf(process: Process): Account {
    const known = accounts.get(process);
    if (known !== undefined) return known;
    const account: Account = {
      last: null,
      tokens: BURST,
      answeredDigest: null,
      countedMs: 0,
      streak: 0,
      streakMs: 0,
      forced: 0,
    };
    accounts.set(process, account);
    return account;
  }

  /** Time of the last replacement of the key file, from its stat. */
  let seenVersion = "";
  let keyChangedMs = Number.NEGATIVE_INFINITY;

  function keyVersion(): string {
    try {
      const { number, mtimeNs, ctimeNs } = world.disk.look(PLACES.key);
      return `${number} ${mtimeNs} ${ctimeNs}`;
    } catch {
      return "";
    }
  }

  function hasToken(account: Account, { sentMs, request }: SentRequest): boolean {
    return digestIn(request) === account.answeredDigest || tokensAt(account, sentMs) >= 1 - 1e-6;
  }

  function tokensAt({ tokens, countedMs }: Account, nowMs: number): number {
    return Math.min(BURST, tokens + (nowMs - countedMs) / REFILL_MS);
  }

  /** Backoff applies to network trouble; other waits start only from an answer of the service. */
  function count(account: Account, { sentMs, request }: SentRequest): void {
    const digest = digestIn(request);
    if (digest === account.answeredDigest) return;
    account.answeredDigest = digest;
    account.tokens = tokensAt(account, sentMs) - 1;
    account.countedMs = sentMs;
  }

  /** null when the request may be sent now. */
  function complaintAbout(account: Account, sent: SentRequest): string | null {
    const nowMs = sent.sentMs;
    const { last } = account;
    if (last === null) return hasToken(account, sent) ? null : "the first request exceeded the rate cap";
    const { outcome } = last;
    if (outcome === null) return "a request was sent while another was under way";
    const waited = `${((nowMs - outcome.atMs) / 1000).toFixed(3)} s after the last (${outcome.kind})`;
    const isElsewhere = sent.request.url !== last.sent.request.url;
    // The key of the last request was read a few operations before the request was sent.
    const hasOtherKey =
      keyChangedMs >= last.sent.sentMs - KEY_OPERATIONS * world.disk_trouble.latencyMs ||
      sent.request.headers["authorization"] !== last.sent.request.headers["authorization"];
    const isDue = nowMs >= outcome.notBeforeMs - 1;
    switch (outcome.kind) {
      case "accepted":
        return hasToken(account, sent) ? null : `changes were sent faster than 3 and 1 every 20 s, ${waited}`;
      case "soon":
        if (!isDue && !isElsewhere) return `tried again ${waited}`;
        return isStreakTooLong(account, nowMs)
          ? `tried ${account.streak} times in ${(nowMs - account.streakMs) / 1000} s`
          : null;
      case "person":
        return isDue || isElsewhere || hasOtherKey ? null : `tried again ${waited}`;
      case "refused":
        if (isDue || isElsewhere || hasOtherKey) return null;
        if (isDeepStrictEqual(sent.request.body, last.sent.request.body)) return `sent the same again ${waited}`;
        return hasToken(account, sent) ? null : `refused changes were sent faster than 3 and 1 every 20 s, ${waited}`;
    }
  }

  function isStreakTooLong({ streak, streakMs }: Account, nowMs: number): boolean {
    return streak > STREAK_FREE + (STREAK_FACTOR * (nowMs - streakMs)) / STREAK_MEAN_MS;
  }

  return {
    onDisk() {
      const version = keyVersion();
      if (version === seenVersion) return;
      seenVersion = version;
      keyChangedMs = world.scheduler.nowMs;
    },
    onTrouble() {
      // After a failed stat the key file counts as another one.
      keyChangedMs = world.scheduler.nowMs;
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
      const outcome = judge(answer, sent, world.scheduler.nowMs, world.wall.trueMs());
      if (account.last?.sent === sent) account.last.outcome = outcome;
      if (outcome.kind !== "soon") count(account, sent);
      if (outcome.kind !== "soon") account.streak = 0;
      else if (account.streak === 0) account.streakMs = outcome.atMs;
      if (outcome.kind === "soon") account.streak += 1;
    },
  };
}

function judge(answer: Answer, sent: SentRequest, atMs: number, trueMs: number): Outcome {
  const soon = (askedMs: number): Outcome => ({
    atMs,
    kind: "soon",
    notBeforeMs: atMs + Math.max(FIRST_RETRY_FLOOR_MS, Math.min(LONGEST_RETRY_AFTER_MS, askedMs)),
  });
  if (answer.kind === "none") return soon(0);
  const { status, headers, body } = answer.answer;
  if (status === 401 || status === 403 || status === 404 || status === 405)
    return { atMs, kind: "person", notBeforeMs: atMs + PERSON_MS };
  if (status === 409 || status === 422) return { atMs, kind: "refused", notBeforeMs: atMs + REFUSED_MS };
  if (status === 200 && isAbout(new TextDecoder().decode(body), sent))
    return { atMs, kind: "accepted", notBeforeMs: atMs };
  return soon(askedDelay(headers["retry-after"] ?? "", trueMs));
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

/** Accepts only valid forms of Retry-After; the agent ignores others. */
function askedDelay(text: string, trueMs: number): number {
  if (/^\d+$/.test(text)) return Number(text) * 1000;
  const dateMs = text.endsWith(" GMT") ? Date.parse(text) : Number.NaN;
  // Dates have a resolution of seconds, and the answer was in transit.
  return Number.isNaN(dateMs) ? 0 : Math.max(0, dateMs - trueMs - 1200);
}
