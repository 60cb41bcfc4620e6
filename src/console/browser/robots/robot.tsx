import { useState } from "preact/hooks";
import type * as z from "zod";

import type { regionListSchema } from "../../../api/endpoints.ts";
import type { RefusalView } from "../../../api/refusals.ts";
import type { RegistrationRecord, RegistrationView } from "../../../api/registrations.ts";
import type { RobotView } from "../../../api/robot-views.ts";
import { contestInWords, refusedSince } from "../../../api/words/audit.ts";
import { failureOf } from "../../../api/words/deployment-failures.ts";
import { Refusals, useRefusals } from "../audit/refusals.tsx";
import { sentence } from "../data/request.ts";
import { mayDo } from "../data/session.ts";
import type { Data } from "../data/use-data.ts";
import { useData } from "../data/use-data.ts";
import { useSettled } from "../data/use-settled.ts";
import { deploymentPath, isCurrent, useDeployments } from "../deployments/data.ts";
import { DeployDialog } from "../deployments/new.tsx";
import { CopyButton } from "../parts/copy-button.tsx";
import { DigestChip } from "../parts/digest-chip.tsx";
import { Labels } from "../parts/labels.tsx";
import { Loaded } from "../parts/loaded.tsx";
import { Notice } from "../parts/notice.tsx";
import { Facts, Page, Section } from "../parts/page.tsx";
import { RelativeTime } from "../parts/relative-time.tsx";
import { Skeleton } from "../parts/skeleton.tsx";
import { SmallTable } from "../parts/table/small-table.tsx";
import { listed } from "../parts/text.ts";
import type { PageParameters } from "../router.ts";
import { ContractView } from "./contract-view.tsx";

/** `/robots/NAME`: one robot, with its registration and history. */
export function Robot({ name }: PageParameters) {
  const path = `/v1/robots/${encodeURIComponent(name)}`;
  const robot = useData<RobotView>(path, ["robots"]);
  const registration = useData<RegistrationView>(`${path}/registration`, ["robots"]);
  const history = useData<{ readonly items: readonly RegistrationRecord[] }>(`${path}/history`, ["robots"]);
  const refusals = useRefusals(name);
  const isSettled = useSettled([robot, registration, history, refusals]);
  const known = registration.state === "ready" ? registration.value : null;
  const refused =
    refusals.state === "ready" ? refusedSince(refusals.value.items, known?.registered_at ?? null) : NO_REFUSALS;
  const [isDeploying, setDeploying] = useState(false);
  const title = robot.state === "ready" ? robot.value.name : name;
  return (
    <Page
      title={title}
      up={{ href: "/robots", word: "Robots" }}
      actions={
        robot.state === "ready" && mayDo("deployments:write") ? (
          <button type="button" class="button" onClick={() => setDeploying(true)}>
            Deploy
          </button>
        ) : undefined
      }
    >
      {robot.state === "failed" && robot.problem.kind === "missing" ? (
        <>
          <p>
            No robot of this organization has this name or id. <a href="/robots">See all robots</a>
          </p>
          {refused.length === 0 ? null : (
            <Section title="Refused registrations" note="Newest first">
              <Refusals refusals={refused} />
            </Section>
          )}
        </>
      ) : !isSettled ? (
        <Skeleton lines={12} what="this robot" />
      ) : (
        <div class="sections">
          {known === null ? null : <Contest registration={known} />}
          {refused.length === 0 ? null : (
            <Section title="Refused since the last registration" note="Newest first">
              <Refusals refusals={refused} />
            </Section>
          )}
          <Section title="Registration">
            <Loaded data={robot} what="this robot" lines={4}>
              {(view) => <Registration robot={view} registration={registration} />}
            </Loaded>
          </Section>
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
        </div>
      )}
      {isDeploying ? <DeployDialog robot={title} close={() => setDeploying(false)} /> : null}
    </Page>
  );
}

type RegionList = z.output<typeof regionListSchema>;

const NO_REFUSALS: readonly RefusalView[] = [];

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
  readonly robot: RobotView;
  readonly registration: Data<RegistrationView>;
}

function Registration({ robot, registration }: RegistrationProps) {
  const known = registration.state === "ready" ? registration.value : null;
  return (
    <Facts
      facts={[
        ["Type", robot.robot_type_id],
        ["Runs", <Running robot={robot} />],
        ["Site", robot.site],
        ["Region", <Region robot={robot} />],
        ["Configuration digest", known === null ? null : <DigestChip digest={known.configuration_digest} />],
        ["Last changed", <RelativeTime at={known?.changed_at} />],
        ["Last registered", <RelativeTime at={known?.registered_at} />],
        ["First registered", <RelativeTime at={robot.created_at} />],
        [
          "Id",
          <span class="chip">
            <span class="mono cut">{robot.id}</span>
            <CopyButton text={robot.id} what="id" />
          </span>,
        ],
        ["Labels", <Labels labels={robot.labels} isWhole />],
      ]}
    />
  );
}

/** Models serve a robot only if they have an endpoint in its region. */
function Region({ robot: { region } }: Pick<RegistrationProps, "robot">) {
  const regions = useData<RegionList>("/v1/regions", ["models"]);
  const known = regions.state === "ready" ? regions.value.regions : [];
  if (known.length === 0 || known.includes(region)) return <>{region}</>;
  return (
    <>
      {region} <span class="muted">(no endpoint in this region)</span>
    </>
  );
}

/** The robot's current deployment. */
function Running({ robot: { id } }: Pick<RegistrationProps, "robot">) {
  const deployments = useDeployments();
  if (deployments.state === "failed") return <span class="muted">{sentence(deployments.problem.detail)}</span>;
  if (deployments.state === "loading") return <span class="muted">…</span>;
  const current = deployments.value.items.find((each) => each.robot_id === id && isCurrent(each));
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
  site: "site",
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

function changeText({ changed, robot_type_id: robotTypeId, region, site }: RegistrationRecord) {
  if (changed === null) return "First registration on record";
  if (changed.length === 0) return <span class="muted">Nothing; registered again</span>;
  const values: Readonly<Record<string, string | null>> = { robot_type_id: robotTypeId, region, site };
  const words = changed.map((member) => {
    const word = MEMBERS[member] ?? member;
    const value = values[member];
    return value === undefined || value === null ? word : `${word} (now ${value})`;
  });
  const text = listed(words);
  return text.charAt(0).toUpperCase() + text.slice(1);
}
