import type { TargetedSubmitEvent } from "preact";
import type * as z from "zod";

import type { enrolmentListSchema, EnrolmentView } from "../../../api/enrolments.ts";
import { ENROLL_COMMAND } from "../../../views/computers.ts";
import { ENROLMENTS } from "../../../views/enrolments.ts";
import { mayDo } from "../data/session.ts";
import { type Data, useData } from "../data/query.ts";
import { DialogButton } from "../parts/form/dialog-button.tsx";
import { entered, Field } from "../parts/form/fields.tsx";
import { columnsOf, textOf } from "../parts/shown.tsx";
import { type Filtering, useFiltered } from "../parts/table/filter-bar.tsx";
import { ListPage } from "../parts/table/list-page.tsx";
import { navigate, useLocation } from "../router.ts";
import { ApproveMany } from "./approve-many.tsx";

const COLUMNS = columnsOf(ENROLMENTS.columns);
const FILTERING: Filtering<EnrolmentView> = {
  filters: ENROLMENTS.filters,
  textOf: (enrolment) => textOf(ENROLMENTS.columns, enrolment),
};
const NONE: readonly EnrolmentView[] = [];

/** The enrolments that wait, as far as the organization may see them without their codes. */
export function useEnrolments(): Data<z.output<typeof enrolmentListSchema>> {
  return useData("/v1/robot-enrollments", ["enrolments"]);
}

function enrolmentPath(code: string): string {
  return `/enrolments/${encodeURIComponent(code)}`;
}

/** `/enrolments`: robot computers that wait for approval, and a field for the code of one. */
export function Enrolments() {
  const enrolments = useEnrolments();
  const matching = useFiltered(enrolments.value?.items ?? NONE, FILTERING);
  return (
    <ListPage
      title="Enrolments"
      actions={
        matching.length < 2 ? null : (
          <DialogButton scope="robots:write" word="Approve several…">
            {(close) => <ApproveMany enrolments={matching} close={close} />}
          </DialogButton>
        )
      }
      before={mayDo("robots:write") ? <CodeForm /> : null}
      data={enrolments}
      emptyTitle={ENROLMENTS.empty}
      empty={<NoEnrolments />}
      noun={ENROLMENTS.noun}
      columns={COLUMNS}
      rows={enrolments.value?.items}
      keyOf={({ approval_id: id }) => id}
      hrefOf={({ user_code: code }) => enrolmentPath(code)}
      sort="-started"
      filtering={FILTERING}
      hint="Code, name, site, address, key"
    />
  );
}

/** A robot shows its code; an enrolment that names no organization is found by it alone. */
function CodeForm() {
  const { query } = useLocation();
  const open = (event: TargetedSubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    const code = entered(new FormData(event.currentTarget), "code");
    if (code !== "") navigate(enrolmentPath(code));
  };
  return (
    <form class="code-form" onSubmit={open}>
      <Field
        name="code"
        label="Code that the robot shows"
        value={query.get("code") ?? ""}
        input={{ maxLength: 16, placeholder: "WXYZ-2345", required: true }}
      />
      <button type="submit" class="button button-main">
        Look it up
      </button>
    </form>
  );
}

function NoEnrolments() {
  return (
    <>
      <p>
        A technician runs <code>{ENROLL_COMMAND}</code> on the robot. It shows a code: type it above, and compare what
        the robot shows before you approve it.
      </p>
      <p>
        The address of this service is <code>{location.origin}</code>.
      </p>
    </>
  );
}
