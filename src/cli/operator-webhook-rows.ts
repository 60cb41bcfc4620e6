import { EVENT_TYPES } from "../api/wire/event-types.ts";
import { DRY_RUN_FLAG, LIST_FLAGS, type OperatorRow, YES_FLAG } from "./operator-flags.ts";

/** Where the service sends events. */
export const webhookRows: readonly OperatorRow[] = [
  {
    name: "webhooks list",
    aliases: ["ls"],
    summary: "list the webhooks, whether they work, and why not",
    flags: LIST_FLAGS,
    examples: ["robot-policy webhooks list"],
    load: async () => (await import("../operator/webhooks/webhooks.ts")).webhooksList,
  },
  {
    name: "webhooks create",
    summary: "create a webhook; prints the secret that verifies its signatures, once",
    argument: "URL",
    flags: [
      {
        flag: "--event <type>",
        summary: `type of events to send, repeatable: ${EVENT_TYPES.join(", ")} (default: all, also types added later)`,
        repeats: true,
        suggestions: EVENT_TYPES,
      },
      DRY_RUN_FLAG,
    ],
    examples: [
      "robot-policy webhooks create https://hooks.example.com/robots",
      "robot-policy webhooks create https://hooks.example.com/robots --event robot.frozen --event robot.offline > secret",
    ],
    load: async () => (await import("../operator/webhooks/webhooks.ts")).webhooksCreate,
  },
  {
    name: "webhooks test",
    summary: "send a test event to a webhook, named by its id, URL or host; exit 6 if the receiver fails",
    argument: "WEBHOOK",
    flags: [DRY_RUN_FLAG],
    examples: ["robot-policy webhooks test hooks.example.com"],
    load: async () => (await import("../operator/webhooks/webhooks.ts")).webhooksTest,
  },
  {
    name: "webhooks rotate",
    summary: "give a webhook a new secret; the former one signs, too, for a day",
    argument: "WEBHOOK",
    flags: [DRY_RUN_FLAG],
    examples: ["robot-policy webhooks rotate hooks.example.com > secret"],
    load: async () => (await import("../operator/webhooks/webhooks.ts")).webhooksRotate,
  },
  {
    name: "webhooks remove",
    aliases: ["rm"],
    summary: "delete a webhook, and the events that wait for it",
    argument: "WEBHOOK",
    flags: [YES_FLAG, DRY_RUN_FLAG],
    examples: ["robot-policy webhooks remove hooks.example.com"],
    load: async () => (await import("../operator/webhooks/webhooks.ts")).webhooksRemove,
  },
];
