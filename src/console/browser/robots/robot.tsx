import type * as z from "zod";

import type { regionListSchema } from "../../../api/endpoints.ts";
import type { RefusalView, RegistrationRecord, RegistrationView } from "../../../api/registrations.ts";
import { eachOf, ROBOT_TEXT_NAMES } from "../../../api/robot-texts.ts";
import type { IdentifiedRobotView } from "../../../api/robot-views.ts";
import { contestInWords, refusalInWords } from "../../../api/words/audit.ts";
import { failureOf } from "../../../views/deployments.ts";
import { presenceOf } from "../../../api/words/presence.ts";
import { sentence } from "../data/request.ts";
import { useData, useSettled } from "../data/query.ts";
import { DeployDialog, deploymentPath, useDeploymentOf } from "../deployments/deploy.tsx";
import { CopyableText, DigestChip } from "../parts/copy-button.tsx";
import { DialogButton } from "../parts/form/dialog-button.tsx";
import { ChangeDialog } from "../parts/form/form-dialog.tsx";
import { Labels } from "../parts/labels.tsx";
import { Loaded, Missing } from "../parts/loaded.tsx";
import { Notice } from "../parts/notice.tsx";
import { Facts, Section } from "../parts/page.tsx";
import { RelativeTime } from "../parts/relative-time.tsx";
import { ResourcePage } from "../parts/resource-page.tsx";
import { StatusBadge } from "../parts/status-badge.tsx";
import { SmallTable } from "../parts/table/table.tsx";
import { capitalized, listed, withSpaces } from "../parts/text.ts";
import type { PageParameters } from "../router.ts";
import { Computer } from "./computer.tsx";
import { ContractView } from "./contract-view.tsx";
import { useInstallation } from "./data.ts";

/** `/robots/NAME`: one robot, with its registration and history. */
export function Robot({ name }: PageParameters) {
  const path = `/v1/robots/${encodeURIComponent(name)}`;
  const robot = useData<IdentifiedRobotView>(path, ["robots"]);
  const registration = useData<RegistrationView>(`${path}/registration`, ["robots"]);
  const history = useData<{ readonly items: readonly RegistrationRecord[] }>(`${path}/history`, ["robots"]);
  const isSettled = useSettled([robot, registration, history]);
  const known = registration.value ?? null;
  return (
    <ResourcePage
      data={robot}
      section="robots"
      noun="robot"
      title={name}
      titleOf={(view) => view.name}
      badgeOf={(view) => <Badge robot={view} />}
      actionsOf={(view) => (
        <>
          <DialogButton scope="deployments:write" word="Deploy">
            {(close) => <DeployDialog robot={view.name} close={close} />}
          </DialogButton>
          <DialogButton scope="robots:write" word="Remove" kind="danger">
            {(close) => <RemoveRobot robot={view} close={close} />}
          </DialogButton>
        </>
      )}
      lines={12}
      isSettled={isSettled}
      missing={<Missing text="No robot of this organization has this name or id." list="robots" />}
    >
      {(view) => (
        <>
          {presenceOf(view) === "not_ready" ? <NotReady robot={view} /> : null}
          {known === null ? null : <Contest registration={known} />}
          {known === null || known.last_refusal === null ? null : <Refused refusal={known.last_refusal} />}
          <Section title="Registration">
            <Registration robot={view} registration={known} />
          </Section>
          <Computer robot={view} />
          <Section title="Contract">
            <Loaded data={registration} what="the contract of this robot" lines={6}>
              {({ contract }) => <ContractView contract={contract} />}
            </Loaded>
          </Section>
          <Section title="History" note="Newest first">
            <Loaded data={history} what="the history of this robot" lines={4}>
              {({ items }) => <History records={items} />}
            </Loaded>
          </Section>
        </>
      )}
    </ResourcePage>
  );
}

function Badge({ robot }: { readonly robot: IdentifiedRobotView }) {
  const isFrozen = useInstallation(robot).value?.state === "frozen";
  const presence = presenceOf(robot);
  return presence === null ? null : <StatusBadge status={isFrozen ? "frozen" : presence} />;
}

/** What the robot's computer says in its heartbeats. */
function NotReady({ robot: { not_ready_reason: reason } }: { readonly robot: IdentifiedRobotView }) {
  return (
    <Notice tone="degraded" title="This robot cannot register.">
      <p>{reason === null ? "It does not say why." : sentence(reason)} Its last registration stays.</p>
    </Notice>
  );
}

function Refused({ refusal }: { readonly refusal: RefusalView }) {
  const { at, actor, address } = refusal;
  return (
    <Notice tone="degraded" title="The newest registration was refused.">
      <p>
        <RelativeTime at={at} />, from {address} ({actor.label ?? actor.id}): {refusalInWords(refusal)}. The last
        accepted one stays.
      </p>
    </Notice>
  );
}

/** While computers register one name in turn, the page alternates between them. */
function Contest({ registration }: { readonly registration: RegistrationView }) {
  const contest = contestInWords(registration);
  if (contest === null) return null;
  return (
    <Notice tone="degraded" title={sentence(contest.what)}>
      <p>
        Since <RelativeTime at={registration.contested_since} />, from {contest.from}. {sentence(contest.remedy)}
      </p>
    </Notice>
  );
}

interface RegistrationProps {
  readonly robot: IdentifiedRobotView;
  /** Null before it is loaded. */
  readonly registration: RegistrationView | null;
}

function Registration({ robot, registration }: RegistrationProps) {
  const digest = registration?.configuration_digest;
  return (
    <Facts
      facts={[
        ["Type", robot.robot_type_id],
        ["Runs", <Running robot={robot} />],
        ...ROBOT_TEXT_NAMES.map((text) => [capitalized(withSpaces(text)), robot[text]] as const),
        ["Region", <Region robot={robot} />],
        ["Configuration digest", digest === undefined ? null : <DigestChip digest={digest} />],
        ["Last changed", <RelativeTime at={registration?.changed_at} />],
        ["Last registered", <RelativeTime at={registration?.registered_at} />],
        ["First registered", <RelativeTime at={robot.created_at} />],
        ["Id", <CopyableText text={robot.id} what="id" />],
        ["Labels", <Labels labels={robot.labels} isWhole />],
      ]}
    />
  );
}

/** Models serve a robot only if they have an endpoint in its region. */
function Region({ robot: { region } }: Pick<RegistrationProps, "robot">) {
  const known = useData<z.output<typeof regionListSchema>>("/v1/regions", ["models"]).value?.regions ?? [];
  if (known.length === 0 || known.includes(region)) return <>{region}</>;
  return (
    <>
      {region} <span class="muted">(no endpoint in this region)</span>
    </>
  );
}

/** The robot's current deployment. */
function Running({ robot: { id } }: Pick<RegistrationProps, "robot">) {
  const deployments = useDeploymentOf(id);
  if (deployments.state === "failed") return <span class="muted">{sentence(deployments.problem.detail)}</span>;
  if (deployments.state === "loading") return <span class="muted">…</span>;
  const [current] = deployments.value.items;
  if (current === undefined) return <span class="muted">nothing</span>;
  const failure = failureOf(current);
  return (
    <>
      <a href={deploymentPath(current.id)}>
        {current.model ?? current.subject_id} ({current.status})
      </a>
      {failure === null ? null : <span class="second-line">{failure.what}</span>}
    </>
  );
}

/** Members of a registration, in words. */
const MEMBERS: Readonly<Record<string, string>> = {
  configuration_digest: "configuration files",
  robot_type_id: "type",
  region: "region",
  ...eachOf(ROBOT_TEXT_NAMES, withSpaces),
  labels: "labels",
  contract: "contract",
};

function History({ records }: { readonly records: readonly RegistrationRecord[] }) {
  if (records.length === 0) {
    return <p class="muted">The service keeps no records this old. The next registration will be the first here.</p>;
  }
  return (
    <SmallTable label="History of registrations" heads={["When", "What changed", "Digest", "By", "From"]}>
      {records.map((record, index) => (
        <tr key={record.at + index}>
          <th scope="row">
            <RelativeTime at={record.at} />
          </th>
          <td>
            {changeText(record)}
            {record.contested ? " (contested)" : null}
          </td>
          <td>
            <DigestChip digest={record.configuration_digest} />
          </td>
          <td title={record.actor.id}>{record.actor.label ?? record.actor.id}</td>
          <td>{record.address}</td>
        </tr>
      ))}
    </SmallTable>
  );
}

function changeText(record: RegistrationRecord) {
  const { changed, robot_type_id: robotTypeId, region } = record;
  if (changed === null) return "First registration on record";
  if (changed.length === 0) return <span class="muted">Nothing; registered again</span>;
  const values: Readonly<Record<string, string | null>> = {
    robot_type_id: robotTypeId,
    region,
    ...eachOf(ROBOT_TEXT_NAMES, (text) => record[text]),
  };
  const words = changed.map((member) => {
    const word = MEMBERS[member] ?? member;
    const value = values[member];
    return value === undefined || value === null ? word : `${word} (now ${value})`;
  });
  return capitalized(listed(words));
}

interface RemoveRobotProps {
  readonly robot: IdentifiedRobotView;
  close(): void;
}

/** Removes a robot; says what ends with it, and asks to type its name. */
function RemoveRobot({ robot: { id, name, installation_id: installationId }, close }: RemoveRobotProps) {
  const current = useDeploymentOf(id).value?.items[0];
  return (
    <ChangeDialog
      title={`Remove ${name}?`}
      verb="Remove robot"
      isDangerous
      nameToType={name}
      request={{ method: "DELETE", path: `/v1/robots/${encodeURIComponent(id)}` }}
      topics={["robots", "fleets", "deployments"]}
      done={`${name} is removed.`}
      next="/robots"
      close={close}
    >
      <ul class="stops">
        {installationId === null ? null : <li>Its computer loses its credential.</li>}
        {current === undefined ? null : (
          <li>{current.model ?? "Its model"} does not serve it any more: its deployment is retired.</li>
        )}
        <li>Fleets keep it as a member that is blocked.</li>
        <li>Its history and usage stay, and its name is free for another robot.</li>
      </ul>
    </ChangeDialog>
  );
}
