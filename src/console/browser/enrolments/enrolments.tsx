import type { TargetedSubmitEvent } from "preact";
import type * as z from "zod";

import type { enrolmentListSchema, EnrolmentView } from "../../../api/enrolments.ts";
import { presenceOf } from "../../../api/words/presence.ts";
import { mayDo } from "../data/session.ts";
import { type Data, useData } from "../data/query.ts";
import { entered, Field } from "../parts/form/fields.tsx";
import { StatusBadge } from "../parts/status-badge.tsx";
import { type Column, fingerprintColumn, textColumn, endColumn, timeColumn } from "../parts/table/columns.tsx";
import type { Filtering } from "../parts/table/filter-bar.tsx";
import { ListPage } from "../parts/table/list-page.tsx";
import { present, withSpaces } from "../parts/text.ts";
import { navigate, useLocation } from "../router.ts";

const COLUMNS: readonly Column<EnrolmentView>[] = [
  {
    id: "code",
    name: "Code",
    track: "7.5rem",
    cell: ({ user_code: code }) => <span class="mono">{code}</span>,
    sortBy: ({ user_code: code }) => code,
  },
  textColumn({ id: "name", name: "Asks for", track: "minmax(6rem, 1.2fr)" }, ({ requested_name: name }) => name),
  {
    id: "robot",
    name: "Robot",
    track: "minmax(8rem, 1fr)",
    cell: ({ robot }) => {
      if (robot === null) return <span class="muted">new</span>;
      return robot.status === "online" ? (
        <StatusBadge status="online" />
      ) : (
        `exists, ${withSpaces(presenceOf(robot) ?? "not online")}`
      );
    },
    sortBy: ({ robot }) => robot?.status ?? "new",
  },
  textColumn({ id: "site", name: "Site", track: "minmax(4.5rem, 0.8fr)" }, ({ site }) => site),
  textColumn({ id: "address", name: "From", track: "minmax(6.75rem, 0.9fr)" }, ({ address }) => address),
  textColumn({ id: "region", name: "Region", track: "minmax(6rem, 0.8fr)", from: "wide" }, ({ region }) => region),
  fingerprintColumn({ track: "minmax(7rem, 1.6fr)", from: "medium" }, ({ key_fingerprint: key }) => key),
  timeColumn({ id: "started", name: "Started", track: "6rem" }, ({ created_at: at }) => at),
  endColumn({ id: "expires", name: "Expires", track: "6rem", from: "medium" }, ({ expires_at: at }) => at),
];

const FILTERING: Filtering<EnrolmentView> = {
  filters: [{ id: "site", label: "Site", valuesOf: ({ site }) => present(site) }],
  textOf: ({ user_code: code, requested_name: name, address, site, key_fingerprint: fingerprint }) =>
    [code, name, address, site, fingerprint].join(" "),
};

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
  return (
    <ListPage
      title="Enrolments"
      before={mayDo("robots:write") ? <CodeForm /> : null}
      data={enrolments}
      emptyTitle="No robot waits for approval"
      empty={<NoEnrolments />}
      noun="enrolment"
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
        A technician runs <code>sudo robot-policy-agent enroll</code> on the robot. It shows a code: type it above, and
        compare what the robot shows before you approve it.
      </p>
      <p>
        The address of this service is <code>{location.origin}</code>.
      </p>
    </>
  );
}
