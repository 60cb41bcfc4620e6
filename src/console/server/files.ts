import { join } from "node:path";

import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";

import { isObject } from "../../platform/is-object.ts";
import { readBounded } from "../../platform/files/durable-file.ts";
import { errorCode } from "../../platform/files/files.ts";
import { refuse, send, type ServiceMachine } from "../../service/console-door.ts";
import { ASSET_PATH, PAGE_PATHS } from "./console-paths.ts";

const YEAR_S = 31_536_000;
/** Far above what the build writes. */
const FILE_BYTES_MAXIMUM = 4 * 1024 * 1024;

/** The build puts a hash of the content into each name, and compresses each file: every browser takes gzip. */
const ASSET = /^[a-z]+-\w+\.(css|js|svg)$/;
const CONTENT_TYPES: Readonly<Record<string, string>> = {
  css: "text/css; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  svg: "image/svg+xml",
};

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

/** Serves the files that scripts/build-console.ts writes. Browsers keep all but the page itself, which is small. */
export function createConsoleFiles(
  folder: string,
  { files, log }: Pick<ServiceMachine, "files" | "log">,
): ConsoleFiles {
  let loggedReason: string | null = null;

  function mount(app: FastifyInstance): void {
    for (const path of PAGE_PATHS) app.get(path, (request, reply) => sendPage(request, reply, 200));

    app.get(ASSET_PATH, async ({ params }, reply) => {
      const name = isObject(params) ? String(params["name"] ?? "") : "";
      const contentType = CONTENT_TYPES[ASSET.exec(name)?.[1] ?? ""];
      const bytes = contentType === undefined ? null : await read(join("assets", `${name}.gz`));
      if (bytes === null) return send(reply, refuse("NotFound", "Not Found"));
      return reply
        .headers({
          "cache-control": `public, max-age=${YEAR_S}, immutable`,
          "content-encoding": "gzip",
          "content-type": contentType,
          "cross-origin-resource-policy": "same-origin",
          "x-content-type-options": "nosniff",
        })
        .send(bytes);
    });
  }

  async function sendPage(request: FastifyRequest, reply: FastifyReply, status: 200 | 404): Promise<FastifyReply> {
    const page = await read("index.html");
    reply.headers(pageHeaders(request)).header("content-type", "text/html; charset=utf-8");
    return page === null ? reply.code(503).send(NOT_BUILT) : reply.code(status).send(page);
  }

  /** Null without the file: the API works without the console. Logs each reason once, because anybody can request the page. */
  async function read(path: string): Promise<Uint8Array | null> {
    try {
      const bytes = await readBounded(files, join(folder, path), FILE_BYTES_MAXIMUM);
      return bytes === "too-large" ? null : bytes;
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      if (errorCode(error) !== "ENOENT" && reason !== loggedReason) log.warn("console_unreadable", { reason });
      loggedReason = reason;
      return null;
    }
  }

  return { mount, sendMissing: (request, reply) => sendPage(request, reply, 404) };
}

/** The page loads scripts and data from this service only. */
const CONTENT_SECURITY_POLICY = [
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
  // A browser applies Strict-Transport-Security to every port of a host (RFC 6797, 8.3). On the default port the host is assumed to be
  // ours; on another port it would break other services on the same host that have no TLS.
  const isDedicated = protocol === "https" && !/:\d+$/.test(host);
  return isDedicated ? { ...HEADERS, "strict-transport-security": `max-age=${YEAR_S}` } : HEADERS;
}
