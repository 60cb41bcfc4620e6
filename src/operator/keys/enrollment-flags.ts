import type { ApiKeyCreate } from "../../api/keys.ts";
import { ENROLLMENT_USES } from "../../api/keys.ts";
import { ENROLL_SCOPE } from "../../api/wire/scopes.ts";
import type { Terminal } from "../../platform/terminal.ts";
import { defined } from "../../platform/defined.ts";
import type { OperatorFlags } from "../flags.ts";
import { readLabels } from "../fleets/selection-flags.ts";
import { refuseFlags } from "../refuse.ts";

/** What a key for enrolments adds to the body that creates a key. */
type EnrollmentMembers = Pick<ApiKeyCreate, "scopes" | "enrollment">;

type EnrollmentFlags = Pick<
  OperatorFlags,
  "enroll" | "uses" | "site" | "region" | "label" | "expires" | "scope" | "robot" | "maxRobots"
>;

/** @returns undefined without `--enroll`; null after reporting what is wrong with the flags. */
export function readEnrollment(flags: EnrollmentFlags, terminal: Terminal): EnrollmentMembers | undefined | null {
  if (flags.enroll !== true) {
    const { uses, site, region, label } = flags;
    const stray = givenOf({ "--uses": uses, "--site": site, "--region": region, "--label": label });
    if (stray === undefined) return undefined;
    return refuseFlags(`${stray} is only for a key with --enroll`, "add --enroll, or leave it out", terminal);
  }
  const { scope, robot, maxRobots } = flags;
  const other = givenOf({ "--scope": scope, "--robot": robot, "--max-robots": maxRobots });
  if (other !== undefined) {
    return refuseFlags(
      `${other} and --enroll exclude each other`,
      "a key with --enroll can only enroll robots",
      terminal,
    );
  }
  const { uses = "", expires, site, region, label } = flags;
  if (!/^[1-9]\d{0,5}$/.test(uses) || Number(uses) > ENROLLMENT_USES.maximum) {
    const what = uses === "" ? "--enroll needs --uses" : `--uses '${uses}' is not a number of robots`;
    return refuseFlags(
      what,
      `give a number from ${ENROLLMENT_USES.minimum} to ${ENROLLMENT_USES.maximum}: --uses 500`,
      terminal,
    );
  }
  if (expires === undefined) {
    return refuseFlags("--enroll needs --expires", "give a time at most 90 days ahead: --expires 7d", terminal);
  }
  const labels = label === undefined ? undefined : readLabels(label, terminal);
  if (labels === null) return null;
  return { scopes: [ENROLL_SCOPE], enrollment: { uses: Number(uses), ...defined({ site, region, labels }) } };
}

/** The first flag that has a value. */
function givenOf(values: Readonly<Record<string, unknown>>): string | undefined {
  return Object.entries(values).find(([, value]) => value !== undefined)?.[0];
}
