/** A user as the system knows it. */
export interface Account {
  readonly user_id: number;
  readonly group_id: number;
}

/** @returns null when the text of passwd(5) has no such user. */
export function findAccount(passwd: string, name: string): Account | null {
  const fields = passwd
    .split("\n")
    .map((line) => line.split(":"))
    .find(([first]) => first === name);
  const user_id = parseId(fields?.[2]);
  const group_id = parseId(fields?.[3]);
  return user_id === null || group_id === null ? null : { user_id, group_id };
}

function parseId(field: string | undefined): number | null {
  return field !== undefined && /^\d{1,10}$/.test(field) ? Number(field) : null;
}
