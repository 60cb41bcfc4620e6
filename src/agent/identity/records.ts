/** What the files of the identity hold. Each names the key that it belongs to, so that files of different enrolments are never mixed. */
import type { EnrolmentStart } from "../../api/enrolments.ts";
import { givenTexts } from "../../api/robot-texts.ts";
import type { RobotSetup } from "../../api/robots.ts";
import { type Guard, isMap, isMissingOr, isNullOr, isShape, isText } from "../registration/record.ts";

/** The key pair that this computer made, and where it may be used. */
export interface KeyRecord {
  readonly service_url: string;
  /** The machine that made it; null where it has no id. */
  readonly machine: string | null;
  readonly public_key: string;
  /** The private key (RFC 8032), 32 bytes in base64url. */
  readonly seed: string;
  readonly made_at: string;
  /** The robot that this computer was at this service with an earlier key; absent or null for none. */
  readonly before?: RobotBefore | null | undefined;
}

/** An enrolment that waits for an operator. */
export interface EnrolmentRecord {
  readonly public_key: string;
  readonly approval_id: string;
  readonly poll_token: string;
  readonly user_code: string;
  readonly expires_at: string;
  readonly interval_s: number;
  /** What the computer said of its robot; absent or null in a file of an earlier agent. */
  readonly said?: string | null | undefined;
  /** Why a person has to decide although the computer has a key for enrolments; absent or null for no such reason. */
  readonly waits_because?: string | null | undefined;
}

/** What the service issued. Its times are the service's; `issued_at` is this machine's, which may be wrong. */
export interface CredentialRecord {
  readonly public_key: string;
  readonly robot_id: string;
  /** As the operator approved it; registrations use this name. */
  readonly robot_name: string;
  /** The operator's region, in place of the one that this computer said; absent or null where they are the same. */
  readonly corrected_region?: { readonly from: string; readonly to: string } | null | undefined;
  /** What the approval gave beside what this computer said; for a configuration that has none. Absent or null for nothing. */
  readonly site?: string | null | undefined;
  readonly labels?: Readonly<Record<string, string>> | null | undefined;
  /** The name in the configuration at the approval. */
  readonly configured_name?: string | null | undefined;
  readonly installation_id: string;
  readonly installation_token: string;
  readonly credential_expires_at: string;
  readonly renew_after_s: number;
  readonly issued_at: string;
}

/** The robot as an operator approved it. */
export type ApprovedRobot = Pick<
  CredentialRecord,
  "robot_id" | "robot_name" | "corrected_region" | "site" | "labels" | "configured_name"
>;

/** What is kept of a robot whose credential ended, so that it enrolls under the name that it had at the service. */
export type RobotBefore = Pick<CredentialRecord, "robot_name" | "configured_name">;

const isName: Guard<string> = (value): value is string => isText(value) && value !== "";
const isSeed: Guard<string> = (value): value is string => isText(value) && /^[A-Za-z0-9_-]{43}$/.test(value);
const isAmount: Guard<number> = (value): value is number => typeof value === "number" && value >= 0;

export const isKeyRecord = isShape<KeyRecord>({
  service_url: isName,
  machine: isNullOr(isName),
  public_key: isName,
  seed: isSeed,
  made_at: isName,
  before: isMissingOr(isShape<RobotBefore>({ robot_name: isName, configured_name: isMissingOr(isName) })),
});

export const isEnrolmentRecord = isShape<EnrolmentRecord>({
  public_key: isName,
  approval_id: isName,
  poll_token: isName,
  user_code: isName,
  expires_at: isName,
  interval_s: isAmount,
  said: isMissingOr(isName),
  waits_because: isMissingOr(isName),
});

export const isCredentialRecord = isShape<CredentialRecord>({
  public_key: isName,
  robot_id: isName,
  robot_name: isName,
  corrected_region: isMissingOr(
    isShape<NonNullable<CredentialRecord["corrected_region"]>>({ from: isName, to: isName }),
  ),
  site: isMissingOr(isName),
  labels: isMissingOr(isMap(isText)),
  configured_name: isMissingOr(isName),
  installation_id: isName,
  installation_token: isName,
  credential_expires_at: isName,
  renew_after_s: isAmount,
  issued_at: isName,
});

/** The name for a computer without a credential: that of the robot it was, unless the configuration names another one since. */
export function nameWithoutCredential(before: RobotBefore | null, configured: string): string {
  return before !== null && (before.configured_name ?? configured) === configured ? before.robot_name : configured;
}

/** What an approval gave beside what the computer said of itself. */
export function givenByApproval(
  robot: Pick<ApprovedRobot, "site" | "labels"> & { readonly region?: string | null | undefined },
  said: Pick<EnrolmentStart, "region" | "site" | "labels">,
): Pick<ApprovedRobot, "corrected_region" | "site" | "labels"> {
  const { region: to, site = null, labels } = robot;
  const { region: from, labels: own } = said;
  const given = Object.entries(labels ?? {}).filter(([name, value]) => own?.[name] !== value);
  return {
    corrected_region: from && to && to !== from ? { from, to } : null,
    site: site === (said.site ?? null) ? null : site,
    labels: Object.fromEntries(given),
  };
}

/** What to register of an approved robot: its configuration, and what the approval gave where that has none. */
export function asApproved(
  body: RobotSetup,
  { corrected_region: corrected, site, labels }: Pick<ApprovedRobot, "corrected_region" | "site" | "labels">,
): RobotSetup {
  const all = { ...labels, ...body.labels };
  return {
    ...body,
    // A region that is edited on the robot after the approval counts.
    region: corrected?.from === body.region ? corrected.to : body.region,
    ...givenTexts((text) => body[text] ?? (text === "site" ? site : null)),
    ...(Object.keys(all).length === 0 ? {} : { labels: all }),
  };
}
