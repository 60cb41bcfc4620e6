/** What operators see of the audit log: a sentence for each change, and which changes are sign-ins. */
import type { AuditEntryView } from "../api/audit.ts";
import type { AuditAction } from "../api/wire/audit-actions.ts";
import { type Listing, past } from "./view.ts";

/** A change. */
export interface AuditItem {
  readonly id: string;
  readonly at: string;
  /** `RESOURCE.VERB`. */
  readonly action: string;
  /** What people call the actor. */
  readonly by: string;
  readonly actor_id: string;
  /** "" for what has no name. */
  readonly subject: string;
  readonly subject_id: string;
  readonly address: string;
  readonly details: string;
}

/** What is said of each action before its subject: `bootstrap created the key cell 4`. */
export const VERBS: Readonly<Record<AuditAction, string>> = {
  "api_key.create": "created the key",
  "api_key.revoke": "revoked the key",
  "api_key.rotate": "replaced the key",
  "deployment.create": "deployed",
  "deployment.retire": "retired",
  "enrolment.approve": "approved the enrolment of",
  "enrolment.deny": "denied the enrolment of",
  "enrolment.start": "started the enrolment of",
  "fleet.create": "created the fleet",
  "fleet.reconcile": "reconciled the fleet",
  "fleet.remove": "removed the fleet",
  "fleet.update_model": "changed the model of the fleet",
  "installation.freeze": "caused the computer to be frozen of",
  "installation.recover": "recovered the credential of",
  "installation.recovery_refused": "was refused the recovery of the credential of",
  "installation.renew_out_of_order": "renewed out of order the credential of",
  "installation.set_recoveries": "allowed recoveries of the credential of",
  "installation.thaw": "thawed the computer of",
  "login.approve": "approved a login",
  "login.deny": "denied a login",
  "models.apply": "changed the model catalog",
  "organization.create": "created the organization",
  "robot.enroll": "enrolled the robot",
  "robot.remove": "removed the robot",
  "robot.rename": "renamed the robot",
  "robot.replace_computer": "replaced the computer of",
  "robot.setup": "registered the robot",
  "session.create": "signed in",
  "session.end": "signed out",
  "webhook.create": "created the webhook to",
  "webhook.delete": "deleted the webhook to",
  "webhook.rotate_secret": "made a new secret for the webhook to",
};

/** `bootstrap created the key cell 4`. A newer service may have actions that are not known here. */
function sentenceOf({ by, action, subject }: AuditItem): string {
  const verb = new Map<string, string>(Object.entries(VERBS)).get(action) ?? action;
  return `${by} ${verb} ${subject}`.trimEnd();
}

const SIGN_INS: ReadonlySet<string> = new Set(["session.create", "session.end", "login.approve"]);

/** Sign-ins are most of the log, and change nothing: lists show them only where they are asked for. */
export function isSignIn({ action }: Pick<AuditEntryView, "action">): boolean {
  return SIGN_INS.has(action);
}

export function auditItem(entry: AuditEntryView): AuditItem {
  const { id, at, action, subject_id: subjectId, actor, details } = entry;
  return {
    id,
    at,
    action,
    by: nameOf(actor),
    actor_id: actor.id,
    subject: subjectOf(entry),
    subject_id: subjectId,
    address: typeof details["address"] === "string" ? details["address"] : "",
    details: detailsInWords(entry),
  };
}

function nameOf({ label, id }: AuditEntryView["actor"]): string {
  return label ?? (id === "command" ? "the service's computer" : id);
}

/** `line 4`, or for a deployment `pi0.5 on arm-3`; else the name or host in the details. */
function subjectOf({ subject_name: name, subject_model: model, details }: AuditEntryView): string {
  if (model !== null) return `${model} on ${name ?? "a robot"}`;
  const said = [name, details["name"], details["host"], details["requested_name"]];
  return said.find((each) => typeof each === "string") ?? "";
}

/** Details without ids, and without what the sentence says: `scopes=[robots:setup] expires_at=2030-01-31`. */
function detailsInWords(entry: AuditEntryView): string {
  const said = [subjectOf(entry), entry.subject_model, null];
  return Object.entries(entry.details)
    .filter(([name, value]) => !name.endsWith("_id") && name !== "address" && !said.some((each) => each === value))
    .map(([name, value]) => `${name}=${typeof value === "string" ? value : JSON.stringify(value).replaceAll('"', "")}`)
    .join(" ");
}

export const AUDIT: Listing<AuditItem> = {
  noun: "change",
  columns: [
    { name: "when", show: ({ at }) => past(at) },
    { name: "what", show: sentenceOf, weight: 4 },
    { name: "from", show: ({ address }) => address, from: "medium" },
    { name: "details", show: ({ details }) => details, from: "medium", weight: 3 },
    { name: "by", show: ({ by }) => by, from: "asked" },
    { name: "action", show: ({ action }) => action, from: "asked" },
    { name: "subject", show: ({ subject }) => subject, from: "asked" },
    { name: "id", show: (item) => item.subject_id, from: "asked" },
  ],
  filters: [
    { name: "action", valuesOf: ({ action }) => [action] },
    { name: "by", valuesOf: ({ by }) => [by] },
  ],
  empty: "Nothing was changed in this period",
};
