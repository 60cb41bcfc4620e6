import { counted } from "../parts/text.ts";
import { robotPath } from "./data.ts";

export interface NamedRobot {
  readonly robot_id: string;
  readonly robot: string;
  readonly robot_type_id: string;
  readonly region: string;
  readonly site: string | null;
}

interface RobotNamesProps {
  readonly robots: readonly NamedRobot[];
  /** Beside a form that must not be left. */
  readonly opensElsewhere?: boolean;
}

/** Names that are shown at once; the rest is behind a word. */
const SHOWN = 24;

/** Robots by their names, in as many columns as there is room for; the rest of what is known of each in its title. */
export function RobotNames({ robots, opensElsewhere = false }: RobotNamesProps) {
  const rest = robots.slice(SHOWN);
  return (
    <>
      <NameList robots={robots.slice(0, SHOWN)} opensElsewhere={opensElsewhere} />
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
