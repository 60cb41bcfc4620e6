import { useMemo } from "preact/hooks";

import type {
  FleetDetails,
  FleetGenerationView,
  FleetMemberChanges,
  FleetMemberView,
} from "../../../api/fleet-details.ts";
import type { FleetView } from "../../../api/fleets.ts";
import type { ModelView } from "../../../api/models.ts";
import {
  earlierGeneration,
  FLEETS,
  fleetRow,
  type FleetRow,
  GENERATION_COLUMNS,
  memberChanges,
  memberGroups,
  peakText,
  removeConsequences,
  robotCounts,
  rollbackConsequences,
  subjectOf,
  updateConsequences,
  updateOutcome,
  windowState,
} from "../../../views/fleets.ts";
import { ENDPOINT_COLUMNS } from "../../../views/models.ts";
import { type Column, exact, toneOf, counted } from "../../../views/view.ts";
import { useData } from "../data/query.ts";
import { useModels, useSubjectField } from "../models/catalog.tsx";
import { type Change, ChangeButton, type ChangeRequest } from "../parts/form/change.tsx";
import { entered } from "../parts/form/fields.tsx";
import { Loaded } from "../parts/loaded.tsx";
import { Notice } from "../parts/notice.tsx";
import { Section } from "../parts/page.tsx";
import { absoluteTime, useNow } from "../parts/relative-time.tsx";
import { ResourcePage } from "../parts/resource-page.tsx";
import { Shown, ShownFacts, ShownTable } from "../parts/shown.tsx";
import { useRobotViews } from "../robots/data.ts";
import type { PageParameters } from "../router.ts";
import { apiPath, FLEET_TOPICS, fleetPath } from "./data.ts";
import { FleetBadge, NeedTexts } from "./fleets.tsx";
import { Preview, RobotGroups, RobotNames } from "./preview.tsx";

/** `/fleets/ID`: one fleet: why it is not ready, its robots, endpoints, models and operating windows. */
export function Fleet({ name: id }: PageParameters) {
  const fleet = useData<FleetView>(apiPath(id), FLEET_TOPICS);
  const details = useData<FleetDetails>(`${apiPath(id)}/details`, FLEET_TOPICS);
  const known = details.value ?? null;
  const rowOf = (view: FleetView) => fleetRow(view, known, known);
  return (
    <ResourcePage
      data={fleet}
      section="fleets"
      noun={FLEETS.noun}
      titleOf={({ name }) => name}
      badgeOf={(view) => <FleetBadge row={rowOf(view)} />}
      changesOf={(view) => [modelUpdate(rowOf(view)), reconciling(view), removal(view)]}
      lines={12}
    >
      {(value) => (
        <>
          <State row={rowOf(value)} />
          <Section title="Facts">
            <ShownFacts facts={[...FLEETS.factsOf(rowOf(value)), ["id", exact(value.id)]]} />
          </Section>
          <Section title="Members" note="Fixed until they are reconciled">
            <Loaded data={details} what="the members of this fleet" lines={5}>
              {({ members }) =>
                members.length === 0 ? (
                  <p class="muted">None.</p>
                ) : (
                  <>
                    <RobotGroups groups={memberGroups(members)} />
                    <p class="below">
                      <a href={`${fleetPath(id)}/differences`}>Differences</a>
                    </p>
                  </>
                )
              }
            </Loaded>
          </Section>
          {known === null ? null : <Details details={known} fleet={value} />}
        </>
      )}
    </ResourcePage>
  );
}

interface RowProps {
  readonly row: FleetRow;
}

/** What the operator must do, the update in progress, and the robots by state. */
function State({ row }: RowProps) {
  const { fleet, needs } = row;
  const { status, update } = fleet;
  return (
    <>
      {needs.length === 0 ? null : (
        <Notice tone={status === "blocked" ? "blocked" : "degraded"} title="This fleet needs attention">
          <NeedTexts needs={needs} />
        </Notice>
      )}
      {update === null || update === undefined ? null : (
        <Notice tone={toneOf(update.status)} title={`Update to ${update.subject} is ${update.status}`}>
          <p>The fleet keeps its current model until the new one is ready.</p>
        </Notice>
      )}
      <Section title="Robots" note={`${counted(fleet.robots.registered, "robot")}; ${peakText(fleet)}`}>
        <Shown value={robotCounts(row)} />
      </Section>
    </>
  );
}

function Details({ details, fleet }: { readonly details: FleetDetails; readonly fleet: FleetView }) {
  const { generations, endpoints, operating_windows: operatingWindows } = details;
  const models = useModels();
  const earlier = earlierGeneration(fleet, details);
  const subjects = new Map(generations.map(({ generation_id: id, subject }) => [id, subject]));
  const shown = endpoints.map((each) => ({ ...each, of: subjects.get(each.generation_id) ?? each.generation_id }));
  return (
    <>
      {operatingWindows.length === 0 ? null : (
        <Section title="Operating windows">
          <Windows windows={operatingWindows} />
        </Section>
      )}
      <Section title="Inference endpoints">
        {endpoints.length === 0 ? (
          <p>The catalog names no endpoint for the model of this fleet.</p>
        ) : (
          <ShownTable label="Inference endpoints" columns={ENDPOINT_COLUMNS} rows={shown} />
        )}
      </Section>
      <Section title="Model generations" note="Newest first">
        <ShownTable label="Model generations" columns={GENERATION_COLUMNS} rows={generations} />
        {earlier === null || models.state === "loading" ? null : (
          <div class="buttons below">
            <ChangeButton change={rollback(fleet, earlier, models.value?.models)} />
          </div>
        )}
      </Section>
    </>
  );
}

/** Whether one is open, and all of them. */
function Windows({ windows }: { readonly windows: FleetDetails["operating_windows"] }) {
  const nowMs = useNow();
  const next = windows.find((window) => windowState(window, nowMs) !== "past");
  const nextText =
    next === undefined
      ? "All windows are past."
      : windowState(next, nowMs) === "open now"
        ? `Open now, until ${absoluteTime(next.ends_at)}.`
        : `Closed now. The next window opens ${absoluteTime(next.starts_at)}.`;
  const columns: readonly Column<(typeof windows)[number]>[] = [
    { name: "starts", show: ({ starts_at: at }) => absoluteTime(at) },
    { name: "ends", show: ({ ends_at: at }) => absoluteTime(at) },
    { name: "state", show: (window) => windowState(window, nowMs) },
  ];
  return (
    <>
      <p>{nextText}</p>
      <details>
        <summary>{counted(windows.length, "window")} as a table</summary>
        <ShownTable label="Operating windows" columns={columns} rows={windows} />
      </details>
    </>
  );
}

/** Updates the model of a fleet; shows beforehand which of its robots cannot run it. */
function modelUpdate(row: FleetRow): Change<FleetView> {
  const { fleet, details } = row;
  return {
    scope: "fleets:write",
    word: "Update model",
    title: `Update the model of ${fleet.name}`,
    body: <p>{updateConsequences(row).join(" ")}</p>,
    useForm(data) {
      const field = useSubjectField("subject");
      const robots = useExisting(details?.members ?? NO_MEMBERS);
      const subject = entered(data, "subject");
      const asked = subject === "" || robots.length === 0 ? null : { robots, subject };
      const hint = "Choose a model to see which robots of the fleet can run it.";
      return { fields: [field], below: <Preview body={asked} hint={hint} /> };
    },
    requestOf: (data) => changeOfModel(fleet, entered(data, "subject")),
    topics: ["fleets"],
    made: (updated, data) => ({ said: updateOutcome(updated, entered(data, "subject"), fleet) }),
  };
}

const NO_MEMBERS: readonly FleetMemberView[] = [];

function changeOfModel({ id }: FleetView, subject: string): ChangeRequest {
  return { method: "POST", path: `${apiPath(id)}/model`, body: { subject } };
}

/** Ids of the members that can be previewed: a fleet keeps those that were removed. */
function useExisting(members: readonly FleetMemberView[]): readonly string[] {
  const robots = useRobotViews().value;
  return useMemo(() => {
    const existing = new Set(robots?.map(({ id }) => id));
    const ids = members.map(({ robot_id: robotId }) => robotId);
    return robots === undefined ? ids : ids.filter((id) => existing.has(id));
  }, [members, robots]);
}

/** Goes back to the model of the generation before, or ends an update in progress. */
function rollback(
  fleet: FleetView,
  earlier: FleetGenerationView,
  models: readonly ModelView[] | undefined,
): Change<FleetView> {
  const model = models?.find(({ slug }) => slug === earlier.subject);
  const subject = subjectOf(earlier, model);
  return {
    scope: "fleets:write",
    word: "Roll back",
    title: `Roll ${fleet.name} back?`,
    body: <p>{rollbackConsequences(fleet, earlier).join(" ")}</p>,
    requestOf: () => changeOfModel(fleet, subject),
    topics: ["fleets"],
    made: (updated) => ({ said: updateOutcome(updated, subject, fleet) }),
  };
}

/** Selects the members of a fleet again; shows beforehand who joins and who leaves. */
function reconciling(fleet: FleetView): Change {
  return {
    scope: "fleets:write",
    word: "Reconcile members",
    title: `Reconcile the members of ${fleet.name}`,
    verb: "Reconcile",
    body: <MemberChanges fleet={fleet} />,
    requestOf: () => ({ method: "POST", path: `${apiPath(fleet.id)}/reconcile` }),
    topics: ["fleets"],
    made: () => ({ said: `The members of ${fleet.name} are reconciled.` }),
  };
}

function MemberChanges({ fleet }: { readonly fleet: FleetView }) {
  const changes = useData<FleetMemberChanges>(`${apiPath(fleet.id)}/reconcile`, FLEET_TOPICS);
  return (
    <>
      <p>
        A fleet with a selector takes the robots that match it now, once. Robots that were removed leave, and so do
        those that do not match any more.
      </p>
      <Loaded data={changes} what="who would join and leave" lines={3}>
        {(value) => {
          const { groups, after } = memberChanges(value, fleet);
          return (
            <div class="preview-box">
              {groups.map(({ title, robots }) => (
                <div key={title}>
                  <p class="group-head">
                    <b>{title}</b>
                  </p>
                  <RobotNames robots={robots} />
                </div>
              ))}
              <p role="status">{groups.length === 0 ? "The fleet has these members already." : after}</p>
            </div>
          );
        }}
      </Loaded>
    </>
  );
}

/** Deletes a fleet; its robots stay. */
function removal(fleet: FleetView): Change {
  const { id, name } = fleet;
  return {
    scope: "fleets:write",
    word: "Delete",
    kind: "danger",
    title: `Delete ${name}?`,
    verb: "Delete fleet",
    body: <p>{removeConsequences(fleet)}</p>,
    requestOf: () => ({ method: "DELETE", path: apiPath(id) }),
    topics: ["fleets", "deployments"],
    made: () => ({ said: `${name} is deleted.`, next: "/fleets" }),
  };
}
