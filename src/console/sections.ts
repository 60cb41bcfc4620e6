/**
 * The sections of the console, most used first: `/robots`, and every path below it. The server answers them with the page, and the
 * navigation has an entry for each.
 */
export const SECTIONS = [
  "robots",
  "fleets",
  "deployments",
  "enrolments",
  "models",
  "keys",
  "webhooks",
  "usage",
  "audit",
] as const;

export type Section = (typeof SECTIONS)[number];
