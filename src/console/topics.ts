/** The resources whose changes the page notices and fetches again. */
export const TOPICS = ["robots", "enrolments", "fleets", "deployments", "models", "keys", "webhooks", "usage"] as const;

export type Topic = (typeof TOPICS)[number];

/** Answer of `GET /console/versions`: by topic, a text that differs once it has changed. */
export type Versions = Readonly<Partial<Record<Topic, string>>>;
