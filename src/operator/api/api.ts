import { isTooDeep, ITEMS_PER_REQUEST, readNextCursor, TOO_DEEP } from "../../client/operation-client.ts";
import type { HttpAnswer } from "../../client/transport/transport.ts";
import { EXIT, type ExitCode, type Terminal } from "../../platform/terminal.ts";
import { parseJson } from "../../platform/text/parse-json.ts";
import type { OperatorCommand, OperatorContext } from "../context.ts";
import { readGiven } from "../files/given-file.ts";
import type { OperatorFlags } from "../flags.ts";
import { joinPages, NAMES_ITSELF, PAGES_LIMIT } from "../lists/listed.ts";
import { withService } from "../operator.ts";
import { refuseFlags } from "../refuse.ts";
import type { RawRequest, Service } from "../service.ts";
import { readFields } from "./fields.ts";

const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"] as const;
/** Above the service's own limit, so that the service answers 413. */
const INPUT_LIMIT_BYTES = 2_097_152;

/** `api [METHOD] PATH`: sends any request, and prints the answer unchanged. */
export const api: OperatorCommand = async (flags, context, first, second) => {
  const request = await readRequest(flags, context, first, second);
  if (request === null) return EXIT.usage;
  return withService(flags, context, async (service) => {
    const isPaged = flags.paginate === true;
    const sent = isPaged ? { ...request, path: pagePath(request.path) } : request;
    if (flags.dryRun === true) return service.showRawRequest(sent);
    return isPaged ? pages(service, sent) : once(service, sent);
  });
};

async function once(service: Service, request: RawRequest): Promise<ExitCode> {
  const { result, answer } = await service.send(request);
  if (answer?.complete === true) showAnswer(answer, service);
  return result.kind === "ok" ? EXIT.ok : service.failed(result, { body: readJson(request.body ?? "") });
}

/** The path of a page, as large as the service allows where the path does not say it. @param cursor null for the first page. */
function pagePath(path: string, cursor: string | null = null): string {
  // Not resolved against a base: a path such as `/\host` would name another host.
  const { pathname, searchParams } = new URL(`http://service${path}`);
  if (!searchParams.has("limit")) searchParams.set("limit", String(ITEMS_PER_REQUEST));
  if (cursor !== null) searchParams.set("cursor", cursor);
  return `${pathname}?${searchParams.toString()}`;
}

async function pages(service: Service, first: RawRequest): Promise<ExitCode> {
  const { flags, terminal } = service;
  const documents: unknown[] = [];
  let { path } = first;
  for (let page = 0; page < PAGES_LIMIT; page += 1) {
    const { result, answer } = await service.send({ ...first, path });
    if (result.kind !== "ok") {
      if (answer?.complete === true) showAnswer(answer, service);
      return service.failed(result);
    }
    if (answer === null) break;
    const undecodable = (detail: string, isJson = true) =>
      service.failed({ kind: "undecodable", status: answer.status, detail, isJson });
    if (flags.include === true && flags.json !== true) showHead(answer, terminal);
    const document = parseJson(textOf(answer));
    if (document === undefined) return undecodable("a page of the list is not JSON", false);
    if (isTooDeep(document)) return undecodable(TOO_DEEP);
    documents.push(document);
    const cursor = readNextCursor(answer.headers["link"]);
    if (cursor === null) break;
    // Fail instead of printing an incomplete list.
    if (page + 1 === PAGES_LIMIT) return undecodable(`the list has more than ${PAGES_LIMIT} pages`);
    const next = pagePath(path, cursor);
    if (next === path) return undecodable(NAMES_ITSELF);
    path = next;
  }
  terminal.json(joinPages(documents));
  return EXIT.ok;
}

function showAnswer(answer: HttpAnswer, { flags, terminal }: Service): void {
  const { include, json } = flags;
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
  flags: OperatorFlags,
  context: OperatorContext,
  first: string | undefined,
  second: string | undefined,
): Promise<RawRequest | null> {
  const { terminal } = context;
  const fields = readFields(flags.rawField ?? [], flags.field ?? []);
  if (fields.kind === "bad-field")
    return refuseFlags(fields.what, "write it as name=value, name[member]=value or name[]=value", terminal);
  const path = second ?? first ?? "";
  const hasBody = fields.names.length > 0 || flags.input !== undefined;
  const usual = hasBody && flags.paginate !== true ? "POST" : "GET";
  const word = second === undefined ? usual : (first ?? "").toUpperCase();
  const method = METHODS.find((each) => each === word);
  if (method === undefined)
    return refuseFlags(`'${first}' is not a method`, `use one of ${METHODS.join(", ")}`, terminal);
  if (!path.startsWith("/") || path.startsWith("//")) {
    return refuseFlags(
      `'${path}' is not a path`,
      "give a path below the service's address, such as /v1/robots",
      terminal,
    );
  }
  if (flags.paginate === true && method !== "GET")
    return refuseFlags("--paginate is for GET", "leave it out", terminal);
  if (flags.input !== undefined) {
    const body = await readInput(flags.input, context);
    return body === null ? null : { method, path, body };
  }
  if (fields.names.length === 0) return { method, path, body: null };
  if (method === "GET" || method === "HEAD" || method === "DELETE") {
    const query = new URLSearchParams(fields.names.map(({ name, text }) => [name, text])).toString();
    return { method, path: `${path}${path.includes("?") ? "&" : "?"}${query}`, body: null };
  }
  return { method, path, body: JSON.stringify(fields.body) };
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
