/** What a robot asks to be approved as, and what an approval gives it: pure functions, without the wire. */
import type { EnrolmentStart } from "../../api/enrolments.ts";
import { givenTexts } from "../../api/robot-texts.ts";
import type { RobotSetup } from "../../api/robots.ts";
import type { AgentConfiguration } from "../configuration/configuration.ts";
import { type NameParts, robotName } from "../robot-setup.ts";
import type { ApprovedRobot, RobotBefore } from "./identity-files.ts";

/** What a robot says of itself when it enrolls; the key is added to it. */
export type EnrolmentRequest = Omit<EnrolmentStart, "public_key">;

/** The digest of no files, for a robot whose files were not read yet. */
const NO_FILES = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/** With the configured name. The operator may choose another name and region at the approval. */
export function enrolmentRequest(
  configuration: AgentConfiguration,
  robotTypeId: string | null,
  digest: string | null,
  parts: NameParts,
): EnrolmentRequest {
  const { region, labels } = configuration.robot;
  const { organization_id: organizationId } = configuration.service;
  const { site } = givenTexts((text) => configuration.robot[text]);
  return {
    requested_name: robotName(configuration, parts),
    configuration_digest: digest ?? NO_FILES,
    region,
    ...(site === undefined ? {} : { site }),
    labels: { ...labels },
    ...(organizationId === null ? {} : { organization_id: organizationId }),
    ...(robotTypeId === null ? {} : { robot_type_id: robotTypeId }),
  };
}

/** What an approver decides on, as a text to compare. */
export function approvableText({ requested_name: name, region, site, labels }: EnrolmentRequest): string {
  const sorted = Object.entries(labels ?? {}).sort(([left], [right]) => (left < right ? -1 : 1));
  return JSON.stringify([name, region ?? null, site ?? null, sorted]);
}

/** The name for a computer without a credential: that of the robot it was, unless the configuration names another one since. */
export function nameWithoutCredential(before: RobotBefore | null, configured: string): string {
  return before !== null && (before.configured_name ?? configured) === configured ? before.robot_name : configured;
}

/** What an approval gave beside what the computer said of itself. */
export function givenByApproval(
  robot: Pick<ApprovedRobot, "site" | "labels"> & { readonly region?: string | null | undefined },
  said: EnrolmentRequest,
): Pick<ApprovedRobot, "corrected_region" | "site" | "labels"> {
  const { region: to, site = null, labels } = robot;
  const { region: from, labels: own } = said;
  const given = Object.entries(labels ?? {}).filter(([label, value]) => own?.[label] !== value);
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
