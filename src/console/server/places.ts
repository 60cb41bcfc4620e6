import type { Principal } from "../../service/console-door.ts";

/** Streams at one time: of a credential, of an organization, and all together. Each costs a connection. */
export interface PlaceLimits {
  readonly credential: number;
  readonly organization: number;
  readonly all: number;
}

/** Who has a place. */
export interface Placed {
  readonly principal: Pick<Principal, "organization_id" | "credential_id" | "key_id">;
}

/**
 * Who has to go so that one more may come: the oldest of whoever has the most, so that nobody shuts out others, nor themselves.
 *
 * @param placed from the oldest to the newest.
 * @returns null where there is room.
 */
export function whoMakesRoom<T extends Placed>(
  placed: readonly T[],
  { principal }: Placed,
  limits: PlaceLimits,
): T | null {
  const { organization_id: organizationId, credential_id: credentialId } = principal;
  const own = placed.filter((one) => one.principal.credential_id === credentialId);
  if (own.length >= limits.credential) return own[0] ?? null;
  const ofOrganization = placed.filter((one) => one.principal.organization_id === organizationId);
  if (ofOrganization.length >= limits.organization) return oldestOfMost(ofOrganization, keyOf);
  if (placed.length < limits.all) return null;
  return oldestOfMost(largest(placed, organizationOf), keyOf);
}

const keyOf = ({ principal }: Placed) => principal.key_id;
const organizationOf = ({ principal }: Placed) => principal.organization_id;

function oldestOfMost<T extends Placed>(placed: readonly T[], partyOf: (one: T) => string): T | null {
  return largest(placed, partyOf)[0] ?? null;
}

function largest<T>(placed: readonly T[], partyOf: (one: T) => string): readonly T[] {
  const groups = [...Map.groupBy(placed, partyOf).values()];
  return groups.reduce((most, group) => (group.length > most.length ? group : most), []);
}
