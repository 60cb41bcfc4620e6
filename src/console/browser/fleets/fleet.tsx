import type { FleetDetails } from "../../../api/fleet-details.ts";
import type { FleetView } from "../../../api/fleets.ts";
import { peakInWords } from "../../../api/words/fleets.ts";
import { EndpointTable } from "../models/endpoint-table.tsx";
import { CopyableText } from "../parts/copy-button.tsx";
import { CountBar } from "../parts/count-bar.tsx";
import { DialogButton } from "../parts/form/dialog-button.tsx";
import { Loaded } from "../parts/loaded.tsx";
import { Notice } from "../parts/notice.tsx";
import { Facts, Section } from "../parts/page.tsx";
import { RelativeTime } from "../parts/relative-time.tsx";
import { ResourcePage } from "../parts/resource-page.tsx";
import { toneOf } from "../parts/status-badge.tsx";
import { counted, withSpaces } from "../parts/text.ts";
import type { PageParameters } from "../router.ts";
import { useFleet, useFleetDetails } from "./data.ts";
import { ReconcileFleet, RemoveFleet, UpdateModel } from "./changes.tsx";
import { GenerationTable } from "./history.tsx";
import { MembersByReason } from "./members.tsx";
import { FleetBadge, NeedTexts } from "./needs.tsx";
import { estimateText, type FleetRow, fleetRow, robotCounts } from "./rows.ts";
import { WindowsTimeline } from "./windows-timeline.tsx";

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
          <WindowsTimeline windows={operatingWindows} />
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
