/** The robot whose place a computer that enrolls takes. */
import type { RegistrationView } from "../../../api/registrations.ts";
import type { IdentifiedRobotView } from "../../../api/robot-views.ts";
import { DIFFERENCES, type EnrolmentDifference } from "../../../views/enrolments.ts";
import { request } from "../data/request.ts";
import { useData, useQuery } from "../data/query.ts";
import { Notice } from "../parts/notice.tsx";
import { RelativeTime } from "../parts/relative-time.tsx";
import { ShownTable } from "../parts/shown.tsx";
import { robotPath } from "../robots/data.ts";

/** The robot whose place the computer takes, and the digest that it registered last. */
export interface Target {
  /** Null for a new robot; undefined while it is looked up; "hidden" if that fails, as for a key that may not see robots. */
  readonly robot: IdentifiedRobotView | null | undefined | "hidden";
  readonly digest: string | null;
  retry(): void;
}

const TYPING_MS = 300;

/** The robot of the name that was typed. */
export function useTarget(name: string): Target {
  const path = `/v1/robots/${encodeURIComponent(name)}`;
  const isName = name !== "" && !/^\.+$/.test(name);
  const ask = (signal: AbortSignal) => request<IdentifiedRobotView>("GET", path, { signal });
  const robot = useQuery(isName ? { key: path, ask, topics: ["robots"] } : null, TYPING_MS);
  // The operation accepts ids too, but the name is never meant as an id.
  const isThere = robot.state === "ready" && !robot.isPrevious && robot.value.name === name;
  const registration = useData<RegistrationView>(isThere ? `${path}/registration` : null, ["robots"]);
  const { retry } = robot;
  if (robot.state === "failed") {
    return { robot: robot.problem.kind === "missing" ? null : "hidden", digest: null, retry };
  }
  if (robot.state === "loading" || robot.isPrevious) return { robot: undefined, digest: null, retry };
  const isOwn = registration.state === "ready" && !registration.isPrevious;
  const digest = isOwn ? registration.value.configuration_digest : null;
  return { robot: isThere ? robot.value : null, digest, retry };
}

interface TargetNoticeProps {
  readonly target: Target;
  readonly name: string;
  readonly differences: readonly EnrolmentDifference[];
}

/** Whether a robot of the name exists and is online, and what the approval changes of it. */
export function TargetNotice({ target: { robot }, name, differences }: TargetNoticeProps) {
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
            Its computer, last seen <RelativeTime at={robot.last_seen_at} />, is cut off as soon as the new one has its
            credential.
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
