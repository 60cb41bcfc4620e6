import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";

import type { Log } from "../../platform/log/log.ts";
import { refuse, send } from "../../service/console-door.ts";
import type { BuiltConsole, ConsoleFile } from "./built-console.ts";
import { ASSET_PATH, PAGE_PATHS } from "./console-paths.ts";
import { chooseEncoding } from "./encoding.ts";
import { pageHeaders } from "./page-headers.ts";

const YEAR_S = 31_536_000;

const NOT_BUILT = `<!doctype html>
<html lang="en">
<title>The console is not built</title>
<h1>The console is not built</h1>
<p>The service works; its page is not there. Where the service runs from its sources, build it and load this page again:</p>
<pre>npm run build</pre>
<p>A packaged robot-policy-service brings it along; this one is incomplete, so install it again.</p>
</html>
`;

/** The files of the console, for browsers. */
export interface ConsoleFiles {
  /** Serves the page at each of its paths, and what the page is made of. */
  mount(app: FastifyInstance): void;
  /** The page, where it has nothing to show: it says so, and leads back. */
  sendMissing(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply>;
}

export function createConsoleFiles(read: () => Promise<BuiltConsole | null>, log: Log): ConsoleFiles {
  let told: string | null = null;

  function mount(app: FastifyInstance): void {
    for (const path of PAGE_PATHS) app.get(path, (request, reply) => sendPage(request, reply, 200));

    app.get(ASSET_PATH, async (request, reply) => {
      const { params } = request;
      const name = typeof params === "object" && params !== null && "name" in params ? String(params.name) : "";
      const asset = (await readOrTell())?.assets.get(name);
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
    const built = await readOrTell();
    if (built !== null) return sendFile(request, reply.code(status), built.page);
    return reply.code(503).header("content-type", "text/html; charset=utf-8").send(NOT_BUILT);
  }

  /** A console that cannot be read is no reason for the service to fail; the log says what is wrong with it, once: anyone may ask. */
  async function readOrTell(): Promise<BuiltConsole | null> {
    try {
      const built = await read();
      told = null;
      return built;
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      if (reason !== told) log.warn("console_unreadable", { reason });
      told = reason;
      return null;
    }
  }

  return { mount, sendMissing: (request, reply) => sendPage(request, reply, 404) };
}

function sendFile(request: FastifyRequest, reply: FastifyReply, file: ConsoleFile): FastifyReply {
  const encoding = chooseEncoding(request.headers["accept-encoding"], file);
  const etag = `"${file.tag}${encoding === null ? "" : `-${encoding}`}"`;
  reply.headers({ etag, vary: "accept-encoding" });
  if (reply.statusCode === 200 && isHeld(request.headers["if-none-match"], etag)) return reply.code(304).send();
  if (encoding !== null) reply.header("content-encoding", encoding);
  return reply.header("content-type", file.contentType).send(encoding === null ? file.plain : file[encoding]);
}

/** Whether the client holds what it asks for (RFC 9110, 13.1.2). */
function isHeld(ifNoneMatch: string | undefined, etag: string): boolean {
  return (ifNoneMatch ?? "").split(",").some((held) => held.trim().replace(/^W\//, "") === etag);
}
