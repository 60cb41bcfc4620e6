import type { PreviewedRobot } from "../../../api/fleet-details.ts";
import { compareTexts, counted } from "../parts/text.ts";
import { robotPath } from "./data.ts";

type NamedRobot = Pick<PreviewedRobot, "robot_id" | "robot" | "robot_type_id" | "region" | "site">;

interface RobotNamesProps {
  readonly robots: readonly NamedRobot[];
  /** Opens links in a new tab, so that a form is not left. */
  readonly opensElsewhere?: boolean;
}

/** Names shown at once; a button shows the rest. */
const SHOWN = 24;

/** Names of robots in order and in columns, with type, site and region in the title. */
export function RobotNames({ robots, opensElsewhere = false }: RobotNamesProps) {
  const sorted = [...robots].sort((left, right) => compareTexts(left.robot, right.robot));
  const rest = sorted.slice(SHOWN);
  return (
    <>
      <NameList robots={sorted.slice(0, SHOWN)} opensElsewhere={opensElsewhere} />
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
