import { TextField } from "../parts/form/fields.tsx";
import type { FormErrors } from "../parts/form/form-errors.ts";

/** What a key for enrolments is for, as it is typed. */
export interface EnrollmentDraft {
  readonly uses: string;
  readonly site: string;
  readonly region: string;
}

export const NO_ENROLLMENT: EnrollmentDraft = { uses: "", site: "", region: "" };

/** The service's limit. */
const USES_MAXIMUM = 100_000;

/** The member of the request. */
export function enrollmentOf({ uses, site, region }: EnrollmentDraft) {
  return {
    uses: Number(uses),
    ...(site.trim() === "" ? {} : { site: site.trim() }),
    ...(region.trim() === "" ? {} : { region: region.trim() }),
  };
}

interface EnrollmentFieldsProps {
  readonly draft: EnrollmentDraft;
  change(draft: EnrollmentDraft): void;
  readonly errors: FormErrors;
}

export function EnrollmentFields({ draft, change, errors }: EnrollmentFieldsProps) {
  return (
    <>
      <TextField
        label="Robots at most"
        hint="How many may enroll. It never takes over a robot that exists: such an enrolment waits for an approval."
        type="number"
        value={draft.uses}
        change={(uses) => change({ ...draft, uses })}
        error={errors.of("enrollment.uses")}
        input={{ required: true, min: "1", max: String(USES_MAXIMUM), step: "1" }}
      />
      <div class="field-pair">
        <TextField
          label="Site"
          hint="Leave it empty for what each robot says."
          value={draft.site}
          change={(site) => change({ ...draft, site })}
          error={errors.of("enrollment.site")}
          input={{ maxLength: 128 }}
        />
        <TextField
          label="Region"
          hint="Leave it empty for what each robot says."
          value={draft.region}
          change={(region) => change({ ...draft, region })}
          error={errors.of("enrollment.region")}
        />
      </div>
    </>
  );
}
