/** Prefix of checkpoint ids; slugs must not have it. */
export const CHECKPOINT_ID = /^ckpt_[a-z0-9](?:[a-z0-9._-]{0,57}[a-z0-9])?$/;
export const SLUG = /^(?!ckpt_)[a-z0-9](?:[a-z0-9._-]{0,62}[a-z0-9])?$/;

/** Whether a text is a model's slug: one path segment, at most 64 characters. */
export function isSlug(text: string): boolean {
  return SLUG.test(text);
}

/** Whether a text is a checkpoint id, which the operator chooses: at most 64 characters, never a slug. */
export function isCheckpointId(text: string): boolean {
  return CHECKPOINT_ID.test(text);
}
