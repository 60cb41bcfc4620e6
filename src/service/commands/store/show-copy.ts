import { EXIT } from "../../../platform/terminal.ts";
import type { ExitCode, Terminal } from "../../../platform/terminal.ts";
import type { CopyOutcome } from "../../kernel/store/copies/copy.ts";

interface Telling {
  readonly path: string;
  /** The sentence in the end, from "3 rows (schema …)". */
  tell(rows: string): string;
  readonly isJson: boolean;
}

/** What came of a backup or a restore: the rows of each table, or what went wrong. */
export function showCopy(outcome: CopyOutcome, { path, tell, isJson }: Telling, terminal: Terminal): ExitCode {
  terminal.progress("", 1);
  if (outcome.state === "failed") {
    terminal.problem(outcome.problem);
    return EXIT.failed;
  }
  const { schema, rows } = outcome;
  if (isJson) {
    terminal.json({ file: path, schema, rows });
    return EXIT.ok;
  }
  const filled = Object.entries(rows).filter(([, count]) => count > 0);
  if (filled.length > 0) {
    terminal.table(
      ["table", "rows"],
      filled.map(([table, count]) => [table, String(count)]),
    );
  }
  const total = filled.reduce((sum, [, count]) => sum + count, 0);
  terminal.print(tell(`${total} ${total === 1 ? "row" : "rows"} (schema ${schema})`));
  return EXIT.ok;
}
