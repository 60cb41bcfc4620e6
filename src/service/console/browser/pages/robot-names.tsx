import { counted } from "../parts/text.ts";
import { robotPath } from "./robot-data.ts";

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
  readonly opens_elsewhere?: boolean;
}

/** Names that are shown at once; the rest is behind a word. */
const SHOWN = 24;

/** Robots by their names, in as many columns as there is room for; the rest of what is known of each in its title. */
export function RobotNames({ robots, opens_elsewhere = false }: RobotNamesProps) {
  const rest = robots.slice(SHOWN);
  return (
    <>
      <NameList robots={robots.slice(0, SHOWN)} opens_elsewhere={opens_elsewhere} />
      {rest.length === 0 ? null : (
        <details>
          <summary>{counted(rest.length, "more robot")}</summary>
          <NameList robots={rest} opens_elsewhere={opens_elsewhere} />
        </details>
      )}
    </>
  );
}

function NameList({ robots, opens_elsewhere }: Required<RobotNamesProps>) {
  return (
    <ul class="names">
      {robots.map(({ robot_id, robot, site, region, robot_type_id }) => (
        <li key={robot_id}>
          <a
            href={robotPath(robot, robot_id)}
            target={opens_elsewhere ? "_blank" : undefined}
            title={[robot_type_id, site, region].filter(Boolean).join(" · ")}
          >
            {robot}
          </a>
        </li>
      ))}
    </ul>
  );
}
