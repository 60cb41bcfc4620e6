import { operations } from "../../api/api.ts";
import { beyondSpec } from "../../api/beyond-spec.ts";
import type { ModelView } from "../../api/models.ts";
import type { ExitCode, Terminal } from "../../platform/terminal.ts";
import { EXIT } from "../../platform/terminal.ts";
import { isUnknownOperation } from "../failure.ts";
import { refuseMissingOperation } from "../missing-operation.ts";
import type { OperatorContext, OperatorFlags } from "../operator.ts";
import { withService } from "../operator.ts";
import { refusePathParameter } from "../path-parameter.ts";
import type { Fact } from "../show-facts.ts";
import { showFacts } from "../show-facts.ts";
import type { ListView } from "../list-columns.ts";
import type { ListFlags } from "../show-list.ts";
import { showList } from "../show-list.ts";
import { relativeTime } from "../../platform/relative-time.ts";

const modelsView: ListView<ModelView> = {
  headers: ["model", "name", "vendor", "type", "license", "checkpoints", "regions"],
  prose: ["name", "vendor"],
  spare: ["regions", "vendor", "license", "type"],
  row: (model) => [
    model.slug,
    model.display_name ?? "",
    model.vendor ?? "",
    model.model_type ?? "",
    model.license_tier ?? "",
    String(model.checkpoints?.length ?? ""),
    regionsOf(model).join(" "),
  ],
  id: ({ slug }) => slug,
  empty: "The catalog has no models yet.",
};

/** `models list`: the catalog, where the service shows it. */
export async function modelsList(flags: ListFlags, context: OperatorContext): Promise<ExitCode> {
  return withService(flags, context, async (service) => {
    const load = () => service.listAll(beyondSpec.listModels, ({ models }) => models);
    const first = await load();
    if (first.kind !== "ok" && isUnknownOperation(first)) {
      const fix = "robot-policy models show MODEL shows one by its name";
      return refuseMissingOperation("does not list its models", fix, context.terminal);
    }
    return showList(service, load, modelsView, flags, context, first);
  });
}

/** `models show MODEL`: one model, with what it asks of a robot. */
export async function modelsShow(
  flags: OperatorFlags,
  context: OperatorContext,
  slug: string | undefined,
): Promise<ExitCode> {
  const { terminal, machine } = context;
  if (slug === undefined || refusePathParameter(slug, terminal)) return EXIT.usage;
  return withService(flags, context, async (service) => {
    const result = await service.call(operations.getModel, { parameters: { slug } });
    if (result.kind === "refused" && result.status === 404) {
      // Every service has this operation, and some say of a missing model what others say of a missing page.
      const fix = `robot-policy models list shows what there is${isUnknownOperation(result) ? "; check --url, too" : ""}`;
      terminal.problem({ code: "not-found", what: `no model has the name ${slug}`, fix });
      return EXIT.rejected;
    }
    if (result.kind !== "ok") return service.failed(result);
    if (flags.json === true) terminal.json(result.value.document);
    else showModel(result.value.value, terminal, machine.clock.wall_ms());
    return EXIT.ok;
  });
}

function showModel(model: ModelView, terminal: Terminal, now_ms: number): void {
  showFacts(
    [
      ["model", model.slug],
      ["name", model.display_name ?? ""],
      ["vendor", model.vendor ?? ""],
      ["type", model.model_type ?? ""],
      ["license", model.license_tier ?? ""],
      ["in the catalog", relativeTime(model.created_at, now_ms)],
    ],
    terminal,
  );
  for (const { id, created_at, regions, requirements } of model.checkpoints ?? []) {
    const is_default = id === model.default_checkpoint_id;
    terminal.print(`\n${terminal.style("bold", `checkpoint ${id}`)}${is_default ? " (default)" : ""}`);
    const needs = Object.entries(requirements ?? {}).map(([name, value]): Fact => [
      `needs ${name.replaceAll("_", " ")}`,
      inWords(value),
    ]);
    showFacts(
      [["created", relativeTime(created_at, now_ms)], ["regions", regions?.join(" ") ?? ""], ...needs],
      terminal,
    );
  }
}

/** Requirements are the service's own to shape: lists of names and plain values read well, the rest is shown as it is. */
function inWords(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "string") return value;
  if (Array.isArray(value) && value.every((each) => typeof each === "string")) return value.join(" ");
  return JSON.stringify(value);
}

function regionsOf({ checkpoints }: ModelView): readonly string[] {
  return [...new Set((checkpoints ?? []).flatMap(({ regions }) => regions ?? []))].toSorted();
}
