import { DELIVERY_STATUSES } from "../api/webhooks.ts";
import { EVENT_TYPES } from "../api/wire/event-types.ts";
import type { FlagRow } from "./command-table.ts";
import { DRY_RUN_FLAG, LIST_FLAGS, type OperatorRow, TIMEOUT_FLAG, YES_FLAG } from "./operator-flags.ts";

const EVENT_FLAG: FlagRow = {
  flag: "--event <type>",
  summary: `type of events to send, repeatable: ${EVENT_TYPES.join(", ")} (default: all, also types added later)`,
  repeats: true,
  suggestions: EVENT_TYPES,
};

const ANSWER_FLAGS: readonly FlagRow[] = [
  { flag: "--wait", summary: "wait for the first answer: exit 0, or 6 if the receiver fails, 1 after --timeout" },
  TIMEOUT_FLAG,
];

/** Where the service sends events, and what became of them. */
export const webhookRows: readonly OperatorRow[] = [
  {
    name: "webhooks list",
    aliases: ["ls"],
    summary: "list the webhooks, whether they work, and how many events they missed",
    flags: LIST_FLAGS,
    examples: ["robot-policy webhooks list"],
    load: async () => (await import("../operator/webhooks/webhooks.ts")).webhooksList,
  },
  {
    name: "webhooks show",
    summary: "show a webhook, by its id, URL or host",
    argument: "WEBHOOK",
    examples: ["robot-policy webhooks show hooks.example.com"],
    load: async () => (await import("../operator/webhooks/webhooks.ts")).webhooksShow,
  },
  {
    name: "webhooks create",
    summary: "create a webhook; prints the secret that verifies its signatures, once",
    argument: "URL",
    flags: [EVENT_FLAG, DRY_RUN_FLAG],
    examples: [
      "robot-policy webhooks create https://hooks.example.com/robots",
      "robot-policy webhooks create https://hooks.example.com/robots --event robot.frozen --event robot.offline > secret",
    ],
    load: async () => (await import("../operator/webhooks/change.ts")).webhooksCreate,
  },
  {
    name: "webhooks update",
    summary: "change the URL or the events of a webhook, disable it, or enable it again",
    argument: "WEBHOOK",
    flags: [
      { flag: "--receiver <url>", summary: "URL to send to; the secret stays" },
      EVENT_FLAG,
      { flag: "--all-events", summary: "send all events, also of types added later", excludes: ["--event"] },
      { flag: "--disable", summary: "send nothing, and drop the events that wait", excludes: ["--enable"] },
      { flag: "--enable", summary: "send events again, from now on" },
      YES_FLAG,
      DRY_RUN_FLAG,
    ],
    examples: [
      "robot-policy webhooks update hooks.example.com --receiver https://new.example.com/robots",
      "robot-policy webhooks update hooks.example.com --disable",
    ],
    load: async () => (await import("../operator/webhooks/change.ts")).webhooksUpdate,
  },
  {
    name: "webhooks remove",
    aliases: ["rm"],
    summary: "delete a webhook, and the events that wait for it",
    argument: "WEBHOOK",
    flags: [YES_FLAG, DRY_RUN_FLAG],
    examples: ["robot-policy webhooks remove hooks.example.com"],
    load: async () => (await import("../operator/webhooks/change.ts")).webhooksRemove,
  },
  {
    name: "webhooks test",
    summary: "send a test event to a webhook",
    argument: "WEBHOOK",
    flags: [...ANSWER_FLAGS, DRY_RUN_FLAG],
    examples: ["robot-policy webhooks test hooks.example.com --wait"],
    load: async () => (await import("../operator/webhooks/deliveries.ts")).webhooksTest,
  },
  {
    name: "webhooks deliveries",
    summary: "list what a webhook was sent, newest first",
    argument: "WEBHOOK",
    flags: [
      { flag: "--status <status>", summary: "only deliveries with this status", choices: DELIVERY_STATUSES },
      { flag: "--all", summary: "all of the last 30 days (default: the newest 100)" },
      ...LIST_FLAGS,
    ],
    examples: ["robot-policy webhooks deliveries hooks.example.com --status failed"],
    load: async () => (await import("../operator/webhooks/deliveries.ts")).webhooksDeliveries,
  },
  {
    name: "webhooks resend",
    summary: "send an event again, under the same id",
    argument: "WEBHOOK DELIVERY",
    flags: [...ANSWER_FLAGS, DRY_RUN_FLAG],
    examples: ["robot-policy webhooks resend hooks.example.com whd_01jz0000000000000000000000"],
    load: async () => (await import("../operator/webhooks/deliveries.ts")).webhooksResend,
  },
];
