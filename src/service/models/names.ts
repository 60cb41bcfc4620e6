/** What a checkpoint's id begins with, and no slug. */
const CHECKPOINT_ID = /^ckpt_[a-z0-9](?:[a-z0-9._-]{0,57}[a-z0-9])?$/;
const SLUG = /^(?!ckpt_)[a-z0-9](?:[a-z0-9._-]{0,62}[a-z0-9])?$/;

/** What a model is called: one segment of a path, at most 64 characters. */
export function isSlug(text: string): boolean {
  return SLUG.test(text);
}

/** What its operator calls a checkpoint; at most 64 characters, and never a slug. */
export function isCheckpointId(text: string): boolean {
  return CHECKPOINT_ID.test(text);
}
