import { beyondSpec, operations } from "../../api/api.ts";
import type { EndpointView } from "../../api/endpoints.ts";
import { type ModelView, modelViewSchema } from "../../api/models.ts";
import { axesInWords, textsIn } from "../../api/words/requirements.ts";
import type { ExitCode, Terminal } from "../../platform/terminal.ts";
import { command, type OperatorRow } from "../command.ts";
import { find, type Resource } from "../find.ts";
import { LIST } from "../flags.ts";
import { mapListed } from "../lists/listed.ts";
import { type Fact, type ListView, showFacts, showList, showOthers } from "../lists/show-list.ts";
import { NOTHING_LISTED, type Service } from "../service.ts";
import { type Now, timeAgo } from "../times.ts";
import { healthText, loadEndpoints, showEndpoints } from "./endpoints.ts";

/** The models of the catalog. */
export const modelCommands: readonly OperatorRow[] = [
  command({
    name: "models list",
    aliases: ["ls"],
    summary: "list the models of the catalog",
    flags: LIST,
    examples: ["robot-policy models list", "robot-policy models list --json | jq -r '.models[].slug'"],
    run: listModels,
  }),
  command({
    name: "models show",
    summary: "show a model, its checkpoints and their requirements",
    argument: "MODEL",
    flags: {},
    examples: ["robot-policy models show pick-and-place"],
    run: (service, _flags, slug) => showOne(service, slug),
  }),
];

const MODEL: Resource<ModelView> = {
  noun: "model",
  list: "models list",
  by: "name",
  get: { row: operations.getModel, parameter: "slug" },
  isListOptional: true,
  load: loadModels,
  idOf: ({ slug }) => slug,
  namesOf: () => [],
  isOnlyShown: true,
};

/** A model, with the health of its endpoints. */
interface ListedModel {
  readonly model: ModelView;
  readonly health: string;
}

const MODELS: ListView<ListedModel> = {
  headers: ["model", "name", "health", "vendor", "type", "license", "checkpoints", "regions"],
  prose: ["name", "vendor"],
  spare: ["checkpoints", "type", "license", "vendor", "regions"],
  row: ({ model, health }) => [
    model.slug,
    model.display_name ?? "",
    health,
    model.vendor ?? "",
    model.model_type ?? "",
    model.license_tier ?? "",
    String(model.checkpoints?.length ?? ""),
    regionsOf(model).join(" "),
  ],
  empty: "The catalog has no models yet.",
};

function loadModels(service: Service) {
  return service.listAll(beyondSpec.listModels, ({ models }) => models);
}

/** The catalog, with the health of each model's endpoints. */
async function listModels(service: Service): Promise<ExitCode> {
  const result = await loadModels(service);
  if (result.kind !== "ok") return showList(service, result, MODELS);
  const endpoints = service.flags.json === true ? NOTHING_LISTED : await loadEndpoints(service);
  if (endpoints.kind !== "ok") return service.failed(endpoints);
  const withHealth = (model: ModelView) => ({ model, health: healthText(model, endpoints.value, service.terminal) });
  return showList(service, { ...result, value: mapListed(result.value, withHealth) }, MODELS);
}

/** `--json` prints the service's answer with `endpoints` added, null where the service does not show them. */
async function showOne(service: Service, slug: string): Promise<ExitCode> {
  const found = await find(service, MODEL, slug);
  if (typeof found === "number") return found;
  const { value: model, document } = found;
  const loaded = await loadEndpoints(service);
  if (loaded.kind !== "ok") return service.failed(loaded);
  const endpoints = loaded.value?.filter(({ model_slug: modelSlug }) => modelSlug === model.slug) ?? null;
  return service.answer(Object.assign({}, document, { endpoints }), () => {
    showModel(model, endpoints ?? [], service.terminal, service.now());
    showOthers(document, modelViewSchema, service.terminal);
  });
}

function showModel(model: ModelView, endpoints: readonly EndpointView[], terminal: Terminal, now: Now): void {
  showFacts(terminal, [
    ["model", model.slug],
    ["name", model.display_name ?? ""],
    ["vendor", model.vendor ?? ""],
    ["type", model.model_type ?? ""],
    ["license", model.license_tier ?? ""],
    ["in the catalog", timeAgo(model.created_at, now)],
  ]);
  for (const { id, created_at: createdAt, regions, requirements } of model.checkpoints ?? []) {
    const isDefault = id === model.default_checkpoint_id;
    terminal.heading(`checkpoint ${id}`, isDefault ? " (default)" : "");
    const own = endpoints.filter(({ checkpoint_id: checkpointId }) => checkpointId === id);
    showFacts(terminal, [
      ["created", timeAgo(createdAt, now)],
      ...Object.entries(requirements ?? {}).map(needFact),
      // The endpoint table shows the regions already.
      ["regions", own.length > 0 ? "" : (regions?.join(" ") ?? "")],
    ]);
    if (own.length > 0) showEndpoints(own, terminal, now);
  }
}

/** The value is empty where the checkpoint requires nothing. Unknown requirements are shown as JSON. */
function needFact([name, value]: readonly [string, unknown]): Fact {
  switch (name) {
    case "robot_types":
      return ["needs type", textsIn(value).join(" or ")];
    case "camera_roles":
      return ["needs cameras", textsIn(value).join(", ")];
    case "state_axes":
      return ["needs state axes", value === null ? "" : axesInWords(value)];
    case "action_axes":
      return ["needs action axes", value === null ? "" : axesInWords(value)];
  }
  const text = typeof value === "string" ? value : JSON.stringify(value ?? "");
  return [`needs ${name.replaceAll("_", " ")}`, text === '""' ? "" : text];
}

function regionsOf({ checkpoints }: ModelView): readonly string[] {
  return [...new Set((checkpoints ?? []).flatMap(({ regions }) => regions ?? []))].toSorted();
}
