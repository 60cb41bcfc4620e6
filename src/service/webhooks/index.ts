/**
 * Webhooks: organizations are told of events by requests that are signed as the Standard Webhooks specification says. Other resources
 * announce events in the transactions that they tell of; tasks deliver them (deliver.ts), at least once.
 */
export { announce } from "./announce.ts";
export { forgetReport, forgetReports, listListening, report } from "./announce.ts";
export type { Listening } from "./announce.ts";
export { WEBHOOK_SETTINGS } from "./deliver.ts";
export type { WebhookSettings } from "./deliver.ts";
