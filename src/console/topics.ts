/** The resources whose changes the server reports and the page fetches again. */
export const TOPICS = ["robots", "enrolments", "fleets", "deployments", "models", "keys", "webhooks", "usage"] as const;

export type Topic = (typeof TOPICS)[number];
