import { EXIT } from "../../platform/terminal.ts";
import type { ExitCode, Terminal } from "../../platform/terminal.ts";
import type { OfferedEndpoint, OfferedModel } from "../models/queries.ts";
import { listModels } from "../models/queries.ts";
import { commandLine } from "./command-line.ts";
import { commandMachine } from "./command-machine.ts";
import type { CommandContext } from "./serve/serve.ts";
import { shownTime } from "./shown-time.ts";
import type { StoreFlags } from "./store/locate-store.ts";
import { withStore } from "./store/with-store.ts";

export interface ModelsListFlags extends StoreFlags {
  readonly json?: boolean;
}

/** `models list`: what the catalog offers, and how each endpoint was when it was last probed. */
export async function modelsList(flags: ModelsListFlags, { terminal }: CommandContext): Promise<ExitCode> {
  return withStore(flags, commandMachine(), terminal, async (store) => {
    const models = await listModels(store.reader);
    if (flags.json === true) terminal.json({ models });
    else if (models.length === 0)
      terminal.note(`The catalog is empty. Fill it: ${commandLine("models apply FILE", flags)}`);
    else showTable(models, terminal);
    return EXIT.ok;
  });
}

function showTable(models: readonly OfferedModel[], terminal: Terminal): void {
  // "default" is what the model's slug stands for.
  terminal.table(["model", "checkpoint", "default", "region", "health", "since", "url"], tableRows(models, terminal), [
    "health",
  ]);
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
) {
  const since = healthSince === null ? "" : shownTime(healthSince);
  return [region, describeHealth(health, lastError, terminal), since, url];
}

function describeHealth(health: OfferedEndpoint["health"], lastError: string | null, terminal: Terminal): string {
  switch (health) {
    case "healthy":
      return terminal.style("good", "healthy");
    case "failing":
      return `${terminal.style("bad", "failing")}${lastError === null ? "" : `: ${lastError}`}`;
    case "unknown":
      return terminal.style("dim", lastError === null ? "unknown" : `unknown: ${lastError}`);
  }
}
