/**
 * The operator's side: what a person at a terminal asks of a robot policy service, over client/.
 *
 * A command takes its service and key from flags or the environment, asks, and shows the answer as a table or as one JSON document.
 */
import type { CallResult, ServiceClient } from "../client/client.ts";
import { createClient } from "../client/client.ts";
import { looksLikeClock } from "../client/clock-error.ts";
import type { CredentialProblem } from "../client/credentials.ts";
import { loadCredential } from "../client/credentials.ts";
import { parseServiceUrl } from "../client/service-url.ts";
import { isUnknownIssuer } from "../client/transport.ts";
import { createUndiciTransport } from "../client/undici-transport.ts";
import type { Machine } from "../platform/machine.ts";
import type { ExitCode, Problem, Terminal } from "../platform/terminal.ts";
import { EXIT } from "../platform/terminal.ts";

/** What every operator command is given. */
export interface OperatorContext {
  readonly terminal: Terminal;
  readonly machine: Machine;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
  readonly user_id: number;
  readonly version: string;
}

/** Flags of every operator command. */
export interface OperatorFlags {
  readonly url?: string;
  readonly keyFile?: string;
  readonly caFile?: string;
  readonly allowInsecure?: boolean;
  readonly json?: boolean;
}

/** Opens the service that flags or environment name; null after the problem was shown. */
export function openService(flags: OperatorFlags, context: OperatorContext): ServiceClient | null {
  const { terminal, machine, environment } = context;
  const base_url = flags.url ?? environment["ROBOT_POLICY_URL"];
  if (base_url === undefined) {
    terminal.problem({
      code: "no-service",
      what: "no service is named",
      fix: "give --url URL, or set ROBOT_POLICY_URL",
    });
    return null;
  }
  const allow_insecure = flags.allowInsecure === true;
  const parsed = parseServiceUrl(base_url, allow_insecure);
  if (parsed.kind === "url-problem") {
    // The agent has a configuration file for it, an operator has flags.
    const fix = parsed.code === "url-insecure" ? "use https, or give --allow-insecure" : parsed.fix;
    terminal.problem({ code: parsed.code, what: parsed.what, fix });
    return null;
  }
  const { files, clock } = machine;
  return createClient({
    base_url,
    transport: createUndiciTransport({
      ca_file: flags.caFile ?? null,
      proxy: null,
      allow_insecure,
      environment,
      files,
      clock,
    }),
    clock,
    user_agent: `robot-policy/${context.version}`,
    credential: () =>
      loadCredential(
        {
          key_file: flags.keyFile,
          environment_key: environment["ROBOT_POLICY_API_KEY"],
          service_user_id: context.user_id,
        },
        files,
      ),
  });
}

/** Shows why a call did not succeed, and gives the exit code for it. */
export function showFailure(result: Exclude<CallResult<unknown>, { kind: "ok" }>, terminal: Terminal): ExitCode {
  const { problem, exit_code } = describeFailure(result);
  terminal.problem(problem);
  return exit_code;
}

interface Failure {
  readonly problem: Problem;
  readonly exit_code: ExitCode;
}

function describeFailure(result: Exclude<CallResult<unknown>, { kind: "ok" }>): Failure {
  switch (result.kind) {
    case "no-credential":
      return { problem: { ...result.problem, ...keyFix(result.problem) }, exit_code: EXIT.unauthorized };
    case "unreachable":
      return {
        problem: { code: `service-${result.reason}`, what: result.detail, fix: unreachableFix(result.code) },
        exit_code: EXIT.unreachable,
      };
    case "undecodable":
      return {
        problem: {
          code: "not-the-service",
          what: result.detail,
          fix: "check --url; a captive portal may stand in the way",
        },
        exit_code: EXIT.unreachable,
      };
    case "refused":
      return describeRefusal(result);
  }
}

function describeRefusal({ status, detail: what }: Extract<CallResult<unknown>, { kind: "refused" }>): Failure {
  switch (status) {
    case 401: {
      const fix = "use a key that is valid: --key-file FILE, or ROBOT_POLICY_API_KEY";
      return { problem: { code: "unauthorized", what, fix }, exit_code: EXIT.unauthorized };
    }
    case 403: {
      const fix =
        "use a key that may do this: --key-file FILE, or ROBOT_POLICY_API_KEY; robot-policy-service keys create makes one";
      return { problem: { code: "unauthorized", what, fix }, exit_code: EXIT.unauthorized };
    }
    case 429: {
      const fix = "wait; the service wants fewer requests";
      return { problem: { code: "http-429", what, fix }, exit_code: EXIT.rejected };
    }
  }
  return status >= 500
    ? {
        problem: {
          code: `http-${status}`,
          what,
          fix: "try again later; if it stays so, tell whoever runs the service",
        },
        exit_code: EXIT.unreachable,
      }
    : {
        problem: { code: `http-${status}`, what, fix: "correct what the service names" },
        exit_code: EXIT.rejected,
      };
}

function unreachableFix(code: string | null): string {
  if (isUnknownIssuer(code)) return "if a private authority issued it, give its certificate: --ca-file FILE";
  if (code?.startsWith("CA_FILE_") === true) return "correct --ca-file";
  if (looksLikeClock(code))
    return "check the clock of this machine; if it is right, the service needs a new certificate";
  return "check the address and the network";
}

/** The agent's configuration, which the credential's own remedy speaks of, is nothing an operator has. */
function keyFix({ code }: CredentialProblem): { readonly fix?: string } {
  return code === "key-missing" ? { fix: "give --key-file FILE, or set ROBOT_POLICY_API_KEY" } : {};
}
