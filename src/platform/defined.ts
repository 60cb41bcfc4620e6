/** The members that are not undefined. `exactOptionalPropertyTypes` tells a missing member from an undefined one, and so does `Object.hasOwn`. */
export function defined<Members extends object>(
  members: Members,
): { [Name in keyof Members]?: Exclude<Members[Name], undefined> };
export function defined(members: object): object {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
}
