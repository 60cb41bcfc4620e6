import * as z from "zod";

import type { CallResult } from "../../client/call-result.ts";
import { isObject } from "../../platform/is-object.ts";
import type { ExitCode, Terminal } from "../../platform/terminal.ts";
import { type Column, csvLines } from "../../views/view.ts";
import { documentOfFailure, type Failure } from "../failure.ts";
import { wordFix } from "../flags.ts";
import { refuseUsage } from "../refuse.ts";
import type { Service } from "../service.ts";
import { documentOf, itemsIn, type Listed } from "./listed.ts";
import { DOCUMENT_REMEDY, type ListView, noteHidden, printColumns, type TextFact } from "./shown.ts";

/** Shows a fetched list. */
export function showList<Item>(service: Service, result: CallResult<Listed<Item>>, view: ListView<Item>): ExitCode {
  if (result.kind !== "ok") return showAsItIs(result, service) ?? service.failed(result);
  return showRows(service, withOtherColumns(view, result.value), itemsIn(result.value), documentOf(result.value));
}

function withOtherColumns<Item>(view: ListView<Item>, { records }: Listed<Item>): ListView<Item> {
  const { schema } = view;
  if (schema === undefined) return view;
  const others = new Map(records.map(({ value, document }) => [value, membersIn(othersIn(document, schema))]));
  const names = [...new Set([...others.values()].flatMap((members) => Array.from(members.keys())))];
  const more = names.map((name): Column<Item> => {
    return { name, from: "terminal", show: (item) => oneLine(others.get(item)?.get(name)) };
  });
  return { ...view, columns: [...view.columns, ...more], usual: [...view.usual, ...names] };
}

/** Shows items as a table with the columns of `--columns`, or the document with `--json`; names the columns that the terminal is too narrow for. */
export function showRows<Item>(
  service: Service,
  view: ListView<Item>,
  items: readonly Item[],
  document: unknown,
): ExitCode {
  const { flags, terminal } = service;
  const { columns, below } = view;
  const named = namedColumns(flags);
  const columnOf = (name: string) => columns.filter((column) => column.name === name);
  const strange = named.find((name) => columnOf(name).length === 0);
  if (strange !== undefined || (flags.columns !== undefined && named.length === 0)) {
    const names = columns.map(({ name }) => name);
    return refuseUsage(
      `--columns '${strange ?? ""}' is not a column of this list`,
      wordFix(strange ?? "", names, "it has"),
      terminal,
    );
  }
  const isNamed = named.length > 0;
  return service.answer(document, () => {
    if (flags.csv === true) {
      const written = isNamed ? named.flatMap(columnOf) : (view.csvColumns ?? columns);
      terminal.printText(csvLines(written, items).join("\n"));
    } else if (items.length === 0) terminal.note(view.empty);
    else {
      const shown = (isNamed ? named : view.usual).flatMap(columnOf);
      const now = service.now();
      const hidden = printColumns(shown, items, terminal, now, isNamed);
      const unnamed = hidden.filter((name) => name !== below?.column);
      noteHidden(unnamed, "--columns shows them", terminal);
      if (below !== undefined && hidden.includes(below.column)) below.show(items, now);
    }
  });
}

/** Headers of the columns in `--columns`: `last-used` is the column `last used`. */
export function namedColumns({ columns }: { readonly columns?: string | undefined }): readonly string[] {
  const names = columns?.split(",").map((name) => name.trim().toLowerCase().replaceAll(/[-_]/g, " "));
  return names?.filter((name) => name !== "") ?? [];
}

/** Prints one name and value per line, without empty values. */
export function showFacts(terminal: Terminal, facts: readonly TextFact[]): void {
  for (const line of factLines(facts)) terminal.print(line);
}

/** The same on stderr, for what a person is shown before a question. */
export function noteFacts(terminal: Terminal, facts: readonly TextFact[]): void {
  for (const line of factLines(facts)) terminal.note(line);
}

function factLines(facts: readonly TextFact[]): readonly string[] {
  const given = facts.filter(([, value]) => value !== "");
  const width = Math.max(0, ...given.map(([name]) => name.length));
  return given.map(([name, value]) => `${name.padEnd(width)}  ${value}`);
}

/** Shows an answer that this program cannot read further, as of a service with other members. @returns success; null for any other failure. */
export function showAsItIs(failure: Failure, { answer, terminal }: Service): ExitCode | null {
  const document = documentOfFailure(failure);
  if (document === undefined) return null;
  terminal.note("This service names things otherwise than robot-policy knows. Its whole answer:");
  return answer(document, () => showDocument(document, terminal));
}

/** Shows the members of an answer that its schema does not know, below those that it knows. */
export function showOthers(document: unknown, schema: z.ZodType, terminal: Terminal): void {
  const others = othersIn(document, schema);
  if (Object.keys(others).length > 0) showDocument(others, terminal);
}

/** The same as names and values. */
export function otherFacts(document: unknown, schema: z.ZodType): readonly TextFact[] {
  return [...membersIn(othersIn(document, schema))].map(([name, value]) => [name, oneLine(value)]);
}

/** The members that the schema does not know; none where the service document allows no others. */
function othersIn(document: unknown, schema: z.ZodType): Readonly<Record<string, unknown>> {
  if (!(schema instanceof z.ZodObject) || schema.def.catchall === undefined || !isObject(document)) return {};
  return Object.fromEntries(Object.entries(document).filter(([name]) => !Object.hasOwn(schema.shape, name)));
}

/** Shows objects as names and values, and lists of objects as tables. */
function showDocument(document: unknown, terminal: Terminal): void {
  if (isListOfObjects(document)) showObjects(document, terminal);
  else if (!isObject(document)) terminal.printText(oneLine(document));
  else {
    const members = [...membersIn(document)];
    const lists = members.filter(([, value]) => isListOfObjects(value));
    const facts = members.filter(([, value]) => !isListOfObjects(value));
    showFacts(
      terminal,
      facts.map(([name, value]) => [name, oneLine(value)]),
    );
    for (const [name, value] of lists) {
      if (members.length > 1) terminal.heading(name);
      if (isListOfObjects(value)) showObjects(value, terminal);
    }
  }
}

/** A table with a column for each member that any of the objects has. */
function showObjects(objects: readonly object[], terminal: Terminal): void {
  const rows = objects.map((object) => membersIn(object));
  const headers = [...new Set(rows.flatMap((row) => Array.from(row.keys())))];
  const cells = rows.map((row) => headers.map((header) => oneLine(row.get(header))));
  const prose = headers.filter((_header, index) => cells.some((row) => row[index]?.includes(" ") === true));
  noteHidden(terminal.table(headers, cells, prose, headers.slice(1)), DOCUMENT_REMEDY, terminal);
}

/** The members of an object by their names, with those of objects in it: `deployment.state`. */
function membersIn(object: object): ReadonlyMap<string, unknown> {
  const members = new Map<string, unknown>();
  for (const [name, value] of Object.entries(object)) {
    if (!isObject(value)) members.set(name, value);
    else for (const [below, each] of membersIn(value)) members.set(`${name}.${below}`, each);
  }
  return members;
}

/** Empty for nothing. */
function oneLine(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (Array.isArray(value) && !value.some(isObject)) return value.map(oneLine).join(", ");
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

function isListOfObjects(value: unknown): value is readonly object[] {
  return Array.isArray(value) && value.length > 0 && value.every(isObject);
}
