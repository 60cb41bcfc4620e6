import type { ComponentChildren } from "preact";

import type { Section } from "../../sections.ts";
import type { Data } from "../data/query.ts";
import { ProblemNotice, StaleNotice } from "./notice.tsx";

interface LoadedProps<T> {
  readonly data: Data<T>;
  /** Shows the placeholder although the data is there, until the rest of the page is. */
  readonly isLoading?: boolean;
  /** "the history of this robot" */
  readonly what: string;
  /** Expected number of lines, for the placeholder. */
  readonly lines?: number;
  /** Shown if the service does not have it; otherwise that is a failure like others. */
  readonly missing?: ComponentChildren;
  children(value: T): ComponentChildren;
}

interface MissingProps {
  /** "This organization has no such fleet." */
  readonly text: string;
  readonly list: Section;
}

/** For a resource that does not exist. */
export function Missing({ text, list }: MissingProps) {
  return (
    <p>
      {text} <a href={`/${list}`}>See all {list}</a>
    </p>
  );
}

/** Data from the service, its placeholder, or why it failed. */
export function Loaded<T>({ data, isLoading = false, what, lines = 4, missing, children }: LoadedProps<T>) {
  if (isLoading && data.state === "ready") return <Skeleton lines={lines} what={what} />;
  switch (data.state) {
    case "loading":
      return <Skeleton lines={lines} what={what} />;
    case "failed":
      if (missing !== undefined && data.problem.kind === "missing") return <>{missing}</>;
      return <ProblemNotice problem={data.problem} what={what} retry={data.retry} />;
    case "ready":
      return (
        <>
          {data.problem === null ? null : <StaleNotice problem={data.problem} what={what} />}
          {children(data.value)}
        </>
      );
  }
}

/** A placeholder as high as the coming lines. */
export function Skeleton({ lines, what }: { readonly lines: number; readonly what: string }) {
  return (
    <p role="status" class="skeleton" style={{ minHeight: `${2 * lines}em` }}>
      Loading {what}…
    </p>
  );
}
