import type { FleetPreviewed } from "../../../api/fleet-details.ts";
import { fitCounts, fitGroups } from "../../../api/words/fit-groups.ts";
import { type Problem, request } from "../data/request.ts";
import { type Answer, useAnswer } from "../data/use-answer.ts";
import { formErrors } from "../parts/form/form-errors.ts";
import { counted, number } from "../parts/text.ts";
import { FitList } from "./fit-list.tsx";

export interface PreviewBody {
  readonly robots?: readonly string[];
  readonly selector?: Readonly<Record<string, unknown>>;
  readonly subject?: string;
}

/** Debounce after the last change of the form. */
const DELAY_MS = 250;

/** Which robots a selection matches, and whether they can run the model. Null while nothing is chosen. */
export function usePreview(body: PreviewBody | null): Answer<FleetPreviewed> | null {
  const ask = (signal: AbortSignal) => request<FleetPreviewed>("POST", "/v1/fleets/preview", { body, signal });
  const preview = useAnswer(JSON.stringify(body), body === null ? null : ask, DELAY_MS);
  return body === null ? null : preview;
}

interface PreviewListProps {
  readonly preview: Answer<FleetPreviewed> | null;
  /** Shown while nothing is chosen. */
  readonly hint: string;
}

/** The robots of a preview, those that cannot run the model first. */
export function PreviewList({ preview, hint }: PreviewListProps) {
  if (preview === null) return <p class="muted">{hint}</p>;
  switch (preview.state) {
    case "loading":
      return <p class="muted">Looking…</p>;
    case "failed":
      return <Refused problem={preview.problem} />;
    case "ready":
      return <Previewed value={preview.value} />;
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

function Previewed({ value: { robots, total } }: { readonly value: FleetPreviewed }) {
  const groups = fitGroups(robots);
  const isJudged = robots.some(({ fits }) => fits !== null);
  return (
    <>
      <p role="status" class="preview-total">
        <b>{counted(total, "robot")}</b>
        {isJudged ? `; ${prospect(total, fitCounts(groups))}` : ""}
      </p>
      <FitList groups={groups} opensElsewhere />
      {total > robots.length ? <p class="muted">and {counted(total - robots.length, "more robot")}</p> : null}
    </>
  );
}

function prospect(total: number, { lacks, waits, runs }: ReturnType<typeof fitCounts>): string {
  if (lacks + waits === 0) return `${total === 1 ? "it" : "all"} can run the model`;
  const later = waits === 0 ? "" : `, ${number(waits)} once the endpoint answers`;
  return `${number(runs)} can run the model${waits === 0 ? "" : " now"}${later}`;
}
