import { options } from "preact";

import { visible } from "../../../platform/text/visible.ts";

/** Attributes that people read. Values of fields and targets of links stay unchanged. */
const READ = ["title", "aria-label", "label", "placeholder"] as const;

/** A Preact node (preactjs.com/guide/v10/options); the `props` of a text node are the text itself. */
interface Node {
  readonly type: unknown;
  props: unknown;
}

/** Replaces invisible characters in every text of the page: names of robots, for example, come from their computers. */
export function showInvisibleCharacters(): void {
  const before = options.vnode;
  options.vnode = (vnode) => {
    replaceIn(vnode);
    before?.(vnode);
  };
}

function replaceIn(node: Node): void {
  const { type, props } = node;
  if (typeof props === "string") node.props = visible(props);
  if (typeof type !== "string" || typeof props !== "object" || props === null) return;
  for (const name of READ) {
    const text: unknown = Reflect.get(props, name);
    if (typeof text === "string") Reflect.set(props, name, visible(text));
  }
}
