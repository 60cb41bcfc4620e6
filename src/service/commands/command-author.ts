import type { Clock } from "../../platform/clock.ts";
import type { NewId } from "../kernel/ids.ts";
import type { Authorship } from "../kernel/store/audit.ts";

/** In the audit log, a change made on the service's own computer rather than by a request. */
export function commandAuthor(newId: NewId, clock: Clock): Omit<Authorship, "organizationId"> {
  return { audit_id: newId("aud"), at: new Date(clock.wallMs()).toISOString(), actor: "command", requestId: null };
}
