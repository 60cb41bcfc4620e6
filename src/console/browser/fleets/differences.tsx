import type { FleetDifferences as Differences } from "../../../api/differences.ts";
import type { FleetView } from "../../../api/fleets.ts";
import { equalText, mostText, subjectOf, unknownText } from "../../../views/differences.ts";
import { counted } from "../../../views/view.ts";
import { useData } from "../data/query.ts";
import { Loaded } from "../parts/loaded.tsx";
import { Page } from "../parts/page.tsx";
import { differencesPath } from "../robots/data.ts";
import { Differing } from "../robots/differences.tsx";
import type { PageParameters } from "../router.ts";
import { apiPath, fleetPath } from "./data.ts";

/** `/fleets/ID/differences`: what is not equal on all robots of a fleet, with the robots that have something else than most. */
export function FleetDifferences({ name: id }: PageParameters) {
  const fleet = useData<FleetView>(apiPath(id), ["fleets"]);
  const answer = useData<Differences>(`${apiPath(id)}/differences`, ["fleets", "robots"]);
  const name = fleet.value?.name ?? "this fleet";
  return (
    <Page title={`Differences in ${name}`} up={{ text: fleet.value?.name ?? "Fleet", path: fleetPath(id) }}>
      <Loaded data={answer} what="this comparison" lines={6}>
        {(known) => (
          <>
            <p>{equalText(known)}</p>
            {known.unknown.length === 0 ? null : <p>{unknownText(known)}</p>}
            <ul class="differences">
              {known.parts.map((part) => (
                <Differing key={`${part.group} ${part.subject}`} subject={subjectOf(part)} change={mostText(part)}>
                  {othersOf(part)}
                </Differing>
              ))}
            </ul>
          </>
        )}
      </Loaded>
    </Page>
  );
}

/** The others by name, each with a link to how it differs from one that has what most have. */
function othersOf({ outliers, omitted, typical }: Differences["parts"][number]) {
  const links = outliers.map(({ robot_id: id, robot, what }) => (
    <>
      <a href={differencesPath(robot, id, { against: typical ?? "" })}>{robot}</a> {what}
    </>
  ));
  return omitted === 0 ? links : [...links, `and ${counted(omitted, "more robot")}`];
}
