import type { TargetedSubmitEvent } from "preact";
import type * as z from "zod";

import type { enrolmentListSchema, EnrolmentView } from "../../../api/enrolments.ts";
import { ENROLL_COMMAND } from "../../../views/computers.ts";
import { aloneBecause, enrolmentLine, ENROLMENTS } from "../../../views/enrolments.ts";
import { counted } from "../../../views/view.ts";
import { mayDo } from "../data/session.ts";
import { type Data, useData } from "../data/query.ts";
import { type Change, ChangeButton } from "../parts/form/change.tsx";
import { entered, Field } from "../parts/form/fields.tsx";
import { useFiltered } from "../parts/table/filter-bar.tsx";
import { filteringOf, ListPage } from "../parts/table/list-page.tsx";
import { navigate, useLocation } from "../router.ts";
import { APPROVAL_TOPICS } from "./enrolment.tsx";

const FILTERING = filteringOf(ENROLMENTS);
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
      view={ENROLMENTS}
      data={enrolments}
      rows={enrolments.value?.items}
      keyOf={({ approval_id: id }) => id}
      hrefOf={({ user_code: code }) => enrolmentPath(code)}
      sort="-started"
      actions={matching.length < 2 ? null : <ChangeButton change={approvalOf(matching)} />}
      before={mayDo("robots:write") ? <CodeForm /> : null}
      empty={
        <p>
          A technician runs <code>{ENROLL_COMMAND}</code> on the robot; the address of this service is{" "}
          <code>{location.origin}</code>. The robot shows a code: type it above, and compare what the robot shows before
          you approve it.
        </p>
      }
    />
  );
}

/** Approves those that are checked as they ask to be. The first that is refused ends it; the rest stay checked. */
function approvalOf(shown: readonly EnrolmentView[]): Change {
  return {
    scope: "robots:write",
    word: "Approve several…",
    title: "Approve several computers",
    body: <p>Compare each code and key with what its robot shows.</p>,
    useForm(data) {
      const waiting = new Set(useEnrolments().value?.items.map(({ user_code: code }) => code));
      const left = shown.filter(({ user_code: code }) => waiting.has(code));
      const options = left
        .filter((each) => aloneBecause(each) === null)
        .map((each) => ({
          value: each.user_code,
          word: `${each.user_code} ${enrolmentLine(each)}`,
          hint: <span class="mono whole">{each.key_fingerprint}</span>,
        }));
      const count = options.filter(({ value }) => data.getAll("codes").includes(value)).length;
      return {
        fields: [
          { name: "codes", label: "Computers", kind: "checkboxes", options, hasAll: true, input: { required: true } },
        ],
        below: left
          .filter((each) => aloneBecause(each) !== null)
          .map((each) => (
            <p key={each.user_code} class="muted">
              {each.user_code} is approved by itself, because {aloneBecause(each)}.
            </p>
          )),
        verb: `Approve ${count}`,
      };
    },
    requestOf: (data) =>
      data.getAll("codes").map((code) => ({
        method: "POST",
        path: "/v1/robots/approve",
        body: { user_code: code },
        subject: String(code),
      })),
    topics: APPROVAL_TOPICS,
    made: (_answer, data) => ({ said: `${counted(data.getAll("codes").length, "computer")} approved.` }),
  };
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
