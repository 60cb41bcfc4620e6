import { useMemo } from "preact/hooks";

import type { FleetDetails, FleetMemberView } from "../../../api/fleet-details.ts";
import type { FleetView } from "../../../api/fleets.ts";
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
import { exact, toneOf, counted } from "../../../views/view.ts";
import { useModels, useSubjectField } from "../models/catalog.tsx";
import { DialogButton } from "../parts/form/dialog-button.tsx";
import { entered } from "../parts/form/fields.tsx";
import { ChangeDialog, FormDialog } from "../parts/form/form-dialog.tsx";
import { Loaded } from "../parts/loaded.tsx";
import { Notice } from "../parts/notice.tsx";
import { Section } from "../parts/page.tsx";
import { absoluteTime, Sentence, useNow } from "../parts/relative-time.tsx";
import { ResourcePage } from "../parts/resource-page.tsx";
import { Shown, ShownFacts, ShownTable } from "../parts/shown.tsx";
import { StatusBadge } from "../parts/status-badge.tsx";
import { SmallTable } from "../parts/table/table.tsx";
import { number } from "../parts/text.ts";
import { showToast } from "../parts/toast.tsx";
import { useRobotViews } from "../robots/data.ts";
import type { PageParameters } from "../router.ts";
import { apiPath, useFleet, useFleetDetails, useMemberChanges } from "./data.ts";
import { FleetBadge, NeedTexts } from "./fleets.tsx";
import { PreviewList, RobotNames, usePreview } from "./preview.tsx";

/** `/fleets/ID`: one fleet: why it is not ready, its robots, endpoints, models and operating windows. */
export function Fleet({ name: id }: PageParameters) {
  const fleet = useFleet(id);
  const details = useFleetDetails(id);
  const known = details.value ?? null;
  const rowOf = (view: FleetView) => fleetRow(view, known, known);
  return (
    <ResourcePage
      data={fleet}
      section="fleets"
      noun={FLEETS.noun}
      titleOf={({ name }) => name}
      badgeOf={(view) => <FleetBadge row={rowOf(view)} />}
      actionsOf={(view) => <Actions row={rowOf(view)} />}
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
                members.length === 0 ? <p class="muted">None.</p> : <MembersByReason members={members} />
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

function Actions({ row }: RowProps) {
  return (
    <>
      <DialogButton scope="fleets:write" word="Update model">
        {(close) => <UpdateModel row={row} close={close} />}
      </DialogButton>
      <DialogButton scope="fleets:write" word="Reconcile members">
        {(close) => <ReconcileFleet row={row} close={close} />}
      </DialogButton>
      <DialogButton scope="fleets:write" word="Delete" kind="danger">
        {(close) => <RemoveFleet row={row} close={close} />}
      </DialogButton>
    </>
  );
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
        {earlierGeneration(fleet, details) === null ? null : (
          <div class="buttons below">
            <DialogButton scope="fleets:write" word="Roll back">
              {(close) => <RollBack fleet={fleet} details={details} close={close} />}
            </DialogButton>
          </div>
        )}
      </Section>
    </>
  );
}

/** The members of a fleet, grouped by reason. */
function MembersByReason({ members }: { readonly members: readonly FleetMemberView[] }) {
  return (
    <ul class="groups">
      {memberGroups(members).map(({ state, tone, reason, members: group }) => (
        <li key={`${state} ${reason ?? ""}`}>
          <p class="group-head">
            <StatusBadge status={state} tone={tone} word={`${number(group.length)} ${state}`} />
            {reason === null ? null : <Sentence text={reason} />}
          </p>
          <RobotNames robots={group} />
        </li>
      ))}
    </ul>
  );
}

/** Whether one is open, and all of them. */
function Windows({ windows }: { readonly windows: FleetDetails["operating_windows"] }) {
  const nowMs = useNow();
  const next = windows.find((window) => windowState(window, nowMs) !== "past");
  return (
    <>
      <p>
        {next === undefined
          ? "All windows are past."
          : windowState(next, nowMs) === "open now"
            ? `Open now, until ${absoluteTime(next.ends_at)}.`
            : `Closed now. The next window opens ${absoluteTime(next.starts_at)}.`}
      </p>
      <details>
        <summary>{counted(windows.length, "window")} as a table</summary>
        <SmallTable label="Operating windows" heads={["Starts", "Ends", "State"]}>
          {windows.map((window) => (
            <tr key={window.starts_at}>
              <th scope="row">{absoluteTime(window.starts_at)}</th>
              <td>{absoluteTime(window.ends_at)}</td>
              <td>{windowState(window, nowMs)}</td>
            </tr>
          ))}
        </SmallTable>
      </details>
    </>
  );
}

interface ChangeProps extends RowProps {
  close(): void;
}

/** Updates the model of a fleet; shows beforehand which of its robots cannot run it. */
function UpdateModel({ row, close }: ChangeProps) {
  const { fleet, details } = row;
  const subject = useSubjectField("subject");
  const robots = useExisting(details?.members ?? NO_MEMBERS);
  return (
    <FormDialog<FleetView>
      title={`Update the model of ${fleet.name}`}
      verb="Update model"
      fields={() => [subject]}
      requestOf={(data) => changeOfModel(fleet, entered(data, "subject"))}
      topics={["fleets"]}
      done={(updated, data) => {
        showToast(updateOutcome(updated, entered(data, "subject"), fleet));
        close();
      }}
      close={close}
      below={(data) => <Preview robots={robots} subject={entered(data, "subject")} />}
    >
      <Consequences texts={updateConsequences(row)} />
    </FormDialog>
  );
}

const NO_MEMBERS: readonly FleetMemberView[] = [];

function changeOfModel({ id }: FleetView, subject: string) {
  return { method: "POST", path: `${apiPath(id)}/model`, body: { subject } } as const;
}

function Consequences({ texts }: { readonly texts: readonly string[] }) {
  return <p>{texts.join(" ")}</p>;
}

function Preview({ robots, subject }: { readonly robots: readonly string[]; readonly subject: string }) {
  const preview = usePreview(subject === "" || robots.length === 0 ? null : { robots, subject });
  return (
    <div class="preview-box">
      <PreviewList preview={preview} hint="Choose a model to see which robots of the fleet can run it." />
    </div>
  );
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

interface RollBackProps {
  readonly fleet: FleetView;
  readonly details: FleetDetails;
  close(): void;
}

/** Goes back to the model of the generation before, or ends an update in progress. */
function RollBack({ fleet, details, close }: RollBackProps) {
  const models = useModels();
  const earlier = earlierGeneration(fleet, details);
  const subject =
    earlier === null
      ? ""
      : subjectOf(
          earlier,
          models.value?.models.find(({ slug }) => slug === earlier.subject),
        );
  return (
    <FormDialog<FleetView>
      title={`Roll ${fleet.name} back?`}
      verb="Roll back"
      isReady={earlier !== null && models.state !== "loading"}
      requestOf={() => changeOfModel(fleet, subject)}
      topics={["fleets"]}
      done={(updated) => {
        showToast(updateOutcome(updated, subject, fleet));
        close();
      }}
      close={close}
    >
      <Consequences texts={earlier === null ? [] : rollbackConsequences(fleet, earlier)} />
    </FormDialog>
  );
}

/** Selects the members of a fleet again; shows beforehand who joins and who leaves. */
function ReconcileFleet({ row: { fleet }, close }: ChangeProps) {
  const { id, name } = fleet;
  const changes = useMemberChanges(id);
  const { joining = [], leaving = [] } = changes.value ?? {};
  return (
    <ChangeDialog
      title={`Reconcile the members of ${name}`}
      verb="Reconcile"
      isReady={joining.length + leaving.length > 0}
      request={{ method: "POST", path: `${apiPath(id)}/reconcile` }}
      topics={["fleets"]}
      done={`The members of ${name} are reconciled.`}
      close={close}
    >
      <p>
        A fleet with a selector takes the robots that match it now, once. Robots that were removed leave, and so do
        those that do not match any more.
      </p>
      <Loaded data={changes} what="who would join and leave" lines={3}>
        {(value) => <MemberChanges changes={memberChanges(value, fleet)} />}
      </Loaded>
    </ChangeDialog>
  );
}

function MemberChanges({ changes: { groups, after } }: { readonly changes: ReturnType<typeof memberChanges> }) {
  if (groups.length === 0) return <p role="status">The fleet has these members already.</p>;
  return (
    <div class="preview-box">
      {groups.map(({ title, robots }) => (
        <div key={title}>
          <p class="group-head">
            <b>{title}</b>
          </p>
          <RobotNames robots={robots} opensElsewhere />
        </div>
      ))}
      <p role="status">{after}</p>
    </div>
  );
}

/** Deletes a fleet; its robots stay. */
function RemoveFleet({ row: { fleet }, close }: ChangeProps) {
  const { id, name } = fleet;
  return (
    <ChangeDialog
      title={`Delete ${name}?`}
      verb="Delete fleet"
      isDangerous
      request={{ method: "DELETE", path: apiPath(id) }}
      topics={["fleets", "deployments"]}
      done={`${name} is deleted.`}
      next="/fleets"
      close={close}
    >
      <p>{removeConsequences(fleet)}</p>
    </ChangeDialog>
  );
}
