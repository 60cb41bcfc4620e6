import type { Reader } from "../store/store.ts";

/**
 * What people call these actors of an organization, by their ids: the label of a key, also of one that approved a session, and the name of
 * the robot for a robot's own computer. An actor without a name is left out.
 */
export async function nameActors(
  reader: Reader,
  organizationId: string,
  actors: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const ids = [...new Set(actors)];
  // PostgreSQL takes no empty list.
  if (ids.length === 0) return new Map();
  const keys = await reader
    .selectFrom("api_keys")
    .select(["id", "label as name"])
    .where("organization_id", "=", organizationId)
    .where("id", "in", ids)
    .execute();
  const sessions = await reader
    .selectFrom("sessions")
    .innerJoin("api_keys", "api_keys.id", "sessions.created_by")
    .select(["sessions.id", "api_keys.label as name"])
    .where("sessions.organization_id", "=", organizationId)
    .where("sessions.id", "in", ids)
    .execute();
  const computers = await reader
    .selectFrom("installations")
    .innerJoin("robots", "robots.id", "installations.robot_id")
    .select(["installations.id", "robots.name"])
    .where("installations.organization_id", "=", organizationId)
    .where("installations.id", "in", ids)
    .execute();
  return new Map([...keys, ...sessions, ...computers].map(({ id, name }) => [id, name]));
}
