import { useState } from "preact/hooks";

import type { FleetDetails } from "../../../api/fleet-details.ts";
import type { FleetView } from "../../../api/fleets.ts";
import { peakInWords } from "../../../api/words/fleets.ts";
import { mayDo } from "../data/session.ts";
import type { Data } from "../data/use-data.ts";
import { EndpointTable } from "../models/endpoint-table.tsx";
import { CopyButton } from "../parts/copy-button.tsx";
import { CountBar } from "../parts/count-bar.tsx";
import { Loaded } from "../parts/loaded.tsx";
import { Notice, ProblemNotice, StaleNotice } from "../parts/notice.tsx";
import { Facts, Page, Section } from "../parts/page.tsx";
import { RelativeTime } from "../parts/relative-time.tsx";
import { Skeleton } from "../parts/skeleton.tsx";
import { toneOf } from "../parts/status-badge.tsx";
import { counted, withSpaces } from "../parts/text.ts";
import type { PageParameters } from "../router.ts";
import { FleetBadge } from "./badge.tsx";
import { useFleet, useFleetDetails } from "./data.ts";
import { GenerationTable } from "./generations.tsx";
import { MembersByReason } from "./members.tsx";
import { NeedTexts } from "./needs.tsx";
import type { FleetRow } from "./rows.ts";
import { estimateText, fleetRow, robotCounts } from "./rows.ts";
import { UpdateModel } from "./update.tsx";
import { WindowsTimeline } from "./windows-timeline.tsx";

/** `/fleets/ID`: one fleet: why it is not ready, its robots, endpoints, models and operating windows. */
export function Fleet({ name: id }: PageParameters) {
  const fleet = useFleet(id);
  const details = useFleetDetails(id);
  const [isUpdating, setUpdating] = useState(false);
  const view = fleet.state === "ready" ? fleet.value : null;
  const row = view === null ? null : fleetRow(view, details.state === "ready" ? details.value : undefined);
  const mayUpdate = view !== null && mayDo("fleets:write");
  return (
    <Page
      title={view?.name ?? "Fleet"}
      up={{ href: "/fleets", word: "Fleets" }}
      badge={row === null ? null : <FleetBadge row={row} />}
      actions={
        mayUpdate ? (
          <button type="button" class="button" onClick={() => setUpdating(true)}>
            Update model
          </button>
        ) : undefined
      }
    >
      {fleet.state === "failed" ? (
        <NoFleet {...fleet} />
      ) : (
        <div class="sections">
          {fleet.state === "ready" && fleet.problem !== null ? (
            <StaleNotice problem={fleet.problem} what="this fleet" />
          ) : null}
          {row === null ? null : <Needs row={row} />}
          <Section title="Robots" note={view === null ? undefined : noteOf(view)}>
            {row === null ? (
              <Skeleton lines={2} what="this fleet" />
            ) : (
              <CountBar counts={robotCounts(row)} noun="robot" />
            )}
          </Section>
          <Section title="Members" note="Fixed when the fleet was created">
            <Loaded data={details} what="the members of this fleet" lines={5}>
              {({ members }) => <MembersByReason members={members} />}
            </Loaded>
          </Section>
          {details.state === "ready" ? <Details details={details.value} fleet={view} /> : null}
        </div>
      )}
      {isUpdating && view !== null ? (
        <UpdateModel
          fleet={view}
          members={details.state === "ready" ? details.value.members : null}
          close={() => setUpdating(false)}
        />
      ) : null}
    </Page>
  );
}

function NoFleet({
  problem,
  retry,
}: Pick<Extract<Data<FleetView>, { readonly state: "failed" }>, "problem" | "retry">) {
  if (problem.kind !== "missing") return <ProblemNotice problem={problem} what="this fleet" retry={retry} />;
  return (
    <p>
      This organization has no such fleet. <a href="/fleets">See all fleets</a>
    </p>
  );
}

/** What the operator must do, and what is in progress. */
function Needs({ row: { fleet, needs } }: { readonly row: FleetRow }) {
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
    </>
  );
}

function Details({ details, fleet }: { readonly details: FleetDetails; readonly fleet: FleetView | null }) {
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
            ["Mode", fleet === null ? null : withSpaces(fleet.readiness_mode)],
            ["Created", <RelativeTime at={details.created_at} />],
            ["Model changed", <RelativeTime at={details.updated_at} />],
            ["Members chosen by", selectionText(details.selection)],
            [
              "Id",
              fleet === null ? null : (
                <span class="chip">
                  <span class="mono cut">{fleet.id}</span>
                  <CopyButton text={fleet.id} what="id" />
                </span>
              ),
            ],
          ]}
        />
      </Section>
    </>
  );
}

function noteOf(fleet: FleetView): string {
  return `${counted(fleet.robots.registered, "robot")}; ${peakInWords(fleet)}`;
}

function selectionText(selection: FleetDetails["selection"]): string | null {
  if (selection.selector === null) return "name";
  const { site, region, robot_type_id: robotTypeId, labels = {} } = selection.selector;
  const parts = [["site", site], ["region", region], ["type", robotTypeId], ...Object.entries(labels)].flatMap(
    ([name, value]) => (value === null || value === undefined ? [] : [`${name}=${value}`]),
  );
  return parts.join(", ");
}
