import { isTooDeep } from "../../client/operation-client.ts";
import { EXIT, type Terminal } from "../../platform/terminal.ts";
import { parseJson } from "../../platform/text/parse-json.ts";
import { command, type OperatorRow } from "../command.ts";
import type { OperatorContext } from "../context.ts";
import { readGiven } from "../files/given-file.ts";
import { DRY_RUN, formedTexts, type Given, text } from "../flags.ts";
import { refuseFlags } from "../refuse.ts";
import type { RawRequest } from "../service.ts";

const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"] as const;
/** Above the service's own limit, so that the service answers 413. */
const INPUT_LIMIT_BYTES = 2_097_152;

const API = {
  field: formedTexts(
    "<name=value>",
    "member of the body, or of the query with GET; numbers, true, false and null keep their types",
    readField,
  ),
  input: text("<file>", "file with the body, or - for stdin", { excludes: ["--field"] }),
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
      "robot-policy api /v1/robots",
      "robot-policy api POST /v1/me/api-keys --field label='cell 4'",
      `echo '{"selector": {"site": "plant-1"}}' | robot-policy api POST /v1/fleets/preview --input -`,
      "robot-policy api POST /v1/fleets --input fleet.json --dry-run",
    ],
    async run(service, flags, first, second) {
      const request = await readRequest(flags, service.context, first, second);
      if (request === null) return EXIT.usage;
      if (flags.dryRun === true) return service.showRawRequest(request);
      const { result, answer } = await service.send(request);
      if (answer?.complete === true) showAnswer(new TextDecoder().decode(answer.body), service.terminal);
      return result.kind === "ok"
        ? EXIT.ok
        : service.failed(result, { body: readJson(request.body ?? ""), isRaw: true });
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

function showAnswer(text: string, terminal: Terminal): void {
  const document = readJson(text);
  if (document !== undefined) terminal.json(document);
  else if (text !== "") terminal.printText(text.replace(/\n$/, ""));
}

/** @returns null after reporting what is wrong with flags and arguments. */
async function readRequest(
  { field: fields = [], input }: ApiFlags,
  context: OperatorContext,
  first: string,
  second: string,
): Promise<RawRequest | null> {
  const { terminal } = context;
  const path = second === "" ? first : second;
  const hasBody = fields.length > 0 || input !== undefined;
  const word = second === "" ? (hasBody ? "POST" : "GET") : first.toUpperCase();
  const method = METHODS.find((each) => each === word);
  if (method === undefined)
    return refuseFlags(`'${first}' is not a method`, `use one of ${METHODS.join(", ")}`, terminal);
  if (!path.startsWith("/") || path.startsWith("//")) {
    const fix = "give a path below the service's address, such as /v1/robots";
    return refuseFlags(`'${path}' is not a path`, fix, terminal);
  }
  if (input !== undefined) {
    const body = await readInput(input, context);
    return body === null ? null : { method, path, body };
  }
  if (fields.length === 0) return { method, path, body: null };
  if (method === "GET" || method === "DELETE") {
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

/** @returns undefined for text that is not JSON, or nested too deep to print. */
function readJson(text: string): unknown {
  const document = parseJson(text);
  return isTooDeep(document) ? undefined : document;
}
