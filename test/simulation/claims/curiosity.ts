import type { HttpAnswer } from "../../../src/client/transport/transport.ts";
import type { SentRequest } from "../machine/network.ts";
import type { Process } from "../scheduler.ts";
import { simulatedMinutes } from "../units.ts";
import type { Incarnation, Witness, World } from "../world.ts";

/** The questions that a process may send. */
interface Account {
  notBeforeMs: number;
  allowed: number;
  /** The service refused the last question: the next registration repeats one, and is not asked about soon. */
  isRefused: boolean;
}

export interface Curiosity extends Witness {
  /** A person requests a confirmation, which allows one more question. */
  allowOne(process: Process): void;
}

const DAY_MS = simulatedMinutes(24 * 60);
/** A minimum delay after a start that follows a power cut. */
const FIRST_MS = 1000;
const AFTER_REGISTRATION_MS = simulatedMinutes(9);
const SHORTEST_DAY_MS = 0.9 * DAY_MS;
const FIRST_RETRY_FLOOR_MS = 30_000;

/** The agent asks the service for its registration no more often than necessary. */
export function curiosity(world: World): Curiosity {
  const accounts = new Map<Process, Account>();

  function accountOf(process: Process): Account {
    const account = accounts.get(process) ?? {
      notBeforeMs: process.startedMs + FIRST_MS,
      allowed: 0,
      isRefused: false,
    };
    accounts.set(process, account);
    return account;
  }

  function wait(process: Process, durationMs: number): void {
    accountOf(process).notBeforeMs = world.scheduler.nowMs + durationMs;
  }

  return {
    allowOne(process) {
      accountOf(process).allowed += 1;
    },
    onQuestion({ process }: Incarnation, { sentMs }: SentRequest) {
      const account = accountOf(process);
      if (sentMs >= account.notBeforeMs - 1) return;
      if (account.allowed === 0)
        world.fail(`#${process.id} allowed ${((account.notBeforeMs - sentMs) / 1000).toFixed(3)} s too early`);
      else account.allowed -= 1;
    },
    onAnswer({ process }, _sent, answer) {
      const account = accountOf(process);
      if (answer.kind !== "answer" || answer.answer.status !== 200) return;
      if (!account.isRefused)
        account.notBeforeMs = Math.min(account.notBeforeMs, world.scheduler.nowMs + AFTER_REGISTRATION_MS);
      account.isRefused = false;
    },
    onQuestionAnswered({ process }, _sent, answer) {
      accountOf(process).isRefused = answer.kind === "answer" && isMeant(answer.answer) && answer.answer.status !== 200;
      wait(process, answer.kind === "answer" && isMeant(answer.answer) ? SHORTEST_DAY_MS : FIRST_RETRY_FLOOR_MS);
    },
    onIdentityAnswered({ process }, { request }, answer) {
      // With a new credential the robot may be another one to the service.
      if (answer.kind === "answer" && isApproval(request.url, answer.answer)) wait(process, 0);
    },
  };
}

function isApproval(url: string, { status, body }: HttpAnswer): boolean {
  return url.endsWith("/enrollment/poll") && status === 200 && new TextDecoder().decode(body).includes("approved");
}

/** Whether the service itself answered, be it yes or no. */
function isMeant({ status, body }: HttpAnswer): boolean {
  if (status === 200) return new TextDecoder().decode(body).includes("robot_id");
  return status >= 400 && status < 500 && ![408, 425, 429].includes(status);
}
