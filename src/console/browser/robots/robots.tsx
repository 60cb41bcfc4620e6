import { type ListedRobot, ROBOTS } from "../../../views/robots.ts";
import { mayDo } from "../data/session.ts";
import { CsvButton } from "../parts/csv-button.tsx";
import { columnsOf, textOf } from "../parts/shown.tsx";
import { type Filtering, useFiltered } from "../parts/table/filter-bar.tsx";
import { ListPage } from "../parts/table/list-page.tsx";
import { robotPath, useRobots } from "./data.ts";

const COLUMNS = columnsOf(ROBOTS.columns);
const FILTERING: Filtering<ListedRobot> = {
  filters: ROBOTS.filters,
  textOf: (robot) => textOf(ROBOTS.columns, robot),
};
const NO_ROBOTS: readonly ListedRobot[] = [];

/** `/robots`: all registered robots. */
export function Robots() {
  const robots = useRobots();
  const matching = useFiltered(robots.value ?? NO_ROBOTS, FILTERING);
  return (
    <ListPage
      title="Robots"
      actions={<CsvButton name="robots" columns={ROBOTS.columns} rows={matching} />}
      data={robots}
      emptyTitle={ROBOTS.empty}
      empty={<NoRobots />}
      noun={ROBOTS.noun}
      columns={COLUMNS}
      rows={robots.value}
      keyOf={({ view }) => view.id}
      hrefOf={({ view }) => robotPath(view.name, view.id)}
      sort="name"
      filtering={FILTERING}
      hint="Name, type, site, label, digest"
    />
  );
}

function NoRobots() {
  return (
    <>
      <p>
        A robot registers itself: install <code>robot-policy-agent</code> on its computer and run{" "}
        <code>sudo robot-policy-agent init</code>, which asks for the address of this service and how the robot signs
        in: with a code that you approve under <a href="/enrolments">Enrolments</a>, or with a key.
      </p>
      <p>
        The address is <code>{location.origin}</code>.
        {mayDo("api-keys:write") ? (
          <>
            {" "}
            Create a key for it that may set up robots and nothing else under <a href="/keys">Keys</a>.
          </>
        ) : null}
      </p>
    </>
  );
}
