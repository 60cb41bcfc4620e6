import type { ComponentChildren } from "preact";

import type { Differences } from "../../../api/differences.ts";
import { changeOf, detailsOf, reservationOf, subjectOf } from "../../../views/differences.ts";
import { useData } from "../data/query.ts";
import { Loaded } from "../parts/loaded.tsx";
import { Page } from "../parts/page.tsx";
import { exactTime } from "../parts/relative-time.tsx";
import { type PageParameters, useLocation } from "../router.ts";
import { apiPath, robotPath } from "./data.ts";

/**
 * `/robots/NAME/differences`: the last registration of a robot, or that of `?registration=ID`, against the one before or, with
 * `?against=OTHER`, against the last one of another robot.
 */
export function RobotDifferences({ name }: PageParameters) {
  const { query } = useLocation();
  const asked = new URLSearchParams([...query].filter(([key]) => key === "registration" || key === "against"));
  const answer = useData<Differences>(`${apiPath(name)}/differences?${asked.toString()}`, ["robots"]);
  const title = answer.value === undefined ? `Differences of ${name}` : titleOf(answer.value);
  return (
    <Page title={title} up={{ text: answer.value?.after.robot ?? name, path: robotPath(name, name) }}>
      <Loaded data={answer} what="this comparison" lines={6}>
        {(known) => <Compared differences={known} />}
      </Loaded>
    </Page>
  );
}

/** `cell-4, 21 Nov 2026, 06:26:05 CET, against cell-7, 20 Nov 2026, 15:02:11 CET` */
function titleOf({ before, after }: Differences): string {
  const when = ({ robot, at }: Differences["after"]) => `${robot}, ${exactTime(at)}`;
  if (before === null) return when(after);
  return `${when(after)}, against ${before.robot_id === after.robot_id ? exactTime(before.at) : when(before)}`;
}

function Compared({ differences: known }: { readonly differences: Differences }) {
  const { before, differences } = known;
  const reservation = reservationOf(known);
  return (
    <>
      {reservation === "" ? null : <p class="muted">{reservation}</p>}
      {before !== null && differences.length === 0 ? <p>Nothing differs.</p> : null}
      <ul class="differences">
        {differences.map((difference) => {
          const { group, subject } = difference;
          const change = changeOf(difference);
          return (
            <Differing key={`${group} ${subject}`} subject={subjectOf(difference)} change={change}>
              {detailsOf(difference)}
            </Differing>
          );
        })}
      </ul>
    </>
  );
}

interface DifferingProps {
  readonly subject: string;
  readonly change: string;
  /** A line for each detail. */
  readonly children: readonly ComponentChildren[];
}

/** One thing that differs, in a list of them. */
export function Differing({ subject, change, children }: DifferingProps) {
  return (
    <li>
      <div class="group-head">
        <h2>{subject}</h2>
        <p>{change}</p>
      </div>
      {children.length === 0 ? null : (
        <ul class="details mono">
          {children.map((detail, index) => (
            <li key={index}>{detail}</li>
          ))}
        </ul>
      )}
    </li>
  );
}
