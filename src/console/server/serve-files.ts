import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";

import { isObject } from "../../platform/is-object.ts";
import type { Log } from "../../platform/log/log.ts";
import { refuse, send } from "../../service/console-door.ts";
import type { BuiltConsole, ConsoleFile } from "./built-console.ts";
import { ASSET_PATH, PAGE_PATHS } from "./console-paths.ts";

const YEAR_S = 31_536_000;

const NOT_BUILT = `<!doctype html>
<html lang="en">
<title>The console is not built</title>
<h1>The console is not built</h1>
<p>The service works, but the files of its console are missing. If it runs from sources, build them and reload this page:</p>
<pre>npm run build</pre>
<p>If it was installed as a package, the installation is incomplete: install it again.</p>
</html>
`;

export interface ConsoleFiles {
  /** Serves the page at each of its paths, and its assets. */
  mount(app: FastifyInstance): void;
  /** Answers 404 with the page, which says that the path does not exist and links back. */
  sendMissing(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply>;
}

export function createConsoleFiles(read: () => Promise<BuiltConsole | null>, log: Log): ConsoleFiles {
  let loggedReason: string | null = null;

  function mount(app: FastifyInstance): void {
    for (const path of PAGE_PATHS) app.get(path, (request, reply) => sendPage(request, reply, 200));

    app.get(ASSET_PATH, async (request, reply) => {
      const { params } = request;
      const name = isObject(params) ? String(params["name"] ?? "") : "";
      const asset = (await readOrLog())?.assets.get(name);
      if (asset === undefined) return send(reply, refuse("NotFound", "Not Found"));
      const headers = {
        "cache-control": `public, max-age=${YEAR_S}, immutable`,
        "cross-origin-resource-policy": "same-origin",
        "x-content-type-options": "nosniff",
      };
      return sendFile(request, reply.headers(headers), asset);
    });
  }

  async function sendPage(request: FastifyRequest, reply: FastifyReply, status: 200 | 404): Promise<FastifyReply> {
    reply.headers(pageHeaders(request));
    const built = await readOrLog();
    if (built !== null) return sendFile(request, reply.code(status), built.page);
    return reply.code(503).header("content-type", "text/html; charset=utf-8").send(NOT_BUILT);
  }

  /** The API works without the console. Logs each reason once: anybody can request the page. */
  async function readOrLog(): Promise<BuiltConsole | null> {
    try {
      const built = await read();
      loggedReason = null;
      return built;
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      if (reason !== loggedReason) log.warn("console_unreadable", { reason });
      loggedReason = reason;
      return null;
    }
  }

  return { mount, sendMissing: (request, reply) => sendPage(request, reply, 404) };
}

function sendFile(request: FastifyRequest, reply: FastifyReply, file: ConsoleFile): FastifyReply {
  const encoding = chooseEncoding(request.headers["accept-encoding"], file);
  const etag = `"${file.tag}${encoding === null ? "" : `-${encoding}`}"`;
  reply.headers({ etag, vary: "accept-encoding" });
  if (reply.statusCode === 200 && matchesEtag(request.headers["if-none-match"], etag)) return reply.code(304).send();
  if (encoding !== null) reply.header("content-encoding", encoding);
  return reply.header("content-type", file.contentType).send(encoding === null ? file.plain : file[encoding]);
}

/** Whether If-None-Match contains the ETag (RFC 9110, 13.1.2). */
function matchesEtag(ifNoneMatch: string | undefined, etag: string): boolean {
  return (ifNoneMatch ?? "").split(",").some((each) => each.trim().replace(/^W\//, "") === etag);
}

const ENCODINGS = ["br", "gzip"] as const;
type Encoding = (typeof ENCODINGS)[number];

/** The smallest encoding that the client accepts by its `Accept-Encoding` (RFC 9110, 12.5.3); null for no encoding. */
export function chooseEncoding(acceptEncoding: string | undefined, file: Pick<ConsoleFile, Encoding>): Encoding | null {
  const accepted = acceptedCodings(acceptEncoding);
  return ENCODINGS.find((encoding) => accepted.has(encoding) && file[encoding] !== null) ?? null;
}

/** The page loads scripts and data from this service only. */
export const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join("; ");

const HEADERS = {
  "cache-control": "no-cache",
  "content-security-policy": CONTENT_SECURITY_POLICY,
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "permissions-policy": "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()",
  // Paths contain robot names.
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  // For browsers without frame-ancestors.
  "x-frame-options": "DENY",
} as const;

/** Response headers of the page. */
export function pageHeaders({
  protocol,
  host,
}: Pick<FastifyRequest, "protocol" | "host">): Readonly<Record<string, string>> {
  return isDedicated(protocol, host) ? { ...HEADERS, "strict-transport-security": `max-age=${YEAR_S}` } : HEADERS;
}

/**
 * A browser applies Strict-Transport-Security to every port of a host (RFC 6797, 8.3). On the default port the host is assumed to be
 * ours; on another port it would break other services on the same host that have no TLS.
 */
function isDedicated(protocol: string, host: string): boolean {
  return protocol === "https" && !/:\d+$/.test(host);
}

/** The content codings that a client takes, by its `Accept-Encoding` (RFC 9110, 12.5.3), in lower case. */
function acceptedCodings(acceptEncoding: string | undefined): ReadonlySet<string> {
  return new Set((acceptEncoding ?? "").toLowerCase().split(",").flatMap(acceptedCoding));
}

/** `gzip;q=0` is one that is not taken. */
function acceptedCoding(member: string): readonly string[] {
  const [coding = "", ...parameters] = member.split(";").map((part) => part.trim());
  return parameters.some((parameter) => /^q\s*=\s*0(?:\.0*)?$/.test(parameter)) ? [] : [coding];
}
