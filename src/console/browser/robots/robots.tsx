import { type ListedRobot, ROBOTS } from "../../../views/robots.ts";
import { mayDo } from "../data/session.ts";
import { CsvButton } from "../parts/csv-button.tsx";
import { useFiltered } from "../parts/table/filter-bar.tsx";
import { filteringOf, ListPage } from "../parts/table/list-page.tsx";
import { robotPath, useRobots } from "./data.ts";

const FILTERING = filteringOf(ROBOTS);
const NO_ROBOTS: readonly ListedRobot[] = [];

/** `/robots`: all registered robots. */
export function Robots() {
  const robots = useRobots();
  const matching = useFiltered(robots.value ?? NO_ROBOTS, FILTERING);
  return (
    <ListPage
      view={ROBOTS}
      data={robots}
      rows={robots.value}
      keyOf={({ view }) => view.id}
      hrefOf={({ view }) => robotPath(view.name, view.id)}
      sort="name"
      actions={<CsvButton name="robots" columns={ROBOTS.columns} rows={matching} />}
      empty={
        <>
          <p>
            A robot registers itself: install <code>robot-policy-agent</code> on its computer and run{" "}
            <code>sudo robot-policy-agent init</code>, which asks for the address of this service,{" "}
            <code>{location.origin}</code>, and how the robot signs in.
          </p>
          <p>
            It signs in with a code that you approve under <a href="/enrolments">Enrolments</a>, or with a key
            {mayDo("api-keys:write") ? (
              <>
                {" "}
                from <a href="/keys">Keys</a>
              </>
            ) : null}
            .
          </p>
        </>
      }
    />
  );
}
