import { CONFIGURATION_DIGEST_PATTERN } from "../../api/robots.ts";
import type { Terminal } from "../../platform/terminal.ts";
import type { OperatorFlags } from "../context.ts";
import { readLabels } from "../fleets/selection-flags.ts";
import type { WrittenRegistration } from "./registration-file.ts";

/** Flags that describe a robot without an agent. */
export interface RegistrationFlags extends OperatorFlags {
  readonly name?: string;
  readonly type?: string;
  readonly region?: string;
  readonly site?: string;
  readonly label?: readonly string[];
  /** Removes the site of a registered robot, which it would keep otherwise. */
  readonly clearSite?: boolean;
  readonly clearLabels?: boolean;
  readonly file?: readonly string[];
  readonly configurationDigest?: string;
}

/** @returns null after reporting what is wrong with the flags. */
export function readRegistrationFlags(flags: RegistrationFlags, terminal: Terminal): WrittenRegistration | null {
  const { name, type, region, site, label, file, configurationDigest: digest } = flags;
  const labels = label === undefined ? undefined : readLabels(label, terminal);
  if (labels === null) return null;
  const mistake = mistakeIn(flags);
  if (mistake !== null) {
    const [what, fix] = mistake;
    terminal.problem({ code: "usage", what, fix });
    return null;
  }
  return {
    ...(name === undefined ? {} : { name }),
    ...(type === undefined ? {} : { robot_type_id: type }),
    ...(region === undefined ? {} : { region }),
    ...(site === undefined ? {} : { site }),
    ...(labels === undefined ? {} : { labels }),
    ...(digest === undefined ? {} : { configuration_digest: digest }),
    ...(file === undefined ? {} : { configurationFiles: file }),
  };
}

type Mistake = readonly [what: string, fix: string];

function mistakeIn(flags: RegistrationFlags): Mistake | null {
  const { site, label, clearSite, clearLabels, file, configurationDigest: digest } = flags;
  if (digest !== undefined && !CONFIGURATION_DIGEST_PATTERN.test(digest)) {
    const fix = "it is sha256: and 64 digits from 0 to f, as the agent's digest prints it";
    return [`--configuration-digest '${digest}' is not a digest`, fix];
  }
  if (digest !== undefined && file !== undefined) {
    return ["--file and --configuration-digest were both given", "give the files, or their digest"];
  }
  if (site !== undefined && clearSite === true) return ["--site and --clear-site were both given", "give one of them"];
  if (label !== undefined && clearLabels === true) {
    return ["--label and --clear-labels were both given", "--label alone replaces all labels that were there"];
  }
  return null;
}
