import { useRef } from "preact/hooks";

import type { Problem } from "../../data/request.ts";
import type { FormErrors } from "./form-errors.ts";
import { formErrors } from "./form-errors.ts";

/**
 * The service's validation errors for a form, each until the person changes the refused value.
 *
 * @param fields paths in the body that the form has fields for.
 * @param draft the current content of the form, with the member names of the body.
 */
export function useFormErrors(problem: Problem | null, fields: readonly string[], draft: unknown): FormErrors {
  const refusal = useRef({ problem, draft });
  if (refusal.current.problem !== problem) refusal.current = { problem, draft };
  return formErrors(problem, fields, { refused: refusal.current.draft, now: draft });
}
