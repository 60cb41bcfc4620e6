/** What other resources use of enrolments: those of a key, and that of an installation, end. */
export { consumeEnrolment, denyEnrolmentsOf } from "./enrolments.ts";
