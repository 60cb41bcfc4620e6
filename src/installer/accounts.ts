export interface Account {
  readonly user_id: number;
  readonly group_id: number;
}

/** @param passwd the text of passwd(5). @returns null where it has no such user. */
export function findAccount(passwd: string, name: string): Account | null {
  const fields = passwd
    .split("\n")
    .map((line) => line.split(":"))
    .find(([first]) => first === name);
  const userId = parseId(fields?.[2]);
  const groupId = parseId(fields?.[3]);
  return userId === null || groupId === null ? null : { user_id: userId, group_id: groupId };
}

function parseId(field: string | undefined): number | null {
  return field !== undefined && /^\d{1,10}$/.test(field) ? Number(field) : null;
}
