import type { FleetDetails, FleetGenerationView, FleetMemberView } from "../../../api/fleet-details.ts";
import type { FleetView } from "../../../api/fleets.ts";
import { memberStateInWords, peakInWords } from "../../../api/words/fleets.ts";
import { groupBy } from "../../../api/words/group-by.ts";
import { EndpointTable } from "../models/catalog.tsx";
import { CopyableText } from "../parts/copy-button.tsx";
import { CountBar } from "../parts/count-bar.tsx";
import { DialogButton } from "../parts/form/dialog-button.tsx";
import { Loaded } from "../parts/loaded.tsx";
import { Notice } from "../parts/notice.tsx";
import { Facts, Section } from "../parts/page.tsx";
import { absoluteTime, RelativeTime, Sentence, useNow, withTimes } from "../parts/relative-time.tsx";
import { ResourcePage } from "../parts/resource-page.tsx";
import { StatusBadge, toneOf } from "../parts/status-badge.tsx";
import { SmallTable } from "../parts/table/table.tsx";
import { counted, number, withSpaces } from "../parts/text.ts";
import type { PageParameters } from "../router.ts";
import { ReconcileFleet, RemoveFleet, UpdateModel } from "./changes.tsx";
import { estimateText, type FleetRow, fleetRow, robotCounts, useFleet, useFleetDetails } from "./data.ts";
import { FleetBadge, NeedTexts } from "./fleets.tsx";
import { RobotNames } from "./preview.tsx";

/** `/fleets/ID`: one fleet: why it is not ready, its robots, endpoints, models and operating windows. */
export function Fleet({ name: id }: PageParameters) {
  const fleet = useFleet(id);
  const details = useFleetDetails(id);
  const known = details.value;
  return (
    <ResourcePage
      data={fleet}
      section="fleets"
      noun="fleet"
      titleOf={({ name }) => name}
      badgeOf={(view) => <FleetBadge row={fleetRow(view, known)} />}
      actionsOf={(view) => <Actions fleet={view} details={known} />}
      lines={12}
    >
      {(value) => (
        <>
          <State row={fleetRow(value, known)} />
          <Section title="Members" note="Fixed until they are reconciled">
            <Loaded data={details} what="the members of this fleet" lines={5}>
              {({ members }) =>
                members.length === 0 ? <p class="muted">None.</p> : <MembersByReason members={members} />
              }
            </Loaded>
          </Section>
          {known === undefined ? null : <Details details={known} fleet={value} />}
        </>
      )}
    </ResourcePage>
  );
}

interface ActionsProps {
  readonly fleet: FleetView;
  /** Undefined before they are loaded. */
  readonly details: FleetDetails | undefined;
}

function Actions({ fleet, details }: ActionsProps) {
  return (
    <>
      <DialogButton scope="fleets:write" word="Update model">
        {(close) => <UpdateModel fleet={fleet} members={details?.members ?? []} close={close} />}
      </DialogButton>
      <DialogButton scope="fleets:write" word="Reconcile members">
        {(close) => <ReconcileFleet fleet={fleet} close={close} />}
      </DialogButton>
      <DialogButton scope="fleets:write" word="Delete" kind="danger">
        {(close) => <RemoveFleet fleet={fleet} close={close} />}
      </DialogButton>
    </>
  );
}

/** What the operator must do, what is in progress, and the robots by state. */
function State({ row }: { readonly row: FleetRow }) {
  const { fleet, needs } = row;
  const { status, update, readiness_estimate: readinessEstimate } = fleet;
  const estimate = readinessEstimate ?? null;
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
      {estimate === null ? null : (
        <Notice tone="preparing" title={estimateText(estimate)}>
          <p>
            From how long this model took before; estimated <RelativeTime at={estimate.updated_at} />.
          </p>
        </Notice>
      )}
      <Section title="Robots" note={`${counted(fleet.robots.registered, "robot")}; ${peakInWords(fleet)}`}>
        <CountBar counts={robotCounts(row)} noun="robot" />
      </Section>
    </>
  );
}

function Details({ details, fleet }: { readonly details: FleetDetails; readonly fleet: FleetView }) {
  const { generations, endpoints, operating_windows: operatingWindows } = details;
  const subjects = new Map(generations.map(({ generation_id: generationId, subject }) => [generationId, subject]));
  return (
    <>
      {operatingWindows.length === 0 ? null : (
        <Section title="Operating windows">
          <Windows windows={operatingWindows} />
        </Section>
      )}
      <div class="columns">
        <Section title="Inference endpoints">
          {endpoints.length === 0 ? (
            <p>The catalog names no endpoint for the model of this fleet.</p>
          ) : (
            <EndpointTable
              label="Inference endpoints"
              endpoints={endpoints}
              modelOf={({ generation_id: generationId }) => subjects.get(generationId) ?? generationId}
            />
          )}
        </Section>
        <Section title="Model generations" note="Newest first">
          <GenerationTable generations={generations} />
        </Section>
      </div>
      <Section title="Facts">
        <Facts
          facts={[
            ["Mode", withSpaces(fleet.readiness_mode)],
            ["Created", <RelativeTime at={details.created_at} />],
            ["Model changed", <RelativeTime at={details.updated_at} />],
            ["Members chosen by", selectionText(details.selection)],
            ["Id", <CopyableText text={fleet.id} what="id" />],
          ]}
        />
      </Section>
    </>
  );
}

function selectionText(selection: FleetDetails["selection"]): string | null {
  if (selection.selector === null) return "name";
  const { site, region, robot_type_id: robotTypeId, labels = {} } = selection.selector;
  const parts = [["site", site], ["region", region], ["type", robotTypeId], ...Object.entries(labels)].flatMap(
    ([name, value]) => (value === null || value === undefined ? [] : [`${name}=${value}`]),
  );
  return parts.join(", ");
}

/** Most urgent first. */
const MEMBER_STATES: readonly string[] = ["blocked", "waiting", "active", "ready"];

/** The members of a fleet, grouped by reason: forty robots that lack the same camera are one task, not forty. Then those that are offline. */
function MembersByReason({ members }: { readonly members: readonly FleetMemberView[] }) {
  const groups = [...groupBy(members, ({ state, reason }) => `${state} ${reason ?? ""}`)];
  const urgencyOf = ([first]: readonly FleetMemberView[]) => MEMBER_STATES.indexOf(first?.state ?? "");
  groups.sort(([, left], [, right]) => urgencyOf(left) - urgencyOf(right) || right.length - left.length);
  // The others are a group of their own.
  const offline = members.filter(
    ({ status, waiting_for: waitingFor }) => status === "offline" && waitingFor !== "robot",
  );
  return (
    <ul class="groups">
      {groups.map(([key, group]) => (
        <MemberGroup key={key} members={group} />
      ))}
      {offline.length === 0 ? null : (
        <li>
          <p class="group-head">
            <StatusBadge status="offline" word={`${number(offline.length)} offline`} />
            No heartbeats arrive.
          </p>
          <RobotNames robots={offline} />
        </li>
      )}
    </ul>
  );
}

/** Members in the same state for the same reason. */
function MemberGroup({ members }: { readonly members: readonly FleetMemberView[] }) {
  const [first] = members;
  if (first === undefined) return null;
  return (
    <li>
      <p class="group-head">
        <StatusBadge status={first.state} word={`${number(members.length)} ${memberStateInWords(first)}`} />
        {first.reason === null ? null : <Sentence text={first.reason} />}
      </p>
      <RobotNames robots={members} />
    </li>
  );
}

/** Whether one is open, and all of them. */
function Windows({ windows }: { readonly windows: FleetDetails["operating_windows"] }) {
  const nowMs = useNow();
  const sorted = [...windows].sort((left, right) => Date.parse(left.starts_at) - Date.parse(right.starts_at));
  const next = sorted.find(({ ends_at: endsAt }) => Date.parse(endsAt) > nowMs);
  const stateOf = ({ starts_at: startsAt, ends_at: endsAt }: (typeof windows)[number]) => {
    if (Date.parse(endsAt) <= nowMs) return "past";
    return Date.parse(startsAt) <= nowMs ? "open now" : "to come";
  };
  return (
    <>
      <p>
        {next === undefined
          ? "All windows are past."
          : stateOf(next) === "open now"
            ? `Open now, until ${absoluteTime(next.ends_at)}.`
            : `Closed now. The next window opens ${absoluteTime(next.starts_at)}.`}
      </p>
      <details>
        <summary>{counted(windows.length, "window")} as a table</summary>
        <SmallTable label="Operating windows" heads={["Starts", "Ends", "State"]}>
          {sorted.map((window) => (
            <tr key={window.starts_at}>
              <th scope="row">{absoluteTime(window.starts_at)}</th>
              <td>{absoluteTime(window.ends_at)}</td>
              <td>{stateOf(window)}</td>
            </tr>
          ))}
        </SmallTable>
      </details>
    </>
  );
}

/** All generations of a fleet: its current model, earlier ones, and updates. */
function GenerationTable({ generations }: { readonly generations: readonly FleetGenerationView[] }) {
  return (
    <SmallTable label="Model generations" heads={["Model", "State", "Given", "Active since"]}>
      {generations.map((generation) => (
        <tr key={generation.generation_id}>
          <th scope="row" title={generation.generation_id}>
            {generation.subject}
          </th>
          <td>
            <StatusBadge status={generation.status} />
            {generation.blocker === null ? null : (
              <span class="second-line two-lines" title={withTimes(generation.blocker)}>
                <Sentence text={generation.blocker} />
              </span>
            )}
          </td>
          <td>
            <RelativeTime at={generation.created_at} />
          </td>
          <td>
            <RelativeTime at={generation.activated_at} />
          </td>
        </tr>
      ))}
    </SmallTable>
  );
}
