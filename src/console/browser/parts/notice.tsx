import type { ComponentChildren } from "preact";

import { isTemporary, type Problem, sentence } from "../data/request.ts";
import { EndingButton } from "./form/ending-button.tsx";
import { Icon } from "./icon.tsx";
import type { Tone } from "../../../views/view.ts";

interface NoticeProps {
  readonly tone: Tone;
  readonly title: string;
  readonly children?: ComponentChildren;
}

export function Notice({ tone, title, children }: NoticeProps) {
  return (
    <div class="notice" data-tone={tone}>
      <Icon name={tone} />
      <p class="notice-title">{title}</p>
      {children === undefined ? null : <div class="notice-text">{children}</div>}
    </div>
  );
}

interface ProblemNoticeProps {
  readonly problem: Problem;
  /** What could not be shown: "the robots". */
  readonly what: string;
  retry?: () => void;
}

/** What could not be shown, why, and what to do. */
export function ProblemNotice({ problem, what, retry }: ProblemNoticeProps) {
  const tone = problem.kind === "unreachable" ? "degraded" : "blocked";
  return (
    <div role="alert">
      <Notice tone={tone} title={titleOf(problem, what)}>
        <p>{sentence(problem.detail)}</p>
        {remedyOf(problem)}
        {retry === undefined || problem.kind === "forbidden" ? null : (
          <p class="buttons">
            <EndingButton press={retry}>Try again</EndingButton>
          </p>
        )}
      </Notice>
    </div>
  );
}

/** Above data that may be out of date. */
export function StaleNotice({ problem, what }: Pick<ProblemNoticeProps, "problem" | "what">) {
  return (
    <Notice tone="degraded" title={`This is the last known state of ${what}.`}>
      <p>{sentence(problem.detail)}</p>
      {remedyOf(problem)}
    </Notice>
  );
}

function titleOf({ kind }: Problem, what: string): string {
  if (kind === "forbidden") return `Your key may not see ${what}.`;
  if (kind === "missing") return `The service does not have ${what}.`;
  return `Cannot show ${what}.`;
}

function remedyOf(problem: Problem) {
  if (problem.kind === "forbidden")
    return <p>Sign in with a key that has this scope, or ask whoever creates your keys for one.</p>;
  return isTemporary(problem) ? <p>The page asks again by itself.</p> : null;
}
