import type { EnrolmentEnd } from "../../api/enrolments.ts";
import { keyFingerprint } from "../../platform/ed25519.ts";
import type { Principal } from "../kernel/auth/authenticate.ts";
import type { Tables } from "../kernel/store/tables.ts";
import { printJson } from "../kernel/json/print-json.ts";
import { readLabels, robotNameOf } from "../robots/index.ts";

export type EnrolmentRow = Tables["enrolments"];

/** How long a computer waits between polls. */
export const POLL_INTERVAL_S = 5;

/** An enrolment that nobody has decided. */
export const UNDECIDED = {
  status: "pending",
  organization_id: null,
  decided_by: null,
  made_by: null,
  decided_at: null,
  decided_name: null,
  decided_region: null,
  key_id: null,
} as const satisfies Partial<EnrolmentRow>;

/** A region as it is stored; null for an empty one. */
export function regionOf(region: string | null | undefined): string | null {
  const cleaned = (region ?? "").trim().toLowerCase();
  return cleaned === "" ? null : cleaned;
}

/** States of an enrolment at a moment; an installed one is approved and has an installation. */
export type EnrolmentState = "pending" | "approved" | "installed" | EnrolmentEnd;

/** The state at `now` (ISO 8601), also where the task that expires enrolments has not come yet. */
export function stateAt(
  { status, installation_id: installationId, expires_at: expiresAt }: EnrolmentRow,
  now: string,
): EnrolmentState {
  const isOver = expiresAt <= now;
  switch (status) {
    case "pending":
      return isOver ? "expired" : "pending";
    case "approved":
      if (installationId === null) return isOver ? "expired" : "approved";
      return isOver ? "consumed" : "installed";
    case "denied":
    case "expired":
    case "consumed":
      return status;
  }
}

/** Whether people of the organization may find the enrolment by its code. */
export function isFoundBy(
  { organization_id: owner, wanted_organization_id: wanted }: EnrolmentRow,
  organizationId: string,
): boolean {
  return owner === null ? wanted === null || wanted === organizationId : owner === organizationId;
}

/** What an approval makes of an enrolment: name and region as decided, or the member that is missing or wrong. */
export type Decision =
  | { readonly state: "decided"; readonly name: string; readonly region: string }
  | { readonly state: "invalid"; readonly member: "name" | "region"; readonly input: string | null };

export function decide(
  enrolment: Pick<EnrolmentRow, "requested_name" | "region">,
  wish: { readonly name?: string | null | undefined; readonly region?: string | null | undefined },
): Decision {
  const wanted = wish.name ?? enrolment.requested_name;
  const name = robotNameOf(wanted);
  if (name === null) return { state: "invalid", member: "name", input: wanted };
  const region = regionOf(wish.region) ?? enrolment.region;
  if (region === null) return { state: "invalid", member: "region", input: wish.region ?? null };
  return { state: "decided", name, region };
}

/** Labels as the store has them, with others laid over. */
export function overlaid(labels: string, over: Readonly<Record<string, string>>): string {
  return printJson(new Map([...readLabels(labels), ...Object.entries(over)]));
}

/** What an approval at `at` (ISO 8601) writes. */
export function approvalOf(
  { organizationId, credentialId, keyId }: Pick<Principal, "organizationId" | "credentialId" | "keyId">,
  at: string,
  { name, region }: { readonly name: string; readonly region: string },
) {
  return {
    status: "approved",
    organization_id: organizationId,
    decided_by: credentialId,
    made_by: keyId,
    decided_at: at,
    decided_name: name,
    decided_region: region,
  } as const satisfies Partial<EnrolmentRow>;
}

/** What logs and audit entries say of an enrolment: enough to recognize it, and no secret. */
export function shownOf(row: EnrolmentRow) {
  return {
    approval_id: row.id,
    requested_name: row.requested_name,
    address: row.client_address,
    key_fingerprint: keyFingerprint(row.public_key),
    ...(row.key_id === null ? {} : { key_id: row.key_id }),
  };
}
