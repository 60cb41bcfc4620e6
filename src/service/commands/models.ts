import { EXIT, type ExitCode, type Terminal } from "../../platform/terminal.ts";
import { showFindings } from "../kernel/edited-file.ts";
import { applyCatalogFile, previewCatalogFile } from "../models/apply.ts";
import { readCatalogFile, regionsWithoutRobots } from "../models/catalog.ts";
import { type CatalogChange, countChanges } from "../models/plan.ts";
import { listModels, type OfferedEndpoint, type OfferedModel } from "../models/queries.ts";
import { robotRegions } from "../robots/robots.ts";
import { systemFiles } from "../../platform/files/files.ts";
import type { CommandContext } from "./command-context.ts";
import { commandLine } from "./command-line.ts";
import { shownTime } from "./shown-time.ts";
import type { CommandFlags } from "./store/locate-store.ts";
import { withStore } from "./store/with-store.ts";

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
    const regions = await robotRegions(opened.store.reader);
    const findings = [...file.findings, ...(isRefused ? outcome.findings : regionsWithoutRobots(file, regions))];
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

/** `models list`: what the catalog offers, and the health of each endpoint at its last probe. */
export async function modelsList(flags: CommandFlags, { terminal }: CommandContext): Promise<ExitCode> {
  return withStore(flags, terminal, async ({ store }) => {
    const models = await listModels(store.reader);
    if (flags.json === true) terminal.json({ models });
    else if (models.length === 0)
      terminal.note(`The catalog is empty. Fill it: ${commandLine("models apply FILE", flags)}`);
    else {
      // "default" marks the checkpoint that the model's slug stands for.
      const headers = ["model", "checkpoint", "default", "region", "health", "since", "url"];
      terminal.table(headers, tableRows(models, terminal), ["health"]);
    }
    return EXIT.ok;
  });
}

function tableRows(models: readonly OfferedModel[], terminal: Terminal): readonly (readonly string[])[] {
  return models.flatMap((model) =>
    model.checkpoints.flatMap((checkpoint) => {
      const names = [model.slug, checkpoint.id, checkpoint.id === model.default_checkpoint_id ? "yes" : ""];
      if (checkpoint.endpoints.length === 0) return [[...names, "nowhere", "", "", ""]];
      return checkpoint.endpoints.map((endpoint) => [...names, ...endpointCells(endpoint, terminal)]);
    }),
  );
}

function endpointCells(
  { region, health, health_since: healthSince, last_error: lastError, url }: OfferedEndpoint,
  terminal: Terminal,
): readonly string[] {
  const error = lastError === null ? "" : `: ${lastError}`;
  const shown = {
    healthy: terminal.style("good", "healthy"),
    failing: `${terminal.style("bad", "failing")}${error}`,
    unknown: terminal.style("dim", `unknown${error}`),
  };
  return [region, shown[health], healthSince === null ? "" : shownTime(healthSince), url];
}
