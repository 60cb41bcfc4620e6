import { options } from "preact";

import { visible } from "../../../platform/text/visible.ts";

/** Attributes that people read. What a field holds, or a link leads to, stays as it is. */
const READ = ["title", "aria-label", "label", "placeholder"] as const;

/** What the page is drawn from (preactjs.com/guide/v10/options): an element, or a text, which is its own only property. */
interface Drawn {
  readonly type: unknown;
  props: unknown;
}

/** Has every text of the page drawn visibly, whoever wrote it: robots are named by whoever registers them. */
export function drawVisibly(): void {
  const before = options.vnode;
  options.vnode = (vnode) => {
    writeOut(vnode);
    before?.(vnode);
  };
}

function writeOut(drawn: Drawn): void {
  const { type, props } = drawn;
  if (typeof props === "string") drawn.props = visible(props);
  if (typeof type !== "string" || typeof props !== "object" || props === null) return;
  for (const name of READ) {
    const text: unknown = Reflect.get(props, name);
    if (typeof text === "string") Reflect.set(props, name, visible(text));
  }
}
