import type { CallResult } from "../../client/call-result.ts";
import type { ExitCode } from "../../platform/terminal.ts";
import { EXIT } from "../../platform/terminal.ts";
import type { Sent } from "../failure.ts";
import { refuse } from "../refuse.ts";
import type { Service } from "../service.ts";
import type { ListView } from "./columns.ts";
import { COLUMN_REMEDY, noteHidden, withColumns } from "./columns.ts";
import type { Listed, LoadList } from "./listed.ts";
import { documentOf, itemsIn } from "./listed.ts";
import { watchList } from "./watch.ts";

/**
 * Shows a list: once, or repeatedly with `--watch`.
 *
 * @param sent for failures. @param loaded the first result, if the list was fetched already.
 */
export async function showList<Item>(
  service: Service,
  load: LoadList<Item>,
  view: ListView<Item>,
  sent: Pick<Sent, "missing"> = {},
  loaded?: CallResult<Listed<Item>>,
): Promise<ExitCode> {
  const shown = withColumns(view, service.flags);
  if ("code" in shown) return refuse(shown, EXIT.usage, service.terminal);
  if (service.flags.watch === true) return watchList(service, load, shown, sent, loaded);
  const result = loaded ?? (await load());
  if (result.kind !== "ok") return service.failed(result, sent);
  return service.answer(documentOf(result.value), () => showRows(service, shown, itemsIn(result.value)));
}

/** Prints a table of the items, and names the columns that the terminal is too narrow for. */
export function showRows<Item>(
  { flags, terminal, nowMs }: Service,
  { headers, row, prose, spare, below, empty }: ListView<Item>,
  items: readonly Item[],
): void {
  if (items.length === 0) {
    terminal.note(empty);
    return;
  }
  const now = nowMs();
  const rows = items.map((item) => row(item, now));
  const columns = flags.wide === true ? Number.POSITIVE_INFINITY : undefined;
  const hidden = terminal.table(headers, rows, prose, spare, columns);
  const unnamed = hidden.filter((header) => header !== below?.column);
  noteHidden(unnamed, COLUMN_REMEDY, terminal);
  if (below !== undefined && hidden.includes(below.column)) below.show(items, now);
}
