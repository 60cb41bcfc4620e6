/** Which robots can run a model, wherever one is chosen, and the lists of robots that pages of fleets show. */
import { counted, type Tone } from "../../../views/view.ts";
import type { FleetPreviewed, PreviewedRobot } from "../../../api/fleet-details.ts";
import { FIT_STATES, fitGroups, fitText } from "../../../views/fleets.ts";
import { type Outcome, type Problem, request } from "../data/request.ts";
import { type Data, useQuery } from "../data/query.ts";
import { formErrors } from "../parts/form/form-errors.ts";
import { Sentence } from "../parts/relative-time.tsx";
import { StatusBadge } from "../parts/status-badge.tsx";
import { compareTexts, number } from "../parts/text.ts";
import { robotPath } from "../robots/data.ts";

export interface PreviewBody {
  readonly robots?: readonly string[];
  readonly selector?: Readonly<Record<string, unknown>>;
  readonly subject?: string;
}

/** Debounce after the last change of the form. */
const DELAY_MS = 250;
/** Most robots in one request (SELECTION_ROBOTS_COUNT of src/api/fleets.ts). */
const ROBOTS_AT_ONCE = 1000;

async function askPreview(body: PreviewBody, signal: AbortSignal): Promise<Outcome<FleetPreviewed>> {
  const robots: PreviewedRobot[] = [];
  const named = body.robots ?? [];
  for (let asked = 0; asked === 0 || asked < named.length; asked += ROBOTS_AT_ONCE) {
    const part = named.length === 0 ? body : { ...body, robots: named.slice(asked, asked + ROBOTS_AT_ONCE) };
    const outcome = await request<FleetPreviewed>("POST", "/v1/fleets/preview", { body: part, signal });
    if (outcome.state !== "answered") return outcome;
    robots.push(...outcome.value.robots);
  }
  return { state: "answered", value: { robots, total: robots.length } };
}

interface PreviewProps {
  /** Null while nothing is chosen. */
  readonly body: PreviewBody | null;
  /** Shown while nothing is chosen. */
  readonly hint?: string;
}

/** Which robots a selection matches, and whether they can run the model; those that cannot come first. */
export function Preview({ body, hint = "" }: PreviewProps) {
  const ask = (signal: AbortSignal) => askPreview(body ?? {}, signal);
  const key = `preview ${JSON.stringify(body)}`;
  const preview = useQuery(body === null ? null : { key, ask, topics: [] }, DELAY_MS);
  return <div class="preview-box">{body === null ? <p class="muted">{hint}</p> : shownPreview(preview)}</div>;
}

function shownPreview(preview: Data<FleetPreviewed>) {
  switch (preview.state) {
    case "loading":
      return <p class="muted">Looking…</p>;
    case "failed":
      return <Refused problem={preview.problem} />;
    case "ready":
      return <Previewed robots={preview.value.robots} />;
  }
}

const PREVIEW_FIELDS = ["robots", "selector", "subject"] as const;

/** Why the service refuses the selection, before the form is submitted. */
function Refused({ problem }: { readonly problem: Problem }) {
  const { of, rest } = formErrors(problem, PREVIEW_FIELDS);
  const texts = [...PREVIEW_FIELDS.map((field) => of(field)), ...rest].filter((text) => text !== undefined);
  return (
    <div role="status">
      {texts.map((text) => (
        <p key={text}>{text}</p>
      ))}
    </div>
  );
}

function Previewed({ robots }: { readonly robots: readonly PreviewedRobot[] }) {
  const groups = fitGroups(robots);
  const shown = groups.map(({ fit, reason, robots: members }) => {
    const { word: state, tone } = FIT_STATES[fit];
    return { state, tone, reason, members };
  });
  return (
    <>
      <p role="status" class="preview-total">
        {fitText(groups)}
      </p>
      {groups.every(({ fit }) => fit === "runs") ? <RobotNames robots={robots} /> : <RobotGroups groups={shown} />}
    </>
  );
}

interface RobotNamesProps {
  readonly robots: readonly Pick<PreviewedRobot, "robot_id" | "robot" | "robot_type_id" | "region" | "site">[];
}

interface RobotGroupsProps {
  readonly groups: readonly {
    readonly state: string;
    readonly tone: Tone;
    readonly reason: string | null;
    readonly members: RobotNamesProps["robots"];
  }[];
}

/** Robots in the same state for the same reason. */
export function RobotGroups({ groups }: RobotGroupsProps) {
  return (
    <ul class="groups">
      {groups.map(({ state, tone, reason, members }) => (
        <li key={`${state} ${reason ?? ""}`}>
          <p class="group-head">
            <StatusBadge status={state} tone={tone} word={`${number(members.length)} ${state}`} />
            {reason === null ? null : <Sentence text={reason} />}
          </p>
          <RobotNames robots={members} />
        </li>
      ))}
    </ul>
  );
}

/** Names shown at once; a click shows the rest. */
const NAMES_SHOWN = 24;

/** Names of robots in order and in columns, with type, site and region in the title. */
export function RobotNames({ robots }: RobotNamesProps) {
  const sorted = robots.toSorted((left, right) => compareTexts(left.robot, right.robot));
  const links = sorted.map(({ robot_id: robotId, robot, site, region, robot_type_id: robotTypeId }) => (
    <li key={robotId}>
      <a class="cut" href={robotPath(robot, robotId)} title={[robotTypeId, site, region].filter(Boolean).join(" · ")}>
        {robot}
      </a>
    </li>
  ));
  return (
    <>
      <ul class="names">{links.slice(0, NAMES_SHOWN)}</ul>
      {links.length <= NAMES_SHOWN ? null : (
        <details>
          <summary>{counted(links.length - NAMES_SHOWN, "more robot")}</summary>
          <ul class="names">{links.slice(NAMES_SHOWN)}</ul>
        </details>
      )}
    </>
  );
}
