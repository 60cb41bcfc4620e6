const ROBOT_NAME = /^[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?$/;

/** The rule in words, for those who gave another name. */
export const ROBOT_NAME_RULE =
  "a robot has a name of 1 to 64 lower-case letters, digits and hyphens, with a letter or digit first and last";

/** The name of a robot as an operator gives it, at its enrolment or later; null if it can be none. */
export function robotNameOf(name: string): string | null {
  const cleaned = name.trim().toLowerCase();
  return ROBOT_NAME.test(cleaned) ? cleaned : null;
}
