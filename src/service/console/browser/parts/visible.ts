import { options } from "preact";

/**
 * What nobody sees, though it makes one name look like another: control characters, marks that turn the direction of writing, and
 * characters without a shape. A joiner or a choice of shape is meant after what is not Latin, as in Persian and in emoji.
 */
const UNSEEN =
  /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}](?<![\t\n]|[^\p{ASCII}\p{Script=Latin}][\p{Join_Control}\p{Variation_Selector}])/gu;

/** A text with what is unseen in it written out, `\u202e`, as JSON and the command line do it. */
export function visible(text: string): string {
  return text.replaceAll(UNSEEN, (found) => found.replaceAll(/[^]/g, escaped));
}

/** @param unit of UTF-16. */
function escaped(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

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
