import type { CallResult } from "../../client/call-result.ts";
import type { ExitCode } from "../../platform/terminal.ts";
import { EXIT } from "../../platform/terminal.ts";
import type { OperatorContext } from "../context.ts";
import type { OperatorFlags } from "../flags.ts";
import { refuse } from "../refuse.ts";
import type { Service } from "../service.ts";
import type { ListView } from "./columns.ts";
import { COLUMN_REMEDY, noteHidden, withColumns } from "./columns.ts";
import type { Listed } from "./listed.ts";
import { documentOf, itemsIn } from "./listed.ts";
import { watchList } from "./watch.ts";

/**
 * Shows a list: once, or repeatedly with `--watch`.
 *
 * @param load fetches the list. @param loaded its first result, if it was called already.
 */
export async function showList<Item>(
  service: Service,
  load: () => Promise<CallResult<Listed<Item>>>,
  view: ListView<Item>,
  flags: OperatorFlags,
  context: OperatorContext,
  loaded?: CallResult<Listed<Item>>,
): Promise<ExitCode> {
  const shown = withColumns(view, flags);
  if ("code" in shown) return refuse(shown, EXIT.usage, context.terminal);
  if (flags.watch === true) return watchList(service, load, shown, flags, context);
  const result = loaded ?? (await load());
  if (result.kind !== "ok") return service.failed(result);
  if (flags.json === true) context.terminal.json(documentOf(result.value));
  else showRows(shown, itemsIn(result.value), flags, context);
  return EXIT.ok;
}

/** Prints a table of the items, and names the columns that the terminal is too narrow for. */
export function showRows<Item>(
  view: ListView<Item>,
  items: readonly Item[],
  { wide }: OperatorFlags,
  { terminal, machine }: OperatorContext,
): void {
  if (items.length === 0) {
    terminal.note(view.empty);
    return;
  }
  const nowMs = machine.clock.wallMs();
  const rows = items.map((item) => view.row(item, nowMs));
  const columns = wide === true ? Number.POSITIVE_INFINITY : undefined;
  const hidden = terminal.table(view.headers, rows, view.prose, view.spare, columns);
  const { below } = view;
  noteHidden(
    hidden.filter((header) => header !== below?.column),
    COLUMN_REMEDY,
    terminal,
  );
  if (below !== undefined && hidden.includes(below.column)) below.show(items, nowMs);
}
