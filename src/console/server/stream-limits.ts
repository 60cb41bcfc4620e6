import type { Principal } from "../../service/console-door.ts";

/** Most event streams that are open at one time. Each costs a connection. */
export interface StreamLimits {
  readonly credential: number;
  readonly organization: number;
  readonly all: number;
}

export interface OpenStream {
  readonly principal: Pick<Principal, "organizationId" | "credentialId" | "keyId">;
}

/**
 * The stream to close before one more opens: the oldest stream of the largest user, so that no user can lock out another.
 *
 * @param open from the oldest to the newest.
 * @returns null if no limit is reached.
 */
export function streamToClose<T extends OpenStream>(
  open: readonly T[],
  { principal }: OpenStream,
  limits: StreamLimits,
): T | null {
  const { organizationId, credentialId } = principal;
  const ofCredential = open.filter((stream) => stream.principal.credentialId === credentialId);
  if (ofCredential.length >= limits.credential) return ofCredential[0] ?? null;
  const ofOrganization = open.filter((stream) => stream.principal.organizationId === organizationId);
  if (ofOrganization.length >= limits.organization) return largestGroup(ofOrganization, keyOf)[0] ?? null;
  if (open.length < limits.all) return null;
  return largestGroup(largestGroup(open, organizationOf), keyOf)[0] ?? null;
}

const keyOf = ({ principal }: OpenStream) => principal.keyId;
const organizationOf = ({ principal }: OpenStream) => principal.organizationId;

function largestGroup<T>(streams: readonly T[], groupOf: (stream: T) => string): readonly T[] {
  const groups = [...Map.groupBy(streams, groupOf).values()];
  return groups.reduce((largest, group) => (group.length > largest.length ? group : largest), []);
}
