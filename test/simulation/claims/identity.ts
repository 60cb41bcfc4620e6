import * as z from "zod";

import { isObject } from "../../../src/platform/is-object.ts";
import { parseJson } from "../../../src/platform/text/parse-json.ts";
import type { Answer, SentRequest } from "../machine/network.ts";
import { PLACES } from "../machine/robot-files.ts";
import type { Process } from "../scheduler.ts";
import { simulatedMinutes } from "../units.ts";
import type { Incarnation, Witness, World } from "../world.ts";

/** Request budget of a process: a burst, and one more request after each period. */
const BURST = 12;
const REFILL_MS = 3000;
/** How long a failing disk may delay saving a credential before the agent uses it from memory. */
const UNSAVED_MS = simulatedMinutes(6);
const SECRETS = ["poll_token", "installation_token"] as const;

const credentialFile = z.object({ content: z.object({ installation_token: z.string() }) });

/** Null without a credential file. */
export function credentialOnDisk({ disk }: World): string | null {
  if (!disk.exists(PLACES.credential)) return null;
  const file = credentialFile.safeParse(parseJson(new TextDecoder().decode(disk.read(PLACES.credential))));
  return file.success ? file.data.content.installation_token : null;
}

/** A robot with its own credential limits its requests, saves a credential before using it, and leaks no secret. */
export function identityClaims(world: World): Witness {
  const budgets = new Map<Process, { left: number; countedMs: number }>();
  const secrets = new Set<string>();
  /** Credentials that survive a power cut. */
  const durable = new Set<string>();
  let troubleMs = Number.NEGATIVE_INFINITY;

  function keepDurable(): void {
    const credential = credentialOnDisk(world);
    if (credential !== null) durable.add(credential);
  }

  function noteTrouble(): void {
    const { state, ioErrorRate, lies } = world.disk_trouble;
    if (state !== "none" || ioErrorRate > 0 || lies) troubleMs = world.scheduler.nowMs;
  }

  function checkCredential({ process }: Incarnation, { request, sentMs }: SentRequest): void {
    noteTrouble();
    const credential = request.headers["authorization"]?.replace("Bearer ", "") ?? "";
    if (credential === "" || durable.has(credential) || sentMs - troubleMs < UNSAVED_MS) return;
    world.fail(`#${process.id} uses a credential that a power cut would take from it`);
  }

  function checkRate({ process }: Incarnation, { request, sentMs }: SentRequest): void {
    const budget = budgets.get(process) ?? { left: BURST, countedMs: sentMs };
    budget.left = Math.min(BURST, budget.left + (sentMs - budget.countedMs) / REFILL_MS) - 1;
    budget.countedMs = sentMs;
    budgets.set(process, budget);
    if (budget.left < 0) world.fail(`#${process.id} asks for its identity too often: ${request.method} ${request.url}`);
  }

  return {
    onStart: keepDurable,
    onDisk: noteTrouble,
    onTrouble() {
      troubleMs = world.scheduler.nowMs;
    },
    onWrite(_incarnation, operation, path) {
      noteTrouble();
      if (operation === "sync-directory" && path === PLACES.state_directory) keepDurable();
    },
    onRequest: checkCredential,
    onQuestion: checkCredential,
    onIdentity(incarnation, sent) {
      checkRate(incarnation, sent);
      checkCredential(incarnation, sent);
    },
    onIdentityAnswered(_incarnation, _sent, answer: Answer) {
      if (answer.kind === "none") return;
      const body = parseJson(new TextDecoder().decode(answer.answer.body));
      for (const name of SECRETS) {
        const secret = isObject(body) ? body[name] : undefined;
        if (typeof secret === "string") secrets.add(secret);
      }
    },
    onText(_incarnation, kind, text) {
      for (const secret of secrets)
        if (text.includes(secret)) world.fail(`a secret of the robot is in a ${kind}: ${text}`);
    },
  };
}
