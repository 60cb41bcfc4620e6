/** Longest wait for a state that must come. Generous, because a wait ends as soon as the state is there. */
export const PATIENCE_MS = 60_000;
