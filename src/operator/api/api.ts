import { isTooDeep, ITEMS_PER_REQUEST, type PageQuery, readNextPage, TOO_DEEP } from "../../client/operation-client.ts";
import type { HttpAnswer } from "../../client/transport/transport.ts";
import { EXIT, type ExitCode, type Terminal } from "../../platform/terminal.ts";
import { parseJson } from "../../platform/text/parse-json.ts";
import { command, type OperatorRow } from "../command.ts";
import type { OperatorContext } from "../context.ts";
import { readGiven } from "../files/given-file.ts";
import { DRY_RUN, formedTexts, type Given, onOff, text } from "../flags.ts";
import { joinPages, NAMES_ITSELF, PAGES_LIMIT } from "../lists/listed.ts";
import { refuseFlags } from "../refuse.ts";
import type { RawRequest, Service } from "../service.ts";

const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"] as const;
/** Above the service's own limit, so that the service answers 413. */
const INPUT_LIMIT_BYTES = 2_097_152;

const API = {
  field: formedTexts(
    "<name=value>",
    "member of the body, or of the query with GET; numbers, true, false and null keep their types",
    readField,
  ),
  input: text("<file>", "file with the body, or - for stdin", { excludes: ["--field"] }),
  paginate: onOff("fetch all pages of a list, and join them into one document"),
  include: onOff("also print status and headers"),
  ...DRY_RUN,
};

type ApiFlags = Given<typeof API>;

/** Requests of the operator's own. */
export const apiCommands: readonly OperatorRow[] = [
  command({
    name: "api",
    summary: "send any request, and print the answer unchanged",
    argument: "METHOD [PATH]",
    flags: API,
    examples: [
      "robot-policy api /v1/robots --paginate",
      "robot-policy api POST /v1/me/api-keys --field label='cell 4'",
      `echo '{"selector": {"site": "plant-1"}}' | robot-policy api POST /v1/fleets/preview --input -`,
      "robot-policy api POST /v1/fleets --input fleet.json --dry-run",
    ],
    async run(service, flags, first, second) {
      const request = await readRequest(flags, service.context, first, second);
      if (request === null) return EXIT.usage;
      const isPaged = flags.paginate === true;
      const sent = isPaged ? { ...request, path: pagePath(request.path) } : request;
      if (flags.dryRun === true) return service.showRawRequest(sent);
      return isPaged ? pages(service, flags, sent) : once(service, flags, sent);
    },
  }),
];

interface Field {
  readonly name: string;
  readonly text: string;
  readonly value: string | number | boolean | null;
}

function readField(written: string) {
  const [name = "", ...rest] = written.split("=");
  if (name === "" || rest.length === 0) return { isNo: "is not a field", fix: "write it as name=value" };
  const given = rest.join("=");
  const isTyped = /^(?:true|false|null|-?(?:0|[1-9]\d{0,14})(?:\.\d{1,15})?)$/.test(given);
  const value: Field["value"] = isTyped ? JSON.parse(given) : given;
  return { value: { name, text: given, value } };
}

async function once(service: Service, flags: ApiFlags, request: RawRequest): Promise<ExitCode> {
  const { result, answer } = await service.send(request);
  if (answer?.complete === true) showAnswer(answer, flags, service);
  return result.kind === "ok" ? EXIT.ok : service.failed(result, { body: readJson(request.body ?? ""), isRaw: true });
}

/** The path of a page, as large as the service allows where the path does not say it. @param place of the page; {} for the first one. */
function pagePath(path: string, place: PageQuery = {}): string {
  // Not resolved against a base: a path such as `/\host` would name another host.
  const { pathname, searchParams } = new URL(`http://service${path}`);
  if (!searchParams.has("limit")) searchParams.set("limit", String(ITEMS_PER_REQUEST));
  for (const [name, value] of Object.entries(place)) searchParams.set(name, value);
  return `${pathname}?${searchParams.toString()}`;
}

async function pages(service: Service, flags: ApiFlags, first: RawRequest): Promise<ExitCode> {
  const { terminal } = service;
  const documents: unknown[] = [];
  let { path } = first;
  for (let page = 0; page < PAGES_LIMIT; page += 1) {
    const { result, answer } = await service.send({ ...first, path });
    if (result.kind !== "ok") {
      if (answer?.complete === true) showAnswer(answer, flags, service);
      return service.failed(result, { isRaw: true });
    }
    if (answer === null) break;
    const undecodable = (detail: string, isJson = true) =>
      service.failed({ kind: "undecodable", status: answer.status, detail, isJson });
    if (flags.include === true && service.flags.json !== true) showHead(answer, terminal);
    const document = parseJson(textOf(answer));
    if (document === undefined) return undecodable("a page of the list is not JSON", false);
    if (isTooDeep(document)) return undecodable(TOO_DEEP);
    documents.push(document);
    const place = readNextPage(answer.headers["link"]);
    if (place === null) break;
    // Fail instead of printing an incomplete list.
    if (page + 1 === PAGES_LIMIT) return undecodable(`the list has more than ${PAGES_LIMIT} pages`);
    const next = pagePath(path, place);
    if (next === path) return undecodable(NAMES_ITSELF);
    path = next;
  }
  terminal.json(joinPages(documents));
  return EXIT.ok;
}

function showAnswer(answer: HttpAnswer, { include }: ApiFlags, { flags: { json }, terminal }: Service): void {
  const text = textOf(answer);
  const document = readJson(text);
  if (json === true && include === true) {
    const { status, headers } = answer;
    terminal.json({ status, headers, body: document === undefined ? text : document });
    return;
  }
  if (include === true) showHead(answer, terminal);
  if (document !== undefined) terminal.json(document);
  else if (text !== "") terminal.printText(text.replace(/\n$/, ""));
}

function showHead({ status, headers }: HttpAnswer, terminal: Terminal): void {
  terminal.print(`HTTP ${status}`);
  for (const [name, value] of Object.entries(headers)) terminal.print(`${name}: ${value}`);
  terminal.print("");
}

/** @returns null after reporting what is wrong with flags and arguments. */
async function readRequest(
  { field: fields = [], input, paginate }: ApiFlags,
  context: OperatorContext,
  first: string,
  second: string,
): Promise<RawRequest | null> {
  const { terminal } = context;
  const path = second === "" ? first : second;
  const hasBody = fields.length > 0 || input !== undefined;
  const usual = hasBody && paginate !== true ? "POST" : "GET";
  const word = second === "" ? usual : first.toUpperCase();
  const method = METHODS.find((each) => each === word);
  if (method === undefined)
    return refuseFlags(`'${first}' is not a method`, `use one of ${METHODS.join(", ")}`, terminal);
  if (!path.startsWith("/") || path.startsWith("//")) {
    const fix = "give a path below the service's address, such as /v1/robots";
    return refuseFlags(`'${path}' is not a path`, fix, terminal);
  }
  if (paginate === true && method !== "GET") return refuseFlags("--paginate is for GET", "leave it out", terminal);
  if (input !== undefined) {
    const body = await readInput(input, context);
    return body === null ? null : { method, path, body };
  }
  if (fields.length === 0) return { method, path, body: null };
  if (method === "GET" || method === "HEAD" || method === "DELETE") {
    const query = new URLSearchParams(fields.map(({ name, text: given }) => [name, given])).toString();
    return { method, path: `${path}${path.includes("?") ? "&" : "?"}${query}`, body: null };
  }
  return { method, path, body: JSON.stringify(Object.fromEntries(fields.map(({ name, value }) => [name, value]))) };
}

async function readInput(path: string, context: OperatorContext): Promise<string | null> {
  const { terminal } = context;
  const bytes = await readGiven(path, INPUT_LIMIT_BYTES, context);
  if (!("code" in bytes)) return new TextDecoder().decode(bytes);
  if (bytes.code === "too-large") {
    return refuseFlags(`--input is larger than ${INPUT_LIMIT_BYTES} bytes`, "send less at once", terminal);
  }
  return refuseFlags(`cannot read ${path} (${bytes.code})`, "give an existing file, or - for stdin", terminal);
}

function textOf({ body }: HttpAnswer): string {
  return new TextDecoder().decode(body);
}

/** @returns undefined for text that is not JSON, or nested too deep to print. */
function readJson(text: string): unknown {
  const document = parseJson(text);
  return isTooDeep(document) ? undefined : document;
}
