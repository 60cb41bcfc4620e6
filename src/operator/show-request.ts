import type { CredentialProblem } from "../client/credential.ts";
import type { Secret } from "../client/secret.ts";
import type { ServiceRequest } from "../client/send-request.ts";
import { requestHeaders } from "../client/send-request.ts";
import type { ExitCode, Terminal } from "../platform/terminal.ts";
import { EXIT } from "../platform/terminal.ts";
import { parseJson } from "../platform/text/parse-json.ts";

interface Showing {
  readonly user_agent: string;
  /** Null where the request needs none. */
  readonly credential: { readonly kind: "credential"; readonly secret: Secret } | CredentialProblem | null;
  readonly terminal: Terminal;
  readonly json: boolean;
}

/** Shows the request without its secret. */
export function showRequest({ method, url, body }: ServiceRequest, showing: Showing): ExitCode {
  const { terminal, credential, user_agent: userAgent } = showing;
  // A Secret prints as `[secret]`.
  const authorization = credential?.kind === "credential" ? `Bearer ${credential.secret}` : null;
  const headers = requestHeaders(userAgent, authorization, body !== null);
  // A raw request may have a body that is not JSON.
  const sent = body === null ? null : (parseJson(body) ?? body);
  if (showing.json) {
    terminal.json({ dry_run: true, method, url, headers, body: sent });
  } else {
    terminal.print(`${method} ${url}`);
    for (const [name, value] of Object.entries(headers)) terminal.print(`${name}: ${value}`);
    if (body !== null) terminal.print(`\n${typeof sent === "string" ? sent : JSON.stringify(sent, null, 2)}`);
  }
  if (credential?.kind === "credential-problem") terminal.note(`The request would fail: ${credential.what}.`);
  if (!showing.json) terminal.note("Nothing was sent.");
  return EXIT.ok;
}
