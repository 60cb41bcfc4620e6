import type { ComponentChildren } from "preact";

import type { Data } from "../data/use-data.ts";
import { ProblemNotice, StaleNotice } from "./notice.tsx";
import { Skeleton } from "./skeleton.tsx";

interface LoadedProps<T> {
  readonly data: Data<T>;
  /** "the history of this robot" */
  readonly what: string;
  /** Expected number of lines, for the placeholder. */
  readonly lines?: number;
  children(value: T): ComponentChildren;
}

/** Data from the service, its placeholder, or why it failed. */
export function Loaded<T>({ data, what, lines = 4, children }: LoadedProps<T>) {
  switch (data.state) {
    case "loading":
      return <Skeleton lines={lines} what={what} />;
    case "failed":
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
