import { isPathParameter } from "../client/address.ts";
import type { CallResult } from "../client/call-result.ts";
import { LIST_LIMIT_BYTES } from "../client/client.ts";
import type { Answered, OperationClient, OperationInput, OperationOf, RawResult } from "../client/operation-client.ts";
import { operationRequest } from "../client/operation-client.ts";
import type { ServiceAccess, ServiceRequest } from "../client/send-request.ts";
import type { ExitCode } from "../platform/terminal.ts";
import { EXIT } from "../platform/terminal.ts";
import type { OperatorContext } from "./context.ts";
import type { Failure, Sent } from "./failure.ts";
import { showFailure } from "./failure.ts";
import type { Listed, ListOptions } from "./lists/listed.ts";
import { listAll } from "./lists/listed.ts";
import type { ChosenService } from "./logins/choose-service.ts";
import { callWithRetries } from "./call-with-retries.ts";
import { showRequest } from "./show-request.ts";

/** An open service, as commands use it. */
export interface Service {
  readonly chosen: ChosenService;
  /**
   * Calls one operation. A read is retried where the service asks for a pause. A change never is, because it may have been applied already.
   */
  call<T>(row: OperationOf<T>, input: OperationInput): Promise<CallResult<Answered<T>>>;
  /** Fetches a whole list, page by page where the service has pages. `itemsOf` takes the items from an answer. */
  listAll<T, Item>(
    row: OperationOf<T>,
    itemsOf: (value: T) => readonly Item[],
    options?: ListOptions,
  ): Promise<CallResult<Listed<Item>>>;
  /** Sends any request below the service's address; `path` begins with a slash. */
  send(request: RawRequest): Promise<RawResult>;
  /** Reports a failed call in terms of the operator's input. @returns its exit code. */
  failed(failure: Failure, sent?: Sent): ExitCode;
  /** For `--dry-run`: shows the request that `call` would send. */
  showRequest(row: OperationOf<unknown>, input: OperationInput, json: boolean): Promise<ExitCode>;
  showRawRequest(request: RawRequest, json: boolean): Promise<ExitCode>;
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
  readonly context: OperatorContext;
}

export function createService({ client, access, chosen, context }: ServiceParts): Service {
  const { terminal, signal } = context;
  const call: Service["call"] = async (row, input) => {
    if (!hasPath(input)) return NO_PATH;
    const send = () => client.call(row, input, signal);
    return row.method === "GET" ? callWithRetries(send, context) : send();
  };
  const absolute = ({ method, path, body }: RawRequest): ServiceRequest => {
    // The URL exactly as it would be sent.
    const url = new URL(access.baseUrl + path).href;
    return { method, url, body, answerLimitBytes: LIST_LIMIT_BYTES };
  };
  const show = async (request: ServiceRequest, json: boolean, needsCredential: boolean) => {
    const credential = needsCredential ? await chosen.loadCredential() : null;
    return showRequest(request, { user_agent: access.userAgent, credential, terminal, json });
  };
  const failed: Service["failed"] = (failure, sent = {}) => {
    // Interrupted by the operator: no message.
    if (signal.aborted) return EXIT.interrupted;
    return showFailure(failure, { ...sent, credential: chosen.credential, terminal });
  };
  return {
    chosen,
    call,
    listAll: (row, itemsOf, options) => listAll(call, row, itemsOf, options),
    send: (request) => client.send(absolute(request), signal),
    failed,
    showRequest: async (row, input, json) =>
      hasPath(input)
        ? show(operationRequest(access.baseUrl, row, input), json, row.scopes !== "public")
        : failed(NO_PATH),
    showRawRequest: (request, json) => show(absolute(request), json, true),
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
};
