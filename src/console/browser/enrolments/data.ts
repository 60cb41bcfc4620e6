import type * as z from "zod";

import type { enrolmentListSchema, EnrolmentView } from "../../../api/enrolments.ts";
import type { RegistrationView } from "../../../api/registrations.ts";
import type { IdentifiedRobotView } from "../../../api/robot-views.ts";
import { request } from "../data/request.ts";
import { type Answer, useAnswer } from "../data/use-answer.ts";
import { type Data, useData } from "../data/use-data.ts";

/** The enrolments that wait, as far as the organization may see them without their codes. */
export function useEnrolments(): Data<z.output<typeof enrolmentListSchema>> {
  return useData("/v1/robot-enrollments", ["enrolments"]);
}

/** The regions with endpoints; none where they are not known. */
export function useRegions(): readonly string[] {
  const data = useData<{ readonly regions: readonly string[] }>("/v1/regions", ["models"]);
  return data.state === "ready" ? data.value.regions : [];
}

/** The enrolment with this code. Not fetched again by itself: a code that is wrong or has ended counts as a guess. */
export function useEnrolment(code: string): Answer<EnrolmentView> {
  const path = `/v1/robot-enrollments/${encodeURIComponent(code)}`;
  return useAnswer(code, (signal) => request<EnrolmentView>("GET", path, { signal }));
}

/** The robot whose place the computer takes, and the digest that it registered last. */
export interface Target {
  /** Null for a new robot; undefined while it is looked up; "hidden" if that fails, as for a key that may not see robots. */
  readonly robot: IdentifiedRobotView | null | undefined | "hidden";
  readonly digest: string | null;
  retry(): void;
}

const TYPING_MS = 300;

/** The robot of the name that was typed. */
export function useTarget(name: string): Target {
  const path = `/v1/robots/${encodeURIComponent(name)}`;
  const isName = name !== "" && !/^\.+$/.test(name);
  const robot = useAnswer(
    name,
    isName ? (signal) => request<IdentifiedRobotView>("GET", path, { signal }) : null,
    TYPING_MS,
  );
  const isThere = robot.state === "ready" && !robot.isAsking && robot.value.name === name;
  const registration = useAnswer(
    name,
    isThere ? (signal) => request<RegistrationView>("GET", `${path}/registration`, { signal }) : null,
  );
  // While it is asked for, the value is that of the name before.
  const digest = registration.isAsking ? null : (registration.value?.configuration_digest ?? null);
  const { retry } = robot;
  if (robot.isAsking) return { robot: undefined, digest: null, retry };
  // The operation accepts ids too, but the name is never meant as an id.
  if (robot.state === "ready") return { robot: isThere ? robot.value : null, digest, retry };
  if (robot.state === "loading") return { robot: undefined, digest: null, retry };
  return { robot: robot.problem.kind === "missing" ? null : "hidden", digest: null, retry };
}

export function enrolmentPath(code: string): string {
  return `/enrolments/${encodeURIComponent(code)}`;
}
