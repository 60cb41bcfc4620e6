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
  let names: readonly (string | null | undefined)[] = [];
  await withService(flags.service, context, "complete names", async (service) => {
    names = await askFor(kind, service);
    return EXIT.ok;
  });
  return names.filter((name) => typeof name === "string");
}

async function askFor(kind: string, service: Service): Promise<readonly (string | null | undefined)[]> {
  switch (kind) {
    case "fleets":
      return itemsOf(await service.listAll(operations.listFleets, (fleets) => fleets)).map(({ name }) => name);
    case "models":
      return itemsOf(await service.listAll(beyondSpec.listModels, ({ models }) => models)).map(({ slug }) => slug);
    case "deployments":
      // By robot: nobody types deployment ids.
      return itemsOf(await listCurrentDeployments(service))
        .filter(isCurrent)
        .map(({ robot }) => robot);
    case "codes":
      return itemsOf(await listEnrolments(service)).map(({ user_code: code }) => code);
    case "keys":
      return itemsOf(await service.listAll(operations.listApiKeys, ({ items }) => items))
        .filter(({ revoked_at: revokedAt }) => (revokedAt ?? null) === null)
        .map(({ label }) => label);
    case "webhooks":
      return itemsOf(await listWebhooks(service)).map(({ id }) => id);
    case "catalog":
      return [...READY_CATALOG.keys(), ...(await askFor("types", service))];
  }
  // The others are values that robots have.
  const robots = itemsOf(await listRobots(service));
  return robots.flatMap((robot) => valuesOf(kind, robot)).toSorted();
}

function valuesOf(kind: string, robot: RobotView): readonly (string | null)[] {
  switch (kind) {
    case "robots":
      return [robot.name];
    case "regions":
      return [robot.region];
    case "types":
      return [robot.robot_type_id];
    case "labels":
      return Object.entries(robot.labels).map(([name, value]) => `${name}=${value}`);
  }
  const text = ROBOT_TEXT_NAMES.find((name) => kind === `${name}s`);
  return text === undefined ? [] : [robot[text]];
}

function itemsOf<Item>(listed: CallResult<Listed<Item>>): readonly Item[] {
  return listed.kind === "ok" ? itemsIn(listed.value) : [];
}
