import type { ComponentChildren } from "preact";
import { useLayoutEffect } from "preact/hooks";

import { visible } from "../../../platform/text/visible.ts";

interface PageProps {
  readonly title: string;
  readonly count?: string | undefined;
  /** The page above: the list of its section, or the resource that it is about. */
  readonly up?: { readonly text: string; readonly path: string };
  readonly badge?: ComponentChildren;
  readonly actions?: ComponentChildren;
  readonly children: ComponentChildren;
}

export function Page({ title, count, up, badge, actions, children }: PageProps) {
  useLayoutEffect(() => {
    document.title = `${visible(title)} · Robot policy`;
  }, [title]);
  return (
    <>
      <header class="page-head">
        {up === undefined ? null : (
          <p class="page-up">
            <a href={up.path}>← {up.text}</a>
          </p>
        )}
        <h1 tabIndex={-1}>
          {title}
          {count === undefined ? null : <span class="count"> {count}</span>}
        </h1>
        {badge}
        {actions === undefined || actions === null ? null : <div class="buttons">{actions}</div>}
      </header>
      {children}
    </>
  );
}

interface SectionProps {
  readonly title: string;
  readonly note?: ComponentChildren;
  readonly children: ComponentChildren;
}

export function Section({ title, note, children }: SectionProps) {
  return (
    <section class="section">
      <header class="section-head">
        <h2>{title}</h2>
        {note === undefined ? null : <p class="section-note">{note}</p>}
      </header>
      {children}
    </section>
  );
}

interface FactsProps {
  readonly facts: readonly (readonly [term: string, what: ComponentChildren])[];
}

export function Facts({ facts }: FactsProps) {
  return (
    <dl class="facts">
      {facts.map(([term, what]) => (
        <div key={term}>
          <dt>{term}</dt>
          <dd>{what ?? <None />}</dd>
        </div>
      ))}
    </dl>
  );
}

/** No value. */
export function None() {
  return <span class="muted">–</span>;
}
