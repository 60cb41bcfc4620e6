import type { JointUnit } from "../../manifest/catalog/hints.ts";
import type { Questions } from "../../platform/questions.ts";
import type { CommonOptions } from "../commands/context.ts";
import type { SetKeyContext } from "../commands/set-key.ts";
import { readConfiguration } from "../configuration/configuration.ts";
import { DEFAULTS } from "../configuration/keys.ts";
import { configurationText } from "./configuration-text.ts";
import type { Paths } from "./next-steps.ts";
import { absolute } from "./answer-problems.ts";
import type { Answers } from "./questions.ts";

export interface InitOptions extends CommonOptions {
  readonly type?: string;
  readonly url?: string;
  readonly caFile?: string;
  readonly allowInsecure?: boolean;
  readonly region?: string;
  readonly keyFile?: string;
  readonly name?: string;
  readonly site?: string;
  /** Each `name=value`. */
  readonly label?: readonly string[];
  readonly proxy?: string;
  /** File with a key for enrolment only. */
  readonly enrolmentKey?: string;
  /** What the joints of a LeRobot robot are in. */
  readonly unit?: JointUnit;
  /** Configuration files, in digest order. */
  readonly file?: readonly string[];
  /** The folder for both files. */
  readonly dir?: string;
  readonly force?: boolean;
  /** Write a manifest that extends the type. */
  readonly extend?: boolean;
  /** Enroll the robot as the last step. */
  readonly enroll?: boolean;
  /** False to skip the test of the service. */
  readonly test?: boolean;
}

export interface InitContext extends SetKeyContext {
  /** null when input is not a terminal. */
  openQuestions(): Questions | null;
  /** How a shell calls this program. */
  readonly program: string;
}

/** The parts of `init` that all its steps share. */
export interface Task {
  readonly paths: Paths;
  /** The root folder of a robot's image; null on the robot itself. */
  readonly image: string | null;
  readonly isTested: boolean;
  readonly options: InitOptions;
  readonly context: InitContext;
}

export const HINT = "Written by robot-policy-agent init. After an edit: robot-policy-agent check";
/** Readable by all: neither file contains a secret. */
export const FILE_MODE = 0o644;

/** The configuration that these answers give. */
export function configurationOf({ url, caFile, region, name, files }: Answers, { paths, options }: Task) {
  const { allowInsecure = false, proxy = null, enrolmentKey, site = null } = options;
  const enrolmentKeyFile = enrolmentKey === undefined ? null : absolute(enrolmentKey);
  const service = { url, key_file: paths.key, ca_file: caFile, allow_insecure: allowInsecure, proxy };
  const needsHome = files.some((path) => path.startsWith("~/"));
  const labels = Object.fromEntries((options.label ?? []).map(readLabel));
  const robot = { region, name: name ?? DEFAULTS.robot.name, site, labels, needsHome };
  const answers = { ...service, enrolment_key_file: enrolmentKeyFile, ...robot };
  const text = configurationText(answers, HINT);
  const { findings, value: configuration } = readConfiguration(Buffer.from(text), { path: paths.configuration });
  return { text, findings, configuration };
}

/** `init` has refused a text without `=`. */
function readLabel(text: string): readonly [string, string] {
  const at = text.indexOf("=");
  return at === -1 ? [text, ""] : [text.slice(0, at), text.slice(at + 1)];
}
