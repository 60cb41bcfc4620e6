import * as z from "zod";

/** What a key for enrolments says of the robots that enroll with it. */
export type KeyEnrolment = z.output<typeof schema>;

const schema = z.object({
  /** How many robots may enroll; `uses_remaining` of the key counts down from it. */
  uses: z.int(),
  site: z.string().nullable(),
  region: z.string().nullable(),
  /** Text of a JSON object. */
  labels: z.string(),
});

/** Decodes it from the store; null for a key for anything else. */
export function readKeyEnrolment(enrolment: string | null): KeyEnrolment | null {
  return enrolment === null ? null : schema.parse(JSON.parse(enrolment));
}
