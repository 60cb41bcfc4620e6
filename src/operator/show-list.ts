import type { CallResult } from "../client/client.ts";
import type { ExitCode } from "../platform/terminal.ts";
import { EXIT } from "../platform/terminal.ts";
import type { Listed } from "./listed.ts";
import { documentOf, itemsIn } from "./listed.ts";
import type { OperatorContext, OperatorFlags } from "./operator.ts";
import type { Service } from "./service.ts";
import { watchList } from "./watch.ts";

/** How a list is shown to a person. */
export interface ListView<Item> {
  readonly headers: readonly string[];
  /** The headers of columns that may be cut. */
  readonly prose?: readonly string[];
  /** The headers of columns that a narrow terminal does without, the last first. */
  readonly spare?: readonly string[];
  /** Cells in the order of the headers. */
  readonly row: (item: Item, now_ms: number) => readonly string[];
  /** What stays the same when the rest of an item changes. */
  readonly id: (item: Item) => string;
  /** The sentence for a list with nothing in it. */
  readonly empty: string;
}

export interface ListFlags extends OperatorFlags {
  readonly watch?: boolean;
  /** Seconds between two looks. */
  readonly interval?: string;
}

/**
 * What a list command shows: `load` asks the service, and is asked again and again with `--watch`.
 *
 * @param loaded what it has said already.
 */
export async function showList<Item>(
  service: Service,
  load: () => Promise<CallResult<Listed<Item>>>,
  view: ListView<Item>,
  flags: ListFlags,
  context: OperatorContext,
  loaded?: CallResult<Listed<Item>>,
): Promise<ExitCode> {
  if (flags.watch === true) return watchList(service, load, view, flags, context);
  const result = loaded ?? (await load());
  if (result.kind !== "ok") return service.failed(result);
  const { terminal, machine } = context;
  if (flags.json === true) {
    terminal.json(documentOf(result.value));
    return EXIT.ok;
  }
  const items = itemsIn(result.value);
  if (items.length === 0) terminal.note(view.empty);
  else {
    const now_ms = machine.clock.wall_ms();
    const rows = items.map((item) => view.row(item, now_ms));
    terminal.table(view.headers, rows, view.prose, view.spare);
  }
  return EXIT.ok;
}
