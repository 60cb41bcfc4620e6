/** Which robots can run a model, wherever one is chosen, and the lists of robots that pages of fleets show. */
import { counted } from "../../../views/view.ts";
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

/** Which robots a selection matches, and whether they can run the model. Null while nothing is chosen. */
export function usePreview(body: PreviewBody | null): Data<FleetPreviewed> | null {
  const ask = (signal: AbortSignal) => askPreview(body ?? {}, signal);
  const preview = useQuery(
    body === null ? null : { key: `preview ${JSON.stringify(body)}`, ask, topics: [] },
    DELAY_MS,
  );
  return body === null ? null : preview;
}

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

interface PreviewListProps {
  readonly preview: Data<FleetPreviewed> | null;
  /** Shown while nothing is chosen. */
  readonly hint?: string;
  /** Opens links in a new tab, so that a form is not left. */
  readonly opensElsewhere?: boolean;
}

/** The robots of a preview, those that cannot run the model first. */
export function PreviewList({ preview, hint = "", opensElsewhere = true }: PreviewListProps) {
  if (preview === null) return <p class="muted">{hint}</p>;
  switch (preview.state) {
    case "loading":
      return <p class="muted">Looking…</p>;
    case "failed":
      return <Refused problem={preview.problem} />;
    case "ready":
      return <Previewed robots={preview.value.robots} opensElsewhere={opensElsewhere} />;
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

interface PreviewedProps {
  readonly robots: readonly PreviewedRobot[];
  readonly opensElsewhere: boolean;
}

function Previewed({ robots, opensElsewhere }: PreviewedProps) {
  const groups = fitGroups(robots);
  return (
    <>
      <p role="status" class="preview-total">
        {fitText(groups)}
      </p>
      <ul class="groups">
        {groups.map(({ fit, reason, robots: some }) => (
          <li key={`${fit} ${reason ?? ""}`}>
            {fit === "runs" && groups.length === 1 ? null : (
              <p class="group-head">
                <StatusBadge
                  status={fit}
                  tone={FIT_STATES[fit].tone}
                  word={`${number(some.length)} ${FIT_STATES[fit].word}`}
                />
                {reason === null ? null : <Sentence text={reason} />}
              </p>
            )}
            <RobotNames robots={some} opensElsewhere={opensElsewhere} />
          </li>
        ))}
      </ul>
    </>
  );
}

interface RobotNamesProps {
  readonly robots: readonly Pick<PreviewedRobot, "robot_id" | "robot" | "robot_type_id" | "region" | "site">[];
  readonly opensElsewhere?: boolean;
}

/** Names shown at once; a click shows the rest. */
const NAMES_SHOWN = 24;

/** Names of robots in order and in columns, with type, site and region in the title. */
export function RobotNames({ robots, opensElsewhere = false }: RobotNamesProps) {
  const sorted = [...robots].sort((left, right) => compareTexts(left.robot, right.robot));
  const rest = sorted.slice(NAMES_SHOWN);
  return (
    <>
      <NameList robots={sorted.slice(0, NAMES_SHOWN)} opensElsewhere={opensElsewhere} />
      {rest.length === 0 ? null : (
        <details>
          <summary>{counted(rest.length, "more robot")}</summary>
          <NameList robots={rest} opensElsewhere={opensElsewhere} />
        </details>
      )}
    </>
  );
}

function NameList({ robots, opensElsewhere }: Required<RobotNamesProps>) {
  return (
    <ul class="names">
      {robots.map(({ robot_id: robotId, robot, site, region, robot_type_id: robotTypeId }) => (
        <li key={robotId}>
          <a
            class="cut"
            href={robotPath(robot, robotId)}
            target={opensElsewhere ? "_blank" : undefined}
            title={[robotTypeId, site, region].filter(Boolean).join(" · ")}
          >
            {robot}
          </a>
        </li>
      ))}
    </ul>
  );
}
