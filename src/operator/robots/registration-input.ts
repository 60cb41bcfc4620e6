import { dirname, resolve } from "node:path";

import { givenTexts } from "../../api/robot-texts.ts";
import { CONFIGURATION_DIGEST_PATTERN } from "../../api/robots.ts";
import type { Reader } from "../../manifest/fields.ts";
import { fail, mapping } from "../../manifest/fields.ts";
import { string } from "../../manifest/readers.ts";
import { shown } from "../../manifest/shown.ts";
import type { Terminal } from "../../platform/terminal.ts";
import type { OperatorContext } from "../context.ts";
import { defined } from "../../platform/defined.ts";
import { readWritten } from "../files/written-file.ts";
import { labelMapping, listOf, words } from "../files/written-readers.ts";
import type { OperatorFlags } from "../flags.ts";
import { readLabels } from "../fleets/selection-flags.ts";
import { refuseFlags } from "../refuse.ts";
import type { RegistrationBody } from "./registration-change.ts";
import { clearedTexts, TEXT_FLAGS } from "./text-flags.ts";

/** Same limit as in the agent's manifest. */
const FILES_COUNT = { minimum: 0, maximum: 64 } as const;

/** A registration file for a robot without an agent. Flags may add what it leaves out. */
export interface WrittenRegistration extends Partial<Omit<RegistrationBody, "contract">> {
  /** Absolute, in digest order. */
  readonly configurationFiles?: readonly string[];
}

const HINTS: ReadonlyMap<string, string> = new Map([
  ["type", "did you mean robot_type_id?"],
  ["robot_type", "did you mean robot_type_id?"],
  ["digest", "did you mean configuration_digest?"],
  ["files", "did you mean configuration_files?"],
  ["contract", "name the robot manifest it is made of: --manifest FILE"],
]);

/** Reads the registration file at `path`. Reports all findings. */
export function readRegistrationFile(path: string, json: boolean, context: OperatorContext) {
  const rules = { subject: "registration", reader: writtenRegistration(path), hints: HINTS, json } as const;
  return readWritten(path, rules, context);
}

/** @param path of the file; paths in it are relative to its folder. */
function writtenRegistration(path: string): Reader<WrittenRegistration> {
  const folder = dirname(resolve(path));
  return mapping((fields, place) => {
    const files = fields.optional("configuration_files", listOf(words, "files", FILES_COUNT));
    const texts = givenTexts((text) => fields.optional(text, words));
    const members = defined({
      name: fields.optional("name", words),
      robot_type_id: fields.optional("robot_type_id", words),
      region: fields.optional("region", words),
      labels: fields.optional("labels", labelMapping),
      configuration_digest: fields.optional("configuration_digest", digest),
      configurationFiles: files?.map((file) => resolve(folder, file)),
    });
    if (members.configuration_digest !== undefined && files !== undefined) {
      fail(place, "conflict", "configuration_digest and configuration_files are both set; leave one of them out");
    }
    return { ...members, ...texts };
  });
}

const digest: Reader<string> = (place) => {
  const written = string(place);
  if (written === undefined || CONFIGURATION_DIGEST_PATTERN.test(written)) return written;
  return fail(place, "digest_format", `${shown(written)} is not a digest: expected sha256: and 64 hexadecimal digits`);
};

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
