import type { CallResult } from "../client/call-result.ts";
import type { OperationOf } from "../client/operation-client.ts";
import { isPathParameter } from "../client/send-request.ts";
import { EXIT, type ExitCode } from "../platform/terminal.ts";
import { isNothingNamed, isUnknownOperation } from "./failure.ts";
import type { Listed } from "./lists/listed.ts";
import { showAsItIs } from "./lists/show-list.ts";
import { refuse, refuseUnknown, refuseUsage } from "./refuse.ts";
import type { Answer, Service } from "./service.ts";

/** What things of one kind are called, and how one is found by the name that an operator gives. */
export interface Resource<Item> {
  /** `robot`, for sentences. */
  readonly noun: string;
  /** The command that shows all of them: `robots list`. */
  readonly list: string;
  /** What they are found by, for sentences: `name or id`. */
  readonly by: string;
  /** The operation that shows one item. `takes` says which names it accepts; the list is searched for all others. */
  readonly get?: { readonly row: OperationOf<Item>; readonly parameter: string; readonly takes?: RegExp };
  /** True if a service may lack the operation that lists. */
  readonly isListOptional?: true;
  load(service: Service): Promise<CallResult<Listed<Item>>>;
  idOf(item: Item): string;
  /** What an operator may call it beside its id. */
  namesOf(item: Item): readonly (string | null | undefined)[];
  /** No command changes one: an answer that this program cannot read is shown as it is. */
  readonly isOnlyShown?: true;
  /** A name may be something that no path can have, such as a URL. */
  readonly takesAnyText?: true;
}

/** Finds the one thing with this id, else with this name. @returns an exit code after reporting that there is none, or more than one. */
export async function find<Item>(
  service: Service,
  resource: Resource<Item>,
  name: string,
): Promise<Answer<Item> | ExitCode> {
  const { terminal } = service;
  const { noun, get, load, by } = resource;
  if (resource.takesAnyText === true ? name.trim() === "" : !isPathParameter(name)) {
    return refuseUsage(`'${name}' is not a valid ${by}`, `give the ${by} of a ${noun}, as list shows it`, terminal);
  }
  if (get !== undefined && (get.takes?.test(name) ?? true)) {
    const result = await service.call(get.row, { parameters: { [get.parameter]: name } });
    if (result.kind === "ok") return result.value;
    const isUnknown = isUnknownOperation(result) || isNothingNamed(result);
    const shown = resource.isOnlyShown === true ? showAsItIs(result, service) : null;
    if (!isUnknown) return shown ?? service.failed(result);
    if (isNothingNamed(result) && resource.isListOptional !== true) return refuseNothing(service, resource, name);
  }
  const listed = await load(service);
  if (listed.kind !== "ok") {
    const isUnlisted = resource.isListOptional === true && isUnknownOperation(listed);
    return isUnlisted ? refuseNothing(service, resource, name, "check the name") : service.failed(listed);
  }
  const { records } = listed.value;
  const own = records.find(({ value }) => resource.idOf(value) === name);
  if (own !== undefined) return own;
  const [first, ...more] = records.filter(({ value }) => resource.namesOf(value).includes(name));
  if (first === undefined) return refuseNothing(service, resource, name);
  if (more.length === 0) return first;
  const ids = [first, ...more].map(({ value }) => resource.idOf(value)).join(", ");
  const what = `${more.length + 1} ${noun}s have the ${by} ${name}`;
  return refuse({ code: "ambiguous", what, fix: `give the id of one: ${ids}` }, EXIT.usage, terminal);
}

/** Runs `act` with what `find` finds. */
export async function withFound<Item>(
  service: Service,
  resource: Resource<Item>,
  name: string,
  act: (item: Item, document: unknown) => Promise<ExitCode> | ExitCode,
): Promise<ExitCode> {
  const found = await find(service, resource, name);
  return typeof found === "number" ? found : act(found.value, found.document);
}

function refuseNothing<Item>(
  { terminal }: Service,
  { noun, by, list }: Resource<Item>,
  name: string,
  fix = `robot-policy ${list} shows all ${noun}s`,
): ExitCode {
  return refuseUnknown(`no ${noun} has the ${by} ${name}`, fix, terminal);
}
