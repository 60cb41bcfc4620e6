import { type Answer, refuse, refuseInvalid } from "../kernel/http/answers.ts";
import { ruleBroken } from "../kernel/validation/finding.ts";
import { ROBOT_NAME_RULE } from "../robots/index.ts";
import type { Decision, EnrolmentRow } from "./rules.ts";

/** Sentences for the person at the robot, or for the approver: they say what to do. */

/** To a poll: unknown enrolment, wrong token and wrong signature are not told apart. */
export const UNKNOWN_ENROLMENT = refuse(
  "NotFound",
  "There is no such enrolment, or the proof is not of its computer; start the enrolment again on the robot",
);

/** To an approver: unknown, ended and another organization's are not told apart. */
export const UNKNOWN_CODE = refuse(
  "NotFound",
  "No enrolment waits with this code; check it on the robot, or start the enrolment there again",
);

export const KEY_IN_USE = refuse(
  "Conflict",
  "This key is that of a computer that is enrolled already; make a fresh key, and start again with it",
  {},
  "key_in_use",
);

export const USES_SPENT = refuse(
  "Forbidden",
  "The key for enrolments is used up; ask for a new one, or start without a key and have the code approved",
  {},
  "uses_spent",
);

export const NOT_FOR_ENROLMENTS = refuse("Forbidden", "The API key is not made for enrolments", {}, "scope");

/** @param by who sent the name or region, and can send another one. */
export function refuseDecision(
  { member, input }: Extract<Decision, { readonly state: "invalid" }>,
  by: "approver" | "computer",
): Answer {
  if (member === "region") {
    const remedy = by === "approver" ? "name one as region" : "send one, or use a key that has one";
    const fault = ruleBroken(`the computer did not say its region; ${remedy}`);
    return refuseInvalid([{ ...fault, loc: ["body", "region"], input }]);
  }
  const name = by === "approver" ? "name" : "requested_name";
  const remedy = by === "approver" ? "; choose another one as name" : "";
  return refuseInvalid([{ ...ruleBroken(`${ROBOT_NAME_RULE}${remedy}`), loc: ["body", name], input }]);
}

/** @param name of the robot as decided. */
export function refuseOnline(name: string): Answer {
  const detail = `The robot ${name} is online on another computer; to replace that, approve the code again with confirm_replace`;
  return refuse("Conflict", detail, {}, "robot_online");
}

export function refuseOtherValues({ decided_name: name, decided_region: region }: EnrolmentRow): Answer {
  const detail = `The code was approved already, as ${name} in ${region}; deny it to have the computer enroll again`;
  return refuse("Conflict", detail, {}, "already_approved");
}

export function refuseStarts(waitMs: number): Answer {
  const retryAfterS = String(Math.max(1, Math.ceil(waitMs / 1000)));
  const detail = `Too many enrolments start from this address; start again in ${retryAfterS} s`;
  return refuse("RateLimited", detail, { "retry-after": retryAfterS });
}

export const TOO_MANY_WAITING = refuse(
  "RateLimited",
  "Too many enrolments wait for their approval; start again in a few minutes",
  { "retry-after": "60" },
);
