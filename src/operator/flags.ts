import type { TextFlags } from "./robots/text-flags.ts";

/** Every flag that a command of robot-policy takes. Which command takes which is in its row (cli/operator-*rows.ts). */
export interface OperatorFlags extends TextFlags {
  // Of every command
  readonly context?: string;
  readonly url?: string;
  readonly keyFile?: string;
  readonly caFile?: string;
  readonly allowInsecure?: boolean;
  readonly json?: boolean;

  // Of lists
  readonly wide?: boolean;
  /** Comma-separated names. */
  readonly columns?: string;
  readonly watch?: boolean;
  /** Seconds between two requests of `--watch`. */
  readonly interval?: string;
  readonly sort?: string;
  readonly status?: string;
  readonly all?: boolean;

  // Of changes
  readonly dryRun?: boolean;
  /** Do not ask for confirmation. */
  readonly yes?: boolean;
  readonly wait?: boolean;
  readonly timeout?: string;
  /** A YAML file, or `-` for stdin. */
  readonly from?: string;
  readonly name?: string;

  // Of robots and of selections of robots
  /** Names or ids. */
  readonly robot?: readonly string[];
  readonly region?: string;
  readonly type?: string;
  readonly label?: readonly string[];
  readonly digest?: boolean;
  readonly online?: boolean;
  readonly offline?: boolean;
  readonly history?: boolean;
  readonly contract?: boolean;
  /** Removes the labels of a registered robot, which it would keep otherwise. */
  readonly clearLabels?: boolean;
  readonly file?: readonly string[];
  readonly configurationDigest?: string;
  readonly manifest?: string;

  // Of enrolments and robot computers
  /** The robot whose computer is replaced, also if it is online. */
  readonly replace?: string;
  readonly times?: string;

  // Of fleets and deployments
  readonly model?: string;
  readonly peak?: string;
  readonly mode?: string;
  /** `START/END`. */
  readonly window?: readonly string[];

  // Of the organization
  readonly scope?: readonly string[];
  readonly expires?: string;
  /** A key with which robots enroll, and for how many. */
  readonly enroll?: boolean;
  readonly uses?: string;
  readonly out?: string;
  readonly since?: string;
  readonly until?: string;
  readonly by?: string;
  /** Types of events. */
  readonly event?: readonly string[];
  readonly csv?: boolean;
  /** False with `--no-browser`, for a browser on another computer. */
  readonly browser?: boolean;

  // Of `api`
  readonly field?: readonly string[];
  readonly rawField?: readonly string[];
  readonly input?: string;
  readonly paginate?: boolean;
  readonly include?: boolean;
}
