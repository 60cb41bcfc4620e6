import {
  isPathParameter,
  LIST_LIMIT_BYTES,
  requestHeaders,
  type ServiceAccess,
  type ServiceRequest,
} from "../client/send-request.ts";
import type { CallResult } from "../client/call-result.ts";
import {
  type Answered,
  type LoadedCredential,
  type OperationClient,
  type OperationInput,
  type OperationOf,
  operationRequest,
  type RawResult,
} from "../client/operation-client.ts";
import { createBackoff } from "../platform/retry.ts";
import { EXIT, type ExitCode, type Terminal } from "../platform/terminal.ts";
import { parseJson } from "../platform/text/parse-json.ts";
import type { OperatorContext } from "./context.ts";
import { type Failure, isUnknownOperation, type Sent, showFailure } from "./failure.ts";
import type { ServiceFlags } from "./flags.ts";
import { itemsIn, listAll, type Listed, type ListOptions } from "./lists/listed.ts";
import type { ChosenService } from "./logins/choose-service.ts";
import { type Now, nowOf } from "./times.ts";

/** The value in an answer, and the answer unchanged. */
export type Answer<T> = Pick<Answered<T>, "value" | "document">;

/** An open service, as one run of a command uses it. */
export interface Service {
  readonly flags: ServiceFlags;
  /** What the command does, as its help has it. */
  readonly summary: string;
  readonly context: OperatorContext;
  /** That of the context. */
  readonly terminal: Terminal;
  readonly chosen: ChosenService;
  now(): Now;
  /**
   * Calls one operation. A read is retried where the service asks for a pause. A change never is, because it may have been applied already.
   */
  call<T>(row: OperationOf<T>, input: OperationInput): Promise<CallResult<Answered<T>>>;
  /** Fetches a whole list, page by page where the service has pages. `itemsOf` takes the items from an answer. */
  listAll<T, Item>(
    row: OperationOf<T>,
    itemsOf: (value: T) => readonly Item[],
    options?: ListOptions<T>,
  ): Promise<CallResult<Listed<Item>>>;
  /** Sends any request below the service's address; `path` begins with a slash. */
  send(request: RawRequest): Promise<RawResult>;
  /** Prints the document with `--json`, else has a person shown it. @returns success. */
  answer(document: unknown, show: () => void): ExitCode;
  /** Reports a failed call in terms of the operator's input. @returns its exit code. */
  failed(failure: Failure, sent?: Sent): ExitCode;
  /** For `--dry-run`: shows the request that `call` would send. */
  showRequest(row: OperationOf<unknown>, input: OperationInput): Promise<ExitCode>;
  showRawRequest(request: RawRequest): Promise<ExitCode>;
}

export interface RawRequest {
  readonly method: ServiceRequest["method"];
  readonly path: string;
  /** JSON text; null for none. */
  readonly body: string | null;
}

interface ServiceParts {
  readonly client: OperationClient;
  readonly access: ServiceAccess;
  readonly chosen: ChosenService;
  readonly flags: ServiceFlags;
  readonly context: OperatorContext;
  readonly summary: string;
}

export function createService({ client, access, chosen, flags, context, summary }: ServiceParts): Service {
  const { terminal, signal } = context;
  let hasSentChange = false;
  const call: Service["call"] = async (row, input) => {
    if (!hasPath(input)) return NO_PATH;
    const send = () => client.call(row, input, signal);
    if (row.method === "GET") return callWithRetries(send, context);
    hasSentChange = true;
    return send();
  };
  const absolute = ({ method, path, body }: RawRequest): ServiceRequest => {
    // The URL exactly as it would be sent.
    const url = new URL(access.baseUrl + path).href;
    return { method, url, body, answerLimitBytes: LIST_LIMIT_BYTES };
  };
  const show = async (request: ServiceRequest, needsCredential: boolean) => {
    const credential = needsCredential ? await chosen.loadCredential() : null;
    return showRequest(request, access.userAgent, credential, flags.json === true, terminal);
  };
  const failed: Service["failed"] = (failure, sent = {}) => {
    // Interrupted by the operator: no message.
    if (signal.aborted) return EXIT.interrupted;
    return showFailure(failure, { ...sent, hasSentChange, credential: chosen.credential, summary, terminal });
  };
  return {
    flags,
    summary,
    context,
    terminal,
    chosen,
    now: () => nowOf(context),
    call,
    listAll: (row, itemsOf, options) => listAll(call, row, itemsOf, options),
    send(request) {
      hasSentChange ||= request.method !== "GET" && request.method !== "HEAD";
      return client.send(absolute(request), signal);
    },
    answer(document, showPerson) {
      if (flags.json === true) terminal.json(document);
      else showPerson();
      return EXIT.ok;
    },
    failed,
    showRequest: async (row, input) =>
      hasPath(input) ? show(operationRequest(access.baseUrl, row, input), row.scopes !== "public") : failed(NO_PATH),
    showRawRequest: (request) => show(absolute(request), true),
  };
}

/** The operator's names are checked earlier. Ids from a service are not, and may not fit into a path. */
function hasPath({ parameters = {} }: OperationInput): boolean {
  return Object.values(parameters).every(isPathParameter);
}

const NO_PATH: Failure = {
  kind: "undecodable",
  status: 200,
  detail: "the service gave an id that cannot be part of a URL",
  isJson: true,
};

/** An operator waits at the terminal, so the retries are few. */
const ATTEMPTS = 4;
const LONGEST_PAUSE_MS = 30_000;
const BACKOFF = { firstMs: 500, capMs: 8000 } as const;

/** Too many requests, and what proxies answer while a service restarts. */
const RETRIED: ReadonlySet<number> = new Set([429, 502, 503, 504]);

/** Makes a call that changes nothing, and repeats it a few times if the failure may be over soon, with the pause that the service asks for. */
async function callWithRetries<T>(
  call: () => Promise<CallResult<T>>,
  { machine, terminal, signal }: OperatorContext,
): Promise<CallResult<T>> {
  const backoff = createBackoff({ ...BACKOFF, random: machine.random });
  for (;;) {
    const result = await call();
    if (result.kind !== "refused" || !RETRIED.has(result.status)) return result;
    const pauseMs = backoff.nextMs(result.retryAfterMs);
    if (backoff.attempts >= ATTEMPTS || pauseMs > LONGEST_PAUSE_MS) return result;
    terminal.note(`${result.detail}; trying again in ${Math.ceil(pauseMs / 1000)} s`);
    await machine.clock.sleep(pauseMs, signal);
  }
}

/** Shows a request without its secret. @param credential null where the request needs none. */
function showRequest(
  { method, url, body }: ServiceRequest,
  userAgent: string,
  credential: LoadedCredential | null,
  json: boolean,
  terminal: Terminal,
): ExitCode {
  // A Secret prints as `[secret]`.
  const authorization = credential?.kind === "credential" ? `Bearer ${credential.secret}` : null;
  const headers = requestHeaders(userAgent, authorization, body !== null);
  // A raw request may have a body that is not JSON.
  const sent = body === null ? null : (parseJson(body) ?? body);
  if (json) {
    terminal.json({ dry_run: true, method, url, headers, body: sent });
  } else {
    terminal.print(`${method} ${url}`);
    for (const [name, value] of Object.entries(headers)) terminal.print(`${name}: ${value}`);
    if (body !== null) terminal.printText(`\n${typeof sent === "string" ? sent : JSON.stringify(sent, null, 2)}`);
  }
  if (credential?.kind === "credential-problem") terminal.note(`The request would fail: ${credential.what}.`);
  if (!json) terminal.note("Nothing was sent.");
  return EXIT.ok;
}

/** @returns the answer; null where the service lacks the operation; an exit code after reporting another failure. */
export async function callIfOffered<T>(
  service: Service,
  row: OperationOf<T>,
  input: OperationInput,
): Promise<Answered<T> | ExitCode | null> {
  const result = await service.call(row, input);
  if (result.kind === "ok") return result.value;
  return isUnknownOperation(result) ? null : service.failed(result);
}

/** Fetches the items of a whole list; null where the service lacks the operation. */
export async function listIfOffered<T, Item>(
  service: Service,
  row: OperationOf<T>,
  itemsOf: (value: T) => readonly Item[],
): Promise<CallResult<readonly Item[] | null>> {
  const result = await service.listAll(row, itemsOf);
  if (result.kind !== "ok") return isUnknownOperation(result) ? NOTHING_LISTED : result;
  return { ...result, value: itemsIn(result.value) };
}

/** The result of a list that the service lacks, or that is not needed. */
export const NOTHING_LISTED = { kind: "ok", status: 200, value: null } as const;
