import { EXIT, type ExitCode, type Terminal } from "../../platform/terminal.ts";
import { showFindings } from "../kernel/edited-file.ts";
import { applyCatalogFile, previewCatalogFile } from "../models/apply.ts";
import { readCatalogFile } from "../models/catalog.ts";
import { type CatalogChange, countChanges } from "../models/plan.ts";
import { systemFiles } from "../../platform/files/files.ts";
import { type CommandContext, type CommandFlags, withStore } from "./command.ts";

interface ModelsApplyFlags extends CommandFlags {
  /** Show the changes without making them. */
  readonly dryRun?: boolean;
}

/** `models apply FILE`: the store then offers what the catalog lists. A running service need not be stopped. */
export async function modelsApply(flags: ModelsApplyFlags, { terminal }: CommandContext, path = ""): Promise<ExitCode> {
  const isDryRun = flags.dryRun === true;
  const isJson = flags.json === true;
  const reading = await readCatalogFile(systemFiles, path);
  if (reading.state === "refused") {
    if (isJson) terminal.json({ applied: false, findings: reading.findings, changes: [] });
    else showFindings({ path, bytes: reading.bytes, findings: reading.findings }, terminal);
    return EXIT.invalid;
  }
  const { file } = reading;
  return withStore(flags, terminal, async (opened) => {
    const outcome = isDryRun ? await previewCatalogFile(opened, file) : await applyCatalogFile(opened, file);
    const isRefused = outcome.state === "refused";
    const findings = isRefused ? outcome.findings : [];
    const changes = isRefused ? [] : outcome.changes;
    if (isJson) {
      terminal.json({ applied: !isRefused && !isDryRun, findings, changes });
    } else {
      showFindings({ path, bytes: file.bytes, findings }, terminal);
      if (!isRefused) printChanges(changes, isDryRun, terminal);
    }
    return isRefused ? EXIT.invalid : EXIT.ok;
  });
}

const MARKS = { added: "+", changed: "~", withdrawn: "-" } as const;
const STYLES = { added: "good", changed: "warn", withdrawn: "bad" } as const;

function printChanges(changes: readonly CatalogChange[], isDryRun: boolean, terminal: Terminal): void {
  for (const { change, kind, name, region } of changes) {
    const where = region === null ? "" : ` in ${region}`;
    terminal.print(`${terminal.style(STYLES[change], MARKS[change])} ${kind} ${name}${where}`);
  }
  const counts = Object.entries(countChanges(changes)).map(([change, count]) => `${count} ${change}`);
  terminal.print(`${isDryRun ? "would apply" : "applied"}: ${counts.join(", ")}`);
}
