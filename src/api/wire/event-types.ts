/** What a webhook can be told of. */
export const EVENT_TYPES = [
  "robot.enrolled",
  "robot.registered",
  "robot.changed",
  "robot.renamed",
  "robot.removed",
  "robot.offline",
  "robot.online",
  "robot.frozen",
  "fleet.ready",
  "fleet.degraded",
  "fleet.blocked",
] as const;
export type EventType = (typeof EVENT_TYPES)[number];
