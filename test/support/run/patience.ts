/** The longest that anything in the tests waits for a state that must come: generous, since waiting costs only what is needed. */
export const PATIENCE_MS = 60_000;
