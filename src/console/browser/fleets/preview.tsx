import { useEffect, useState } from "preact/hooks";

import type { FleetPreviewed } from "../../../api/fleet-details.ts";
import { fitCounts, fitGroups } from "../../../api/words/fit-groups.ts";
import type { Problem } from "../data/request.ts";
import { request } from "../data/request.ts";
import { sessionEnded } from "../data/session.ts";
import { useRetry } from "../data/use-retry.ts";
import { formErrors } from "../parts/form/form-errors.ts";
import { counted, number } from "../parts/text.ts";
import { FitList } from "./fit-list.tsx";

/** The body of `POST /v1/fleets/preview`. */
export interface PreviewBody {
  readonly robots?: readonly string[];
  readonly selector?: Readonly<Record<string, unknown>>;
  readonly subject?: string;
}

export type Preview =
  /** Nothing is chosen yet. */
  | { readonly state: "none" }
  | { readonly state: "asking" }
  | { readonly state: "failed"; readonly problem: Problem }
  | { readonly state: "ready"; readonly value: FleetPreviewed };

/** Debounce after the last change of the form. */
const DELAY_MS = 250;

/** Which robots a selection matches, and whether they can run the model; requested whenever the body changes. */
export function usePreview(body: PreviewBody | null): Preview {
  const key = body === null ? null : JSON.stringify(body);
  const [preview, setPreview] = useState<Preview>({ state: "none" });
  const [attempt, setAttempt] = useState(0);
  useRetry(preview.state === "failed" ? preview.problem : null, () => setAttempt((count) => count + 1));
  useEffect(() => {
    if (key === null) {
      setPreview({ state: "none" });
      return undefined;
    }
    const controller = new AbortController();
    const ask = async () => {
      setPreview((before) => (before.state === "ready" ? before : { state: "asking" }));
      const { signal } = controller;
      const outcome = await request<FleetPreviewed>("POST", "/v1/fleets/preview", { body: JSON.parse(key), signal });
      if (outcome.state === "answered") setPreview({ state: "ready", value: outcome.value });
      if (outcome.state !== "failed") return;
      if (outcome.problem.kind === "unauthorized") sessionEnded();
      setPreview(outcome);
    };
    const timer = setTimeout(() => void ask(), DELAY_MS);
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [key, attempt]);
  return preview;
}

interface PreviewListProps {
  readonly preview: Preview;
  /** Shown while nothing is chosen. */
  readonly hint: string;
}

/** The robots of a preview, those that cannot run the model first. */
export function PreviewList({ preview, hint }: PreviewListProps) {
  switch (preview.state) {
    case "none":
      return <p class="muted">{hint}</p>;
    case "asking":
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
        {isJudged ? `; ${prospect(fitCounts(groups))}` : ""}
      </p>
      <FitList groups={groups} opensElsewhere />
      {total > robots.length ? <p class="muted">and {counted(total - robots.length, "more robot")}</p> : null}
    </>
  );
}

function prospect({ lacks, waits, runs }: ReturnType<typeof fitCounts>): string {
  if (lacks + waits === 0) return "all can run the model";
  const later = waits === 0 ? "" : `, ${number(waits)} once the endpoint answers`;
  return `${number(runs)} can run the model${waits === 0 ? "" : " now"}${later}`;
}
