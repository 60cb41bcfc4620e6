import type { EnrolmentStart } from "../../api/enrolments.ts";
import { givenTexts } from "../../api/robot-texts.ts";
import type { Machine } from "../../platform/machine.ts";
import type { Collector } from "../collector.ts";
import { robotName } from "../robot-setup.ts";

/** What a robot says of itself when it enrolls; the key is added to it. */
export type EnrolmentRequest = Omit<EnrolmentStart, "public_key">;

/** The digest of no files, for a robot whose files were not read yet. */
const NO_FILES = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/** With the configured name. The operator may choose another name and region at the approval. */
export async function enrolmentRequest(
  { configuration, manifest, snapshot }: Pick<Collector, "configuration" | "manifest" | "snapshot">,
  { identity }: Pick<Machine, "identity">,
): Promise<EnrolmentRequest> {
  const { region, labels } = configuration.robot;
  const { organization_id: organizationId } = configuration.service;
  const parts = { hostname: identity.hostname(), machine: await identity.machine() };
  const { site } = givenTexts((text) => configuration.robot[text]);
  return {
    requested_name: robotName(configuration, parts),
    configuration_digest: snapshot?.digest ?? NO_FILES,
    region,
    ...(site === undefined ? {} : { site }),
    labels: { ...labels },
    ...(organizationId === null ? {} : { organization_id: organizationId }),
    ...(manifest === null ? {} : { robot_type_id: manifest.robot_type_id }),
  };
}
