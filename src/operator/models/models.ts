import { beyondSpec, operations } from "../../api/api.ts";
import type { EndpointView } from "../../api/endpoints.ts";
import { type ModelView, modelViewSchema } from "../../api/models.ts";
import type { ExitCode, Terminal } from "../../platform/terminal.ts";
import { checkpointFacts, ENDPOINT_COLUMNS, MODELS, offeredModel } from "../../views/models.ts";
import { command, type OperatorRow } from "../command.ts";
import { type Resource, withFound } from "../find.ts";
import { LIST } from "../flags.ts";
import { mapListed } from "../lists/listed.ts";
import { showFacts, showList, showOthers } from "../lists/show-list.ts";
import { factTexts, showColumns, tableOf } from "../lists/shown.ts";
import { listIfOffered, NOTHING_LISTED, type Service } from "../service.ts";
import type { Now } from "../times.ts";

/** The models of the catalog. */
export const modelCommands: readonly OperatorRow[] = [
  command({
    name: "models list",
    aliases: ["ls"],
    summary: "list the models of the catalog",
    flags: LIST,
    examples: [
      "robot-policy models list --columns model,health,regions",
      "robot-policy models list --json | jq -r '.models[].slug'",
    ],
    run: listModels,
  }),
  command({
    name: "models show",
    summary: "show a model, its checkpoints and their requirements",
    argument: "MODEL",
    flags: {},
    examples: ["robot-policy models show pick-and-place"],
    run: (service, _flags, slug) =>
      withFound(service, MODEL, slug, (model, document) => showOne(service, model, document)),
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

function loadModels(service: Service) {
  return service.listAll(beyondSpec.listModels, ({ models }) => models);
}

/** The catalog, with the health of each model's endpoints. */
async function listModels(service: Service): Promise<ExitCode> {
  const view = tableOf(MODELS);
  const result = await loadModels(service);
  if (result.kind !== "ok") return showList(service, result, view);
  const endpoints = service.flags.json === true ? NOTHING_LISTED : await loadEndpoints(service);
  if (endpoints.kind !== "ok") return service.failed(endpoints);
  return showList(service, { ...result, value: mapListed(result.value, offeredModel(endpoints.value)) }, view);
}

/** The health of all endpoints in the catalog; null where the service does not show it. */
function loadEndpoints(service: Service) {
  return listIfOffered(service, beyondSpec.listEndpoints, ({ items }) => items);
}

/** `--json` prints the service's answer with `endpoints` added, null where the service does not show them. */
async function showOne(service: Service, model: ModelView, document: unknown): Promise<ExitCode> {
  const loaded = await loadEndpoints(service);
  if (loaded.kind !== "ok") return service.failed(loaded);
  const endpoints = loaded.value?.filter(({ model_slug: modelSlug }) => modelSlug === model.slug) ?? null;
  return service.answer(Object.assign({}, document, { endpoints }), () => {
    showModel(model, endpoints ?? [], service.terminal, service.now());
    showOthers(document, modelViewSchema, service.terminal);
  });
}

function showModel(model: ModelView, endpoints: readonly EndpointView[], terminal: Terminal, now: Now): void {
  showFacts(terminal, factTexts(MODELS.factsOf({ model, endpoints }), now));
  for (const checkpoint of model.checkpoints ?? []) {
    const { id, regions } = checkpoint;
    terminal.heading(`checkpoint ${id}`, id === model.default_checkpoint_id ? " (default)" : "");
    const own = endpoints.filter(({ checkpoint_id: checkpointId }) => checkpointId === id);
    showFacts(terminal, factTexts(checkpointFacts(checkpoint), now));
    if (own.length > 0) showColumns(ENDPOINT_COLUMNS, own, terminal, now);
    // The table shows the regions already.
    else showFacts(terminal, [["regions", regions?.join(" ") ?? ""]]);
  }
}
