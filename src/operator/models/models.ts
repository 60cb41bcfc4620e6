import { beyondSpec, operations } from "../../api/api.ts";
import type { EndpointView } from "../../api/endpoints.ts";
import type { ModelView } from "../../api/models.ts";
import { axesInWords, textsIn } from "../../api/words/requirements.ts";
import type { ExitCode, Terminal } from "../../platform/terminal.ts";
import type { OperatorCommand } from "../context.ts";
import { isUnknownOperation, showAsItIs } from "../failure.ts";
import { NOTHING_LISTED } from "../if-offered.ts";
import type { ListView } from "../lists/columns.ts";
import { type LoadList, mapListed } from "../lists/listed.ts";
import { type Fact, showFacts } from "../lists/show-facts.ts";
import { showList } from "../lists/show-list.ts";
import { withNamed, withService } from "../operator.ts";
import { refuseUnknown } from "../refuse.ts";
import type { Answer, Service } from "../service.ts";
import { healthText, loadEndpoints, showEndpoints } from "./endpoints.ts";
import { type Now, timeAgo } from "../times.ts";

/** A model, with the health of its endpoints. */
interface ListedModel {
  readonly model: ModelView;
  readonly health: string;
}

const modelsView: ListView<ListedModel> = {
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
  id: ({ model }) => model.slug,
  beside: ({ health }) => health,
  empty: "The catalog has no models yet.",
};

/** `models list`: the catalog, with the health of each model's endpoints. */
export const modelsList: OperatorCommand = (flags, context) =>
  withService(flags, context, (service) => {
    const load: LoadList<ListedModel> = async () => {
      const result = await service.listAll(beyondSpec.listModels, ({ models }) => models);
      if (result.kind !== "ok") return result;
      const endpoints = flags.json === true ? NOTHING_LISTED : await loadEndpoints(service);
      if (endpoints.kind !== "ok") return endpoints;
      const withHealth = (model: ModelView) => ({
        model,
        health: healthText(model, endpoints.value, service.terminal),
      });
      return { ...result, value: mapListed(result.value, withHealth) };
    };
    const fix = "robot-policy models show MODEL shows one by its name";
    return showList(service, load, modelsView, { missing: ["does not list its models", fix] });
  });

/**
 * `models show MODEL`: one model, with its requirements and its endpoints. `--json` prints the service's answer with `endpoints` added, null
 * where the service does not show them.
 */
export const modelsShow: OperatorCommand = (flags, context, slug) =>
  withNamed(findModel, flags, context, slug, async (service, { value: model, document }) => {
    const loaded = await loadEndpoints(service);
    if (loaded.kind !== "ok") return service.failed(loaded);
    const endpoints = loaded.value?.filter(({ model_slug: modelSlug }) => modelSlug === model.slug) ?? null;
    return service.answer(Object.assign({}, document, { endpoints }), () =>
      showModel(model, endpoints ?? [], service.terminal, service.now()),
    );
  });

async function findModel(service: Service, slug: string): Promise<Answer<ModelView> | ExitCode> {
  const result = await service.call(operations.getModel, { parameters: { slug } });
  if (result.kind === "ok") return result.value;
  if (result.kind !== "refused" || result.status !== 404)
    return showAsItIs(result, service.terminal) ?? service.failed(result);
  // Every service has this operation, so a 404 of a web framework also means that the model is unknown.
  const fix = `robot-policy models list shows all models${isUnknownOperation(result) ? "; check --url, too" : ""}`;
  return refuseUnknown(`no model has the name ${slug}`, fix, service.terminal);
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
