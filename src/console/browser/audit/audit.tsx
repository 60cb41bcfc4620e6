import { useMemo } from "preact/hooks";

import type { AuditEntryView } from "../../../api/audit.ts";
import { AUDIT, auditItem, type AuditItem, isSignIn } from "../../../views/audit.ts";
import { TOPICS } from "../../topics.ts";
import { useData } from "../data/query.ts";
import { CsvButton } from "../parts/csv-button.tsx";
import { Field } from "../parts/form/fields.tsx";
import { withTimes } from "../parts/relative-time.tsx";
import { ListPage } from "../parts/table/list-page.tsx";
import { number } from "../parts/text.ts";
import { setParameter, useLocation } from "../router.ts";

/** Changes on one page. */
const PAGE_CHANGES = 1000;

/** Times in details as the page shows them. */
const CELLS = {
  details: ({ details }: AuditItem) => <span title={details}>{withTimes(details)}</span>,
};

const SIGN_INS = [
  { value: "", word: "Hidden" },
  { value: "shown", word: "Shown" },
] as const;

/** `/audit`: who changed what, newest first; `?before=`: the page of changes before an entry. */
export function Audit() {
  const { path, query } = useLocation();
  const before = query.get("before");
  const parameters = new URLSearchParams({ limit: String(PAGE_CHANGES), ...(before === null ? {} : { before }) });
  const asked = `/v1/me/audit?${parameters.toString()}`;
  const changes = useData<{ readonly items: readonly AuditEntryView[] }>(asked, TOPICS);
  const entries = changes.value?.items ?? NO_ENTRIES;
  const hasSignIns = query.get("sign-ins") === "shown";
  const rows = useMemo(
    () => entries.filter((entry) => hasSignIns || !isSignIn(entry)).map(auditItem),
    [entries, hasSignIns],
  );
  const pageBefore = (id: string | null) => {
    const other = new URLSearchParams(query);
    if (id === null) other.delete("before");
    else other.set("before", id);
    return `${path}?${other.toString()}`.replace(/\?$/, "");
  };
  const last = entries.length < PAGE_CHANGES ? undefined : entries.at(-1);
  return (
    <ListPage
      title="Audit"
      view={AUDIT}
      cells={CELLS}
      isCounted={false}
      actions={<CsvButton name="audit" columns={AUDIT.columns} rows={rows} />}
      before={
        <div class="filters">
          <Field
            kind="select"
            label="Sign-ins"
            value={hasSignIns ? "shown" : ""}
            options={SIGN_INS}
            change={(value) => setParameter("sign-ins", value)}
          />
        </div>
      }
      data={changes}
      rows={rows}
      keyOf={({ id }) => id}
      sort="-when"
      empty={<p>This page lists who changed what.</p>}
    >
      {before === null && last === undefined ? null : (
        <p class="table-more">
          {before === null ? `The newest ${number(PAGE_CHANGES)} changes. ` : <a href={pageBefore(null)}>Newest</a>}{" "}
          {last === undefined ? "This is the beginning." : <a href={pageBefore(last.id)}>Earlier changes</a>}
        </p>
      )}
    </ListPage>
  );
}

const NO_ENTRIES: readonly never[] = [];
