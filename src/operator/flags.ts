/**
 * A flag is declared once: a schema of its value, and beside it what help, completion and errors say of it, and its place in the body of the
 * request. The flags of a command are an object of these, in its declaration.
 */
import * as z from "zod";

import type { FlagRow } from "../cli/command-table.ts";
import { nearest } from "../documents/nearest.ts";
import type { Problem } from "../platform/terminal.ts";

/** What a flag is beside the type of its value. */
export interface FlagFacts extends Omit<FlagRow, "flag"> {
  /** `<file>`; none for a flag that is on or off. */
  readonly value?: string;
  /** The place of its value in the body of the request: `selection.selector.site`. */
  readonly place?: string;
  /** `browser` is given as `--no-browser`, and false then. */
  readonly negated?: true;
}

type More = Omit<FlagFacts, "summary" | "value" | "repeats" | "choices">;

const FACTS = z.registry<FlagFacts>();

/** The flags of a command, each by its name in camelCase: `dryRun` is `--dry-run`. */
export type Flags = Readonly<Record<string, z.ZodOptional>>;

/** The values of flags; undefined where one is not given. */
export type Given<Declared extends Flags> = z.output<z.ZodObject<Declared>>;

function flag<Schema extends z.ZodType>(schema: Schema, facts: FlagFacts): z.ZodOptional<Schema> {
  const declared = schema.optional();
  FACTS.add(declared, facts);
  return declared;
}

export function onOff(summary: string, more: More = {}) {
  return flag(z.boolean(), { summary, ...more });
}

export function text(value: string, summary: string, more: More = {}) {
  // As of a shell variable that is not set.
  return flag(z.string().min(1, "is empty"), { value, summary, ...more });
}

/** A flag with a text, which may be given several times. */
export function texts(value: string, summary: string, more: More = {}) {
  return flag(z.array(z.string()).readonly(), { value, summary, repeats: true, ...more });
}

export function choice<const Choices extends readonly string[]>(
  value: string,
  summary: string,
  choices: Choices,
  place?: string,
) {
  return flag(z.enum(choices), { value, summary, choices, ...(place === undefined ? {} : { place }) });
}

/** A text of a form. @param read returns the value, or what is wrong with the text: it ends the sentence `--flag 'text' is …`. */
export function formed<Value>(
  value: string,
  summary: string,
  read: (written: string) => { readonly value: Value } | Misread,
  more: More = {},
) {
  return flag(z.string().transform(reading(read)), { value, summary, ...more });
}

/** The same, given several times. */
export function formedTexts<Value>(
  value: string,
  summary: string,
  read: (written: string) => { readonly value: Value } | Misread,
  more: More = {},
) {
  const schema = z.array(z.string().transform(reading(read))).readonly();
  return flag(schema, { value, summary, repeats: true, ...more });
}

interface Misread {
  readonly isNo: string;
  readonly fix: string;
}

function reading<Value>(read: (written: string) => { readonly value: Value } | Misread) {
  return (written: string, ctx: z.core.$RefinementCtx): Value => {
    const result = read(written);
    if ("value" in result) return result.value;
    return refuse(`'${written}' ${result.isNo}`, result.fix, ctx);
  };
}

function refuse(message: string, fix: string, ctx: z.core.$RefinementCtx): never {
  ctx.addIssue({ code: "custom", message, params: { fix } });
  return z.NEVER;
}

/** A whole number within these bounds. */
export function wholeNumber(
  value: string,
  summary: string,
  { minimum = 0, maximum }: { readonly minimum?: number; readonly maximum: number },
  more: More = {},
) {
  const read = (written: string) => {
    const number = /^\d{1,9}$/.test(written) ? Number(written) : Number.NaN;
    if (number >= minimum && number <= maximum) return { value: number };
    return { isNo: `is not a number from ${minimum} to ${maximum}`, fix: "give a whole number in this range" };
  };
  return formed(value, summary, read, more);
}

/** One of these words, several times; a mistyped one is corrected. @param what each is, with its article. */
export function wordsOf(value: string, summary: string, words: readonly string[], what: string, more: More = {}) {
  const read = (written: string) =>
    words.includes(written) ? { value: written } : { isNo: `is not ${what}`, fix: wordFix(written, words) };
  return formedTexts(value, summary, read, { suggestions: words, ...more });
}

/** Labels, each as `name=value`. */
export function labels(summary: string, more: More = {}) {
  const schema = z.array(z.string()).transform((written, ctx): Readonly<Record<string, string>> => {
    const read = new Map<string, string>();
    for (const each of written) {
      const [name = "", ...value] = each.split("=");
      if (name === "" || value.length === 0) refuse(`'${each}' is not name=value`, "write it as --label cell=4", ctx);
      else if (read.has(name)) refuse(`'${name}' is given twice`, "a label has one value; leave one of them out", ctx);
      read.set(name, value.join("="));
    }
    return Object.fromEntries(read);
  });
  return flag(schema, { value: "<name=value>", summary, repeats: true, names: "labels", ...more });
}

/** What to do about a word that is none of these. */
export function wordFix(written: string, words: readonly string[], otherwise = "it is one of"): string {
  const meant = nearest(written, words);
  return meant === undefined ? `${otherwise} ${words.join(", ")}` : `did you mean ${meant}?`;
}

const UNITS_MS = { s: 1000, m: 60_000, h: 3_600_000 } as const;
const LONGEST_MS = 7 * 24 * UNITS_MS.h;

/** Reads `90s`, `10m`, `2h`, or a number of seconds, as milliseconds. */
export function readDuration(written: string) {
  const [, count, unit = ""] = /^(\d{1,7})([smh]?)$/.exec(written) ?? [];
  const unitMs = unit === "" ? UNITS_MS.s : Object.entries(UNITS_MS).find(([name]) => name === unit)?.[1];
  const durationMs = Number(count) * (unitMs ?? Number.NaN);
  if (durationMs <= LONGEST_MS) return { value: durationMs };
  return { isNo: "is not a duration", fix: "write it as 90s, 10m or 2h, a week at most" };
}

/** Of every command. */
export const COMMON = {
  context: text("<name>", "saved service to use (default: ROBOT_POLICY_CONTEXT, else the current context)", {
    names: "contexts",
  }),
  url: text(
    "<url>",
    "address of the service (default: that of --context, else ROBOT_POLICY_URL, else the current context's)",
  ),
  keyFile: text(
    "<file>",
    "file with the API key (default: the key in ROBOT_POLICY_API_KEY, else the context's login or key)",
  ),
  caFile: text("<file>", "PEM file of a private certificate authority"),
  allowInsecure: onOff("allow plain http to another machine"),
  json: onOff("print one JSON document"),
};

/** Of every list. */
export const LIST = { columns: text("<names>", "show only these columns, in this order, such as name,id") };

/** Of lists that a spreadsheet opens. */
export const CSV = { csv: onOff("print comma-separated values, for a spreadsheet", { excludes: ["--json"] }) };

/** Flags of every command that selects robots. Their places are in the body of a fleet. */
export const SELECTOR = {
  site: text("<site>", "robots at this site", { names: "sites", place: "selection.selector.site" }),
  region: text("<region>", "robots in this region", { names: "regions", place: "selection.selector.region" }),
  type: text("<type>", "robots of this type", { names: "types", place: "selection.selector.robot_type_id" }),
  label: labels("robots with this label; repeatable, all labels must match", { place: "selection.selector.labels" }),
};

/** Of every command that changes something. */
export const DRY_RUN = { dryRun: onOff("show the request and send nothing") };

/** Of every command that ends or replaces something. */
export const CHANGE = { yes: onOff("do not ask for confirmation; only a terminal is asked"), ...DRY_RUN };

/** Of every command that waits. */
export function waiting(summary: string) {
  return {
    wait: onOff(summary),
    timeout: formed("<time>", "longest wait of --wait: 90s, 10m, 2h (default: 30m)", readDuration, { needs: "--wait" }),
  };
}

/** The flags that `service.flags` may have. A command has those that it declares. */
const SERVICE = { ...COMMON, ...LIST, ...CSV, ...CHANGE, ...waiting("") };
export type ServiceFlags = Given<typeof SERVICE>;

/** The values of the flags of a command, and of those that every service knows; a problem for the first that is wrong. */
export function readFlags<Declared extends Flags>(
  declared: Declared,
  given: object,
): { readonly own: Given<Declared>; readonly service: ServiceFlags } | Problem {
  const own = z.object(declared).safeParse(given);
  if (!own.success) return problemOf(own.error);
  const service = z.object(SERVICE).safeParse(given);
  return service.success ? { own: own.data, service: service.data } : problemOf(service.error);
}

const fixSchema = z.object({ fix: z.string() });

function problemOf({ issues: [issue] }: z.ZodError): Problem {
  const name = String(issue?.path[0] ?? "");
  const { data } = fixSchema.safeParse(issue?.code === "custom" ? issue.params : null);
  return {
    code: "usage",
    what: `${flagName(name)} ${issue?.message ?? ""}`,
    fix: data?.fix ?? "give a value, or leave it out",
  };
}

/** `keyFile` → `--key-file`. */
export function flagName(name: string): string {
  return `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

/** The rows that the parser, help, completion and manual pages are made of. */
export function flagRows(declared: Flags): readonly FlagRow[] {
  return Object.entries(declared).map(([name, schema]) => {
    const { value, negated, place: _place, ...row } = factsOf(schema);
    const word = negated === true ? flagName(name).replace("--", "--no-") : flagName(name);
    return Object.assign(row, { flag: value === undefined ? word : `${word} ${value}` });
  });
}

/** The places of the flags in the body, each split at its dots. */
export function placesOf(declared: Flags): readonly { readonly name: string; readonly place: readonly string[] }[] {
  return Object.entries(declared).flatMap(([name, schema]) => {
    const { place } = factsOf(schema);
    return place === undefined ? [] : { name, place: place.split(".") };
  });
}

function factsOf(schema: z.ZodOptional): FlagFacts {
  const facts = FACTS.get(schema);
  if (facts === undefined) throw new Error("A flag is declared without its facts");
  return facts;
}
