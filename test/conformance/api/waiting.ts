/** For `expect.poll`: what the service's tasks bring about comes soon, on a busy machine too. */
export const SOON = { timeout: 20_000, interval: 25 } as const;
