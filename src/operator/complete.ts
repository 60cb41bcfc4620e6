import { beyondSpec, operations } from "../api/api.ts";
import { ROBOT_TEXT_NAMES } from "../api/robot-texts.ts";
import type { RobotView } from "../api/robot-views.ts";
import type { CallResult } from "../client/call-result.ts";
import { READY_CATALOG } from "../manifest/catalog/ids.ts";
import { within } from "../platform/clock.ts";
import { EXIT } from "../platform/terminal.ts";
import type { OperatorContext } from "./context.ts";
import { isCurrent } from "../views/deployments.ts";
import { listCurrentDeployments } from "./deployments/deployments.ts";
import { listEnrolments } from "./enrolments/enrolments.ts";
import { readFlags } from "./flags.ts";
import { itemsIn, type Listed } from "./lists/listed.ts";
import { readContexts } from "./logins/contexts.ts";
import { withService } from "./operator.ts";
import { listRobots } from "./robots/find.ts";
import type { Service } from "./service.ts";
import { listWebhooks } from "./webhooks/webhooks.ts";

/** How long a person waits after pressing Tab. */
const PATIENCE_MS = 1000;

/**
 * The names of one kind that the service knows, for completion; none if it does not answer in time. Errors go to stderr, which the scripts
 * discard.
 *
 * @param given the flags that were typed, which may choose the service.
 */
export async function namesOfKind(kind: string, given: object, context: OperatorContext): Promise<readonly string[]> {
  const { machine, signal } = context;
  const asked = askService(kind, given, context);
  const names = await within(asked, PATIENCE_MS, machine.clock, signal).catch((error: unknown) => {
    if (!signal.aborted) throw error;
    return null;
  });
  return names ?? [];
}

async function askService(kind: string, given: object, context: OperatorContext): Promise<readonly string[]> {
  if (kind === "contexts") {
    const contexts = await readContexts(context);
    return "code" in contexts ? [] : contexts.all.map(({ name }) => name);
  }
  const flags = readFlags({}, given);
  if ("code" in flags) return [];
  let names: readonly string[] = [];
  await withService(flags.service, context, "complete names", async (service) => {
    names = await askFor(kind, service);
    return EXIT.ok;
  });
  return names;
}

async function askFor(kind: string, service: Service): Promise<readonly string[]> {
  switch (kind) {
    case "robots":
      return namesIn(await listRobots(service), ({ name }) => name);
    case "fleets":
      return namesIn(await service.listAll(operations.listFleets, (fleets) => fleets), ({ name }) => name);
    case "models":
      return namesIn(await service.listAll(beyondSpec.listModels, ({ models }) => models), ({ slug }) => slug);
    case "deployments":
      // By robot: nobody types deployment ids.
      return namesIn(await listCurrentDeployments(service), (each) => (isCurrent(each) ? each.robot : null));
    case "codes":
      return namesIn(await listEnrolments(service), ({ user_code: code }) => code);
    case "keys":
      return namesIn(
        await service.listAll(operations.listApiKeys, ({ items }) => items),
        ({ label, revoked_at: revokedAt }) => ((revokedAt ?? null) === null ? label : null),
      );
    case "webhooks":
      return namesIn(await listWebhooks(service), ({ id }) => id);
    case "regions":
      return valuesIn(service, ({ region }) => [region]);
    case "types":
      return valuesIn(service, ({ robot_type_id: robotTypeId }) => [robotTypeId]);
    case "labels":
      return valuesIn(service, ({ labels }) => Object.entries(labels).map(([name, value]) => `${name}=${value}`));
    case "catalog":
      return [...READY_CATALOG.keys(), ...(await askFor("types", service))];
  }
  const text = ROBOT_TEXT_NAMES.find((name) => kind === `${name}s`);
  return text === undefined ? [] : valuesIn(service, (robot) => [robot[text]]);
}

/** The values of a member of all robots, sorted. */
async function valuesIn(
  service: Service,
  valuesOf: (robot: RobotView) => readonly (string | null)[],
): Promise<readonly string[]> {
  const result = await listRobots(service);
  const values = result.kind === "ok" ? itemsIn(result.value).flatMap(valuesOf) : [];
  return values.filter((value) => value !== null).toSorted();
}

function namesIn<Item>(
  listed: CallResult<Listed<Item>>,
  nameOf: (item: Item) => string | null | undefined,
): readonly string[] {
  return listed.kind === "ok" ? itemsIn(listed.value).flatMap((item) => nameOf(item) ?? []) : [];
}
