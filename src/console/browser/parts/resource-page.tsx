import type { ComponentChildren } from "preact";

import type { Section } from "../../sections.ts";
import type { Data } from "../data/query.ts";
import { type Change, ChangeButtons } from "./form/change.tsx";
import { Loaded, Missing } from "./loaded.tsx";
import { Page } from "./page.tsx";
import { capitalized } from "./text.ts";

interface ResourcePageProps<T> {
  readonly data: Data<T>;
  /** Of the list page. */
  readonly section: Section;
  /** "fleet" */
  readonly noun: string;
  /** Shown until the resource is loaded (default: the noun). */
  readonly title?: string;
  titleOf(value: T): string;
  badgeOf?(value: T): ComponentChildren;
  changesOf(value: T): readonly Change[];
  /** Expected number of lines, for the placeholder. */
  readonly lines: number;
  /** False shows the placeholder although the resource is there, until the rest of the page is. */
  readonly isSettled?: boolean;
  /** Shown if there is no such resource. */
  readonly missing?: ComponentChildren;
  children(value: T): ComponentChildren;
}

/** The page of one resource, below the list of its section. */
export function ResourcePage<T>({ data, section, noun, titleOf, children, ...props }: ResourcePageProps<T>) {
  const { title = capitalized(noun), lines, isSettled = true } = props;
  const { missing = <Missing text={`This organization has no such ${noun}.`} list={section} /> } = props;
  const { value } = data;
  return (
    <Page
      title={value === undefined ? title : titleOf(value)}
      up={{ text: capitalized(section), path: `/${section}` }}
      badge={value === undefined ? null : props.badgeOf?.(value)}
      actions={value === undefined ? null : <ChangeButtons changes={props.changesOf(value)} />}
    >
      <Loaded data={data} isLoading={!isSettled} what={`this ${noun}`} lines={lines} missing={missing}>
        {(known) => <div class="sections">{children(known)}</div>}
      </Loaded>
    </Page>
  );
}
