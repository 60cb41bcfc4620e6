import { givenTexts } from "../../api/robot-texts.ts";
import { CONFIGURATION_DIGEST_PATTERN } from "../../api/robots.ts";
import type { Terminal } from "../../platform/terminal.ts";
import { defined } from "../defined.ts";
import type { OperatorFlags } from "../flags.ts";
import { readLabels } from "../fleets/selection-flags.ts";
import { refuseFlags } from "../refuse.ts";
import type { WrittenRegistration } from "./registration-file.ts";
import { clearedTexts, TEXT_FLAGS } from "./text-flags.ts";

/** @returns null after reporting what is wrong with the flags. */
export function readRegistrationFlags(flags: OperatorFlags, terminal: Terminal): WrittenRegistration | null {
  const { name, type, region, label, file, configurationDigest: digest } = flags;
  const labels = label === undefined ? undefined : readLabels(label, terminal);
  if (labels === null) return null;
  const mistake = mistakeIn(flags);
  if (mistake !== null) return refuseFlags(...mistake, terminal);
  return {
    ...givenTexts((text) => flags[TEXT_FLAGS[text].given]),
    ...defined({ name, robot_type_id: type, region, labels, configuration_digest: digest, configurationFiles: file }),
  };
}

type Mistake = readonly [what: string, fix: string];

function mistakeIn(flags: OperatorFlags): Mistake | null {
  const { label, clearLabels, file, configurationDigest: digest } = flags;
  if (digest !== undefined && !CONFIGURATION_DIGEST_PATTERN.test(digest)) {
    const fix = "it is sha256: and 64 digits from 0 to f, as the agent's digest prints it";
    return [`--configuration-digest '${digest}' is not a digest`, fix];
  }
  if (digest !== undefined && file !== undefined) {
    return ["--file and --configuration-digest were both given", "give the files, or their digest"];
  }
  const both = clearedTexts(flags).find((text) => flags[TEXT_FLAGS[text].given] !== undefined);
  if (both !== undefined) {
    const { flag, clearFlag } = TEXT_FLAGS[both];
    return [`${flag} and ${clearFlag} were both given`, "give one of them"];
  }
  if (label !== undefined && clearLabels === true) {
    return ["--label and --clear-labels were both given", "--label alone replaces all labels that were there"];
  }
  return null;
}
