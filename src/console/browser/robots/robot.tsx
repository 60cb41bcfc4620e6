import { useState } from "preact/hooks";
import type * as z from "zod";

import type { DeploymentView } from "../../../api/deployments.ts";
import type { regionListSchema } from "../../../api/endpoints.ts";
import type { RegistrationRecord, RegistrationView } from "../../../api/registrations.ts";
import type { IdentifiedRobotView } from "../../../api/robot-views.ts";
import { computerNeed } from "../../../views/computers.ts";
import { changeText } from "../../../views/differences.ts";
import {
  presenceOf,
  REGISTRATIONS,
  removalOf,
  renamingOf,
  robotFacts,
  robotNeeds,
  type ShownRobot,
} from "../../../views/robots.ts";
import { type Column, exact, type Shown as Value } from "../../../views/view.ts";
import { useData, areSettled } from "../data/query.ts";
import { deployment, useDeploymentOf } from "../deployments/deploy.tsx";
import { type Change, typedField } from "../parts/form/change.tsx";
import { entered, Field, type FieldSpec } from "../parts/form/fields.tsx";
import { Loaded, Missing } from "../parts/loaded.tsx";
import { Section } from "../parts/page.tsx";
import { useNow } from "../parts/relative-time.tsx";
import { ResourcePage } from "../parts/resource-page.tsx";
import { Needs, ShownFacts, ShownTable } from "../parts/shown.tsx";
import { StatusBadge } from "../parts/status-badge.tsx";
import { navigate, type PageParameters } from "../router.ts";
import { Computer } from "./computer.tsx";
import { ContractView } from "./contract-view.tsx";
import { apiPath, differencesPath, robotPath, useInstallation } from "./data.ts";

/** `/robots/NAME`: one robot, with its registration and history. */
export function Robot({ name }: PageParameters) {
  const path = apiPath(name);
  const robot = useData<IdentifiedRobotView>(path, ["robots", "fleets"]);
  const registration = useData<RegistrationView>(`${path}/registration`, ["robots"]);
  const history = useData<{ readonly items: readonly RegistrationRecord[] }>(`${path}/history`, ["robots"]);
  const isSettled = areSettled([robot, registration, history]);
  const current = useDeploymentOf(robot.value?.id ?? null).value?.items[0];
  return (
    <ResourcePage
      data={robot}
      section="robots"
      noun="robot"
      title={name}
      titleOf={(view) => view.name}
      badgeOf={(view) => <Badge robot={view} />}
      changesOf={(view) => [deployment({ robot: view.name }), renaming(view), removal(view, current)]}
      lines={12}
      isSettled={isSettled}
      missing={<Missing text="No robot of this organization has this name or id." list="robots" />}
    >
      {(view) => (
        <>
          <State view={view} registration={registration.value ?? null} />
          <Computer robot={view} />
          <Section title="Contract">
            <Loaded data={registration} what="the contract of this robot" lines={6}>
              {({ contract }) => <ContractView contract={contract} />}
            </Loaded>
          </Section>
          <Section title="History" note="Newest first">
            <Loaded data={history} what="the history of this robot" lines={4}>
              {({ items }) => <History robot={view} records={items} />}
            </Loaded>
          </Section>
          <Section title="Comparison">
            <CompareWith robot={view} />
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

/** What the robot needs, what it is registered as, what it runs, and its fleets. */
function State(known: Pick<ShownRobot, "view" | "registration">) {
  const { view } = known;
  const nowMs = useNow();
  const regions = useData<z.output<typeof regionListSchema>>("/v1/regions", ["models"]).value?.regions ?? [];
  const installation = useInstallation(view).value;
  const ofComputer = installation === undefined ? null : computerNeed(installation, nowMs);
  const deployments = useDeploymentOf(view.id);
  const running = deployments.state === "failed" ? "hidden" : deployments.value && (deployments.value.items[0] ?? null);
  const deployment = running === "hidden" ? undefined : running;
  const needs = [...(ofComputer === null ? [] : [ofComputer]), ...robotNeeds({ ...known, deployment })];
  return (
    <>
      <Needs needs={needs} />
      <Section title="Registration">
        <ShownFacts facts={[...robotFacts({ ...known, deployment: running }, regions), ["id", exact(view.id)]]} />
      </Section>
    </>
  );
}

interface HistoryProps {
  readonly robot: IdentifiedRobotView;
  readonly records: readonly RegistrationRecord[];
}

function History({ robot: { name, id }, records }: HistoryProps) {
  if (records.length === 0) {
    return <p class="muted">The service keeps no records this old. The next registration will be the first here.</p>;
  }
  const changed: Column<RegistrationRecord> = { name: "changed", show: (record) => changeLink(record, name, id) };
  const columns = REGISTRATIONS.map((column) => (column.name === changed.name ? changed : column));
  return <ShownTable label="History of registrations" columns={columns} rows={records} />;
}

/** What the registration changed, with a link to the differences; the oldest has none before it. */
function changeLink(record: RegistrationRecord, name: string, id: string): Value {
  const text = changeText(record);
  if (record.changed === null) return text;
  return {
    kind: "links",
    links: [{ text, path: differencesPath(name, id, { registration: record.registration_id }) }],
  };
}

/** Chooses another robot. All robots are asked for once the field is used. */
function CompareWith({ robot: { name, id } }: { readonly robot: IdentifiedRobotView }) {
  const [isUsed, setUsed] = useState(false);
  const robots = useData<readonly IdentifiedRobotView[]>(isUsed ? "/v1/robots" : null, ["robots"]).value ?? [];
  const others = robots.filter((robot) => robot.id !== id);
  return (
    <form
      class="filters"
      onFocusIn={() => setUsed(true)}
      onSubmit={(event) => {
        event.preventDefault();
        const against = entered(new FormData(event.currentTarget), "against");
        if (against !== "") navigate(differencesPath(name, id, { against }));
      }}
    >
      <Field
        name="against"
        label="Compare with"
        input={{ required: true, placeholder: "Another robot" }}
        options={others.map((robot) => ({ value: robot.name, word: robot.name }))}
      />
      <button type="submit" class="button">
        Compare
      </button>
    </form>
  );
}

const NAME: FieldSpec = {
  name: "name",
  label: "New name",
  hint: "Lower-case letters, digits and hyphens.",
  input: { required: true, maxLength: 64, autofocus: true },
};

function renaming(robot: IdentifiedRobotView): Change<IdentifiedRobotView> {
  return {
    scope: "robots:write",
    word: "Rename",
    title: `Rename ${robot.name}?`,
    body: <p>{renamingOf(robot).join(" ")}</p>,
    initial: { name: robot.name },
    useForm: () => ({ fields: [NAME] }),
    requestOf: (data) => ({ method: "PATCH", path: apiPath(robot.id), body: { name: entered(data, "name") } }),
    topics: ["robots", "fleets", "deployments"],
    made: ({ id, name }) => ({ said: `${robot.name} is ${name} now.`, next: robotPath(name, id) }),
  };
}

/** Says what ends with the robot, and asks to type its name. */
function removal(robot: IdentifiedRobotView, current: DeploymentView | undefined): Change {
  const { id, name } = robot;
  return {
    scope: "robots:write",
    word: "Remove",
    kind: "danger",
    title: `Remove ${name}?`,
    verb: "Remove robot",
    body: (
      <ul class="stops">
        {removalOf(robot, current).map((sentence) => (
          <li key={sentence}>{sentence}</li>
        ))}
      </ul>
    ),
    useForm: () => ({ fields: [typedField(name)] }),
    requestOf: () => ({ method: "DELETE", path: apiPath(id) }),
    topics: ["robots", "fleets", "deployments"],
    made: () => ({ said: `${name} is removed.`, next: "/robots" }),
  };
}
