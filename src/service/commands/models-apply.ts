import { EXIT } from "../../platform/terminal.ts";
import type { ExitCode, Terminal } from "../../platform/terminal.ts";
import { showFindings } from "../kernel/edited-file.ts";
import { createIds } from "../kernel/ids.ts";
import { applyCatalogFile, previewCatalogFile } from "../models/apply.ts";
import { readCatalogFile } from "../models/catalog-file.ts";
import { countChanges } from "../models/plan.ts";
import type { CatalogChange } from "../models/plan.ts";
import { regionsWithoutRobots } from "../models/regions-without-robots.ts";
import { robotRegions } from "../robots/regions.ts";
import { commandMachine } from "./command-machine.ts";
import type { CommandContext } from "./serve/serve.ts";
import type { StoreFlags } from "./store/locate-store.ts";
import { withStore } from "./store/with-store.ts";

export interface ModelsApplyFlags extends StoreFlags {
  /** Tell what would change, and change nothing. */
  readonly dryRun?: boolean;
  readonly json?: boolean;
}

/** `models apply FILE`: makes the store offer what the catalog says. A service that runs on the same store need not be stopped. */
export async function modelsApply(flags: ModelsApplyFlags, { terminal }: CommandContext, path = ""): Promise<ExitCode> {
  const machine = commandMachine();
  const isDryRun = flags.dryRun === true;
  const isJson = flags.json === true;
  const reading = await readCatalogFile(machine.files, path);
  if (reading.state === "refused") {
    if (isJson) terminal.json({ applied: false, findings: reading.findings, changes: [] });
    else showFindings({ path, bytes: reading.bytes, findings: reading.findings }, terminal);
    return EXIT.invalid;
  }
  const { file } = reading;
  return withStore(flags, machine, terminal, async (store) => {
    const context = { store, machine, newId: createIds(machine.clock, machine.random) };
    const outcome = isDryRun ? await previewCatalogFile(context, file) : await applyCatalogFile(context, file);
    const isRefused = outcome.state === "refused";
    const more = isRefused ? outcome.findings : regionsWithoutRobots(file, await robotRegions(store.reader));
    const findings = [...file.findings, ...more];
    const changes = isRefused ? [] : outcome.changes;
    if (isJson) {
      terminal.json({ applied: !isRefused && !isDryRun, findings, changes });
    } else {
      showFindings({ ...file, findings }, terminal);
      if (!isRefused) printChanges(changes, isDryRun, terminal);
    }
    return isRefused ? EXIT.invalid : EXIT.ok;
  });
}

const MARKS = { added: "+", changed: "~", withdrawn: "-" } as const;
const STYLES = { added: "good", changed: "warn", withdrawn: "bad" } as const;

function printChanges(changes: readonly CatalogChange[], isDryRun: boolean, terminal: Terminal): void {
  for (const { change, kind, name, region } of changes) {
    if (change === "unchanged") continue;
    const where = region === null ? "" : ` in ${region}`;
    terminal.print(`${terminal.style(STYLES[change], MARKS[change])} ${kind} ${name}${where}`);
  }
  const counts = Object.entries(countChanges(changes)).map(([change, count]) => `${count} ${change}`);
  terminal.print(`${isDryRun ? "would apply" : "applied"}: ${counts.join(", ")}`);
}
