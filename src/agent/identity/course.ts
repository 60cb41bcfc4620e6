import type { IdentityStatus } from "../status.ts";
import type { Later, RefusedState } from "./answers.ts";
import type { IdentityOptions } from "./identity-options.ts";
import type { Pace } from "./pace.ts";
import { createPace } from "./pace.ts";

type Standing =
  | { readonly kind: "enrolling" }
  | { readonly kind: "enrolled" }
  | { readonly kind: "refused"; readonly state: RefusedState; readonly detail: string };

/** How the identity stands, and when to ask the service next. */
export interface Course {
  standing: Standing;
  /** The same in words for people. */
  readonly state: IdentityStatus["state"];
  /** Why the last request failed; null when it did not. */
  problem: string | null;
  /** Monotonic time of the next start, poll or renewal after a refusal. */
  dueMs: number;
  readonly pace: Pace;
  /** The service answered the question. */
  answered(): void;
  wait(verdict: Later): void;
  refuse(state: RefusedState, detail: string): void;
}

export function createCourse({ machine, log, onChange }: IdentityOptions, isEnrolled: boolean): Course {
  const pace = createPace(machine.random);
  const course: Course = {
    standing: { kind: isEnrolled ? "enrolled" : "enrolling" },
    get state() {
      const { standing } = course;
      if (standing.kind === "refused") return standing.state;
      return standing.kind === "enrolled" ? "enrolled" : "waiting-for-approval";
    },
    problem: null,
    dueMs: 0,
    pace,
    answered() {
      pace.reset();
      course.problem = null;
    },
    wait(verdict) {
      course.problem = verdict.detail;
      course.dueMs = machine.clock.monotonicMs() + pace.after(verdict);
    },
    refuse(state, detail) {
      const { standing } = course;
      const isNews = standing.kind !== "refused" || standing.state !== state;
      course.standing = { kind: "refused", state, detail };
      course.problem = detail;
      if (!isNews) return;
      log.warn("identity-refused", { state, detail });
      onChange();
    },
  };
  return course;
}
