import { useRef } from "preact/hooks";

import type { Problem } from "../../data/request.ts";
import type { FormErrors } from "./form-errors.ts";
import { formErrors } from "./form-errors.ts";

/**
 * What the service refused, beside the fields of a form, until the person changes what was refused.
 *
 * @param fields paths in the body that the form has fields for.
 * @param draft what the form holds now, under the names that the body has for it.
 */
export function useFormErrors(problem: Problem | null, fields: readonly string[], draft: unknown): FormErrors {
  const refusal = useRef({ problem, draft });
  if (refusal.current.problem !== problem) refusal.current = { problem, draft };
  return formErrors(problem, fields, { refused: refusal.current.draft, now: draft });
}
