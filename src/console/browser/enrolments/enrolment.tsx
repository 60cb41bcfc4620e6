import type { EnrolmentView } from "../../../api/enrolments.ts";
import type { RegistrationView } from "../../../api/registrations.ts";
import type { IdentifiedRobotView } from "../../../api/robot-views.ts";
import { ENROLL_COMMAND } from "../../../views/computers.ts";
import { DIFFERENCES, enrolledName, enrolmentDifferences, ENROLMENTS } from "../../../views/enrolments.ts";
import { request } from "../data/request.ts";
import { useData, useQuery } from "../data/query.ts";
import { mayDo } from "../data/session.ts";
import { type Change, ChangeButton, ChangeForm, TYPED, typedField } from "../parts/form/change.tsx";
import { entered, type FieldSpec } from "../parts/form/fields.tsx";
import { Loaded } from "../parts/loaded.tsx";
import { Notice } from "../parts/notice.tsx";
import { Page, Section } from "../parts/page.tsx";
import { RelativeTime, useIsPast } from "../parts/relative-time.tsx";
import { ShownFacts, ShownTable } from "../parts/shown.tsx";
import { robotPath } from "../robots/data.ts";
import type { PageParameters } from "../router.ts";

/** `/enrolments/CODE`: who asks, what an approval changes, and the buttons to approve and deny it. */
export function Enrolment({ name: code }: PageParameters) {
  // Not fetched again by itself: a code that is wrong or has ended counts as a guess.
  const enrolment = useData<EnrolmentView>(`/v1/robot-enrollments/${encodeURIComponent(code)}`, []);
  return (
    <Page title={`Code ${enrolment.value?.user_code ?? code}`} up={{ text: "Enrolments", path: "/enrolments" }}>
      <Loaded
        data={enrolment}
        what="this enrolment"
        lines={8}
        missing={<Over why="No enrolment waits with this code." />}
      >
        {(view) => <Waiting enrolment={view} />}
      </Loaded>
    </Page>
  );
}

function Waiting({ enrolment }: { readonly enrolment: EnrolmentView }) {
  if (useIsPast(enrolment.expires_at)) return <Over why="Expired. Nothing was approved." />;
  return (
    <div class="sections">
      <Section title="Who asks" note="Compare the code and the key with what the robot shows">
        <ShownFacts facts={ENROLMENTS.factsOf(enrolment)} />
      </Section>
      {mayDo("robots:write") ? (
        <Section title="Approve as">
          <ChangeForm change={approval(enrolment)}>
            <ChangeButton change={denial(enrolment)} />
          </ChangeForm>
        </Section>
      ) : (
        <Notice tone="blocked" title="Your key cannot approve this.">
          <p>It lacks the scope robots:write.</p>
        </Notice>
      )}
    </div>
  );
}

/** There is nothing to decide. */
function Over({ why }: { readonly why: string }) {
  return (
    <p role="status">
      {why} To begin again, run <code>{ENROLL_COMMAND}</code> on the robot. <a href="/enrolments">See all enrolments</a>
    </p>
  );
}

/** What an approval changes. */
export const APPROVAL_TOPICS = ["enrolments", "robots", "fleets"] as const;

/** Approves with name, region and site as they are corrected; asks to type the name of a robot that loses its computer. */
function approval(enrolment: EnrolmentView): Change<{ readonly requested_name: string }> {
  const { requested_name: requestedName, region: ownRegion, site: ownSite, user_code: code } = enrolment;
  return {
    scope: "robots:write",
    word: "Approve",
    title: `Approve ${code}`,
    initial: { name: enrolledName(requestedName), region: ownRegion ?? "", site: ownSite ?? "" },
    useForm(data) {
      const name = enrolledName(entered(data, "name"));
      const region = entered(data, "region").toLowerCase();
      const site = entered(data, "site") || ownSite;
      const { robot, digest } = useTarget(name);
      const hint = useRegionHint(region);
      const isOnline = isKnown(robot) && robot.status === "online";
      const differences = isKnown(robot) ? enrolmentDifferences({ ...enrolment, site }, robot, region, digest) : [];
      return {
        fields: [
          ...fieldsFor(hint),
          ...(isOnline ? [typedField(robot.name, `Type ${robot.name} to replace its computer`)] : []),
        ],
        below: <TargetNotice robot={robot} name={name} differences={differences} />,
        verb: isOnline ? "Replace its computer" : "Approve",
        isDangerous: isOnline,
      };
    },
    requestOf: (data) => ({
      method: "POST",
      path: "/v1/robots/approve",
      body: {
        user_code: code,
        name: entered(data, "name"),
        region: entered(data, "region"),
        site: entered(data, "site"),
        ...(data.has(TYPED) ? { confirm_replace: true } : {}),
      },
    }),
    topics: APPROVAL_TOPICS,
    made: ({ requested_name: name }) => ({
      said: `${name} is approved: its computer gets its credential within seconds.`,
      next: "/enrolments",
    }),
  };
}

function denial({ user_code: code, requested_name: name }: EnrolmentView): Change {
  return {
    scope: "robots:write",
    word: "Deny",
    title: `Deny ${code}?`,
    body: <p>The computer that asks to be {name} is told so.</p>,
    requestOf: () => ({ method: "POST", path: "/v1/robots/deny", body: { user_code: code } }),
    topics: APPROVAL_TOPICS,
    made: () => ({ said: `${code} is denied.`, next: "/enrolments" }),
  };
}

function fieldsFor(regionHint: string): readonly FieldSpec[] {
  return [
    {
      name: "name",
      label: "Name of the robot",
      hint: "Lower-case letters, digits and hyphens.",
      input: { required: true, maxLength: 64 },
    },
    { name: "region", label: "Region", hint: regionHint, input: { required: true } },
    {
      name: "site",
      label: "Site",
      hint: "Fleets select robots by it. A site in the robot's own configuration counts more.",
      input: { maxLength: 128 },
    },
  ];
}

/** A robot may be in any region, but no model serves it in one without an endpoint. */
function useRegionHint(region: string): string {
  const regions = useData<{ readonly regions: readonly string[] }>("/v1/regions", ["models"]).value?.regions ?? [];
  return region === "" || regions.length === 0 || regions.includes(region)
    ? "The cloud region nearest to the robot."
    : `No endpoint is in the region ${region}; they are in ${regions.join(", ")}.`;
}

/** The robot whose place a computer takes: null for a new robot; undefined while it is looked up; "hidden" if that fails, as for a key that may not see robots. */
type Target = IdentifiedRobotView | null | undefined | "hidden";

const TYPING_MS = 300;

/** The robot of the name that was typed, and the digest that it registered last. */
function useTarget(name: string): { readonly robot: Target; readonly digest: string | null } {
  const path = `/v1/robots/${encodeURIComponent(name)}`;
  const isName = name !== "" && !/^\.+$/.test(name);
  const ask = (signal: AbortSignal) => request<IdentifiedRobotView>("GET", path, { signal });
  const robot = useQuery(isName ? { key: path, ask, topics: ["robots"] } : null, TYPING_MS);
  // The operation accepts ids too, but the name is never meant as an id.
  const isThere = robot.state === "ready" && !robot.isPrevious && robot.value.name === name;
  const registration = useData<RegistrationView>(isThere ? `${path}/registration` : null, ["robots"]);
  if (robot.state === "failed") return { robot: robot.problem.kind === "missing" ? null : "hidden", digest: null };
  if (robot.state === "loading" || robot.isPrevious) return { robot: undefined, digest: null };
  const isOwn = registration.state === "ready" && !registration.isPrevious;
  return { robot: isThere ? robot.value : null, digest: isOwn ? registration.value.configuration_digest : null };
}

function isKnown(robot: Target): robot is IdentifiedRobotView {
  return robot !== null && robot !== undefined && robot !== "hidden";
}

interface TargetNoticeProps {
  readonly robot: Target;
  readonly name: string;
  readonly differences: ReturnType<typeof enrolmentDifferences>;
}

/** Whether a robot of the name exists and is online, and what the approval changes of it. */
function TargetNotice({ robot, name, differences }: TargetNoticeProps) {
  if (name === "") return null;
  if (robot === undefined) return <Notice tone="waiting" title={`Looking for a robot ${name}…`} />;
  if (robot === "hidden")
    return <Notice tone="waiting" title={`The page cannot tell whether a robot ${name} exists.`} />;
  if (robot === null) return <Notice tone="active" title={`This adds the robot ${name}.`} />;
  const isOnline = robot.status === "online";
  return (
    <Notice
      tone={isOnline ? "blocked" : "degraded"}
      title={isOnline ? `${robot.name} is online on another computer.` : `The robot ${robot.name} exists.`}
    >
      <p>
        <a href={robotPath(robot.name, robot.id)} target="_blank">
          {robot.name}
        </a>{" "}
        keeps its id, history and fleets.{" "}
        {robot.installation_id === null ? (
          "No computer is enrolled as it."
        ) : (
          <>
            Its computer, last seen <RelativeTime at={robot.last_seen_at} />, works until the new one has its
            credential; from then on every request of the old one is refused.
          </>
        )}
      </p>
      {differences.length === 0 ? null : (
        <ShownTable
          label="What the new computer says differs from the registration"
          columns={DIFFERENCES}
          rows={differences}
        />
      )}
    </Notice>
  );
}
