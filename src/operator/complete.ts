import { parseArgs } from "node:util";

import { beyondSpec, operations } from "../api/api.ts";
import { ROBOT_TEXT_NAMES } from "../api/robot-texts.ts";
import type { RobotView } from "../api/robot-views.ts";
import type { CallResult } from "../client/call-result.ts";
import { READY_CATALOG } from "../manifest/catalog/ids.ts";
import { EXIT, type ExitCode } from "../platform/terminal.ts";
import { visible } from "../platform/text/visible.ts";
import { within } from "../platform/clock.ts";
import type { OperatorContext } from "./context.ts";
import { isCurrent, listCurrentDeployments } from "./deployments/find.ts";
import { defined } from "../platform/defined.ts";
import type { OperatorFlags } from "./flags.ts";
import { itemsIn, type Listed } from "./lists/listed.ts";
import { contextFilesOf } from "./logins/choose-service.ts";
import { withService } from "./operator.ts";
import type { Service } from "./service.ts";

/** How long a person waits after pressing Tab. */
const PATIENCE_MS = 1000;

/**
 * Called by the completion scripts: prints the names of one kind, one per line, or none if the service does not answer in time. Errors go to
 * stderr, which the scripts discard.
 *
 * @param words the kind, then the words typed so far, from which the flags that choose the service are read.
 */
export async function completeNames(
  [kind = "", ...words]: readonly string[],
  context: OperatorContext,
): Promise<ExitCode> {
  const { terminal, machine, signal } = context;
  const asked = namesOf(kind, serviceFlags(words), context);
  const names = await within(asked, PATIENCE_MS, machine.clock, signal).catch((error: unknown) => {
    if (!signal.aborted) throw error;
    return null;
  });
  // The scripts take each line as it is, so names with control characters are left out.
  for (const name of new Set(names ?? [])) if (!/\p{Cc}/u.test(name) && visible(name) === name) terminal.print(name);
  return EXIT.ok;
}

async function namesOf(kind: string, flags: OperatorFlags, context: OperatorContext): Promise<readonly string[]> {
  if (kind === "contexts") return (await contextFilesOf(context)?.names()) ?? [];
  let names: readonly string[] = [];
  await withService(flags, context, async (service) => {
    names = await askFor(kind, service);
    return EXIT.ok;
  });
  return names;
}

async function askFor(kind: string, service: Service): Promise<readonly string[]> {
  switch (kind) {
    case "robots":
      return namesIn(await service.listAll(operations.listRobots, (robots) => robots), ({ name }) => name);
    case "fleets":
      return namesIn(await service.listAll(operations.listFleets, (fleets) => fleets), ({ name }) => name);
    case "models":
      return namesIn(await service.listAll(beyondSpec.listModels, ({ models }) => models), ({ slug }) => slug);
    case "deployments":
      // By robot: nobody types deployment ids.
      return namesIn(await listCurrentDeployments(service), (deployment) =>
        isCurrent(deployment) ? deployment.robot : null,
      );
    case "codes":
      return namesIn(
        await service.listAll(beyondSpec.listEnrolments, ({ items }) => items),
        ({ user_code: code }) => code,
      );
    case "keys":
      return namesIn(
        await service.listAll(operations.listApiKeys, ({ items }) => items),
        ({ label, revoked_at: revokedAt }) => ((revokedAt ?? null) === null ? label : null),
      );
    case "webhooks":
      return namesIn(await service.listAll(beyondSpec.listWebhooks, ({ items }) => items), ({ id }) => id);
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
  const result = await service.listAll(operations.listRobots, (robots) => robots);
  const values = result.kind === "ok" ? itemsIn(result.value).flatMap(valuesOf) : [];
  return values.filter((value) => value !== null).toSorted();
}

function namesIn<Item>(
  listed: CallResult<Listed<Item>>,
  nameOf: (item: Item) => string | null | undefined,
): readonly string[] {
  return listed.kind === "ok" ? itemsIn(listed.value).flatMap((item) => nameOf(item) ?? []) : [];
}

/** Lenient, because the line is incomplete and may contain flags of any command. */
function serviceFlags(words: readonly string[]): OperatorFlags {
  const options = {
    context: { type: "string" },
    url: { type: "string" },
    "key-file": { type: "string" },
    "ca-file": { type: "string" },
    "allow-insecure": { type: "boolean" },
  } as const;
  const { values } = parseArgs({ args: [...words], options, strict: false });
  const textOf = (name: "context" | "url" | "key-file" | "ca-file") => {
    const value = values[name];
    return typeof value === "string" ? value : undefined;
  };
  return defined({
    context: textOf("context"),
    url: textOf("url"),
    keyFile: textOf("key-file"),
    caFile: textOf("ca-file"),
    allowInsecure: values["allow-insecure"] === true ? true : undefined,
  });
}
