/**
 * Enrolments: a computer without a credential starts one, a person approves its code, and the computer polls until it has a credential of
 * its own. These exports are for the other resources.
 */
export { consumeEnrolment } from "./queries.ts";
export { denyEnrolmentsOf } from "./queries.ts";
