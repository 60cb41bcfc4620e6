/** Our real service, restricted to the documented operations: all other paths get a web framework's answer for an unknown path. */
import { createServer, request as sendRequest } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";

import { operations } from "../../../src/api/api.ts";
import { type RunningService, type ServiceOptions, startService } from "../service/service.ts";

export interface ElevenService extends AsyncDisposable {
  /** URL with only the documented operations. */
  readonly url: string;
  /** URL of the complete service. */
  readonly whole: RunningService;
}

export async function startEleven(options: ServiceOptions = {}): Promise<ElevenService> {
  const whole = await startService(options);
  const target = new URL(whole.url);
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? "/", "http://eleven");
    const methods = methodsAt(pathname);
    if (!methods.includes(request.method ?? "")) {
      request.resume();
      const [status, detail] = methods.length === 0 ? [404, "Not Found"] : [405, "Method Not Allowed"];
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify({ detail }));
      return;
    }
    // No paging either: the answer contains everything, without a cursor.
    const forwarded = sendRequest(
      { host: target.hostname, port: target.port, method: request.method, path: pathname, headers: request.headers },
      (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
      },
    );
    forwarded.on("error", () => response.destroy());
    request.pipe(forwarded);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    whole,
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      await whole[Symbol.asyncDispose]();
    },
  };
}

function methodsAt(pathname: string): readonly string[] {
  return Object.values(operations)
    .filter(({ path }) => patternOf(path).test(pathname))
    .map(({ method }) => method);
}

function patternOf(path: string): RegExp {
  return new RegExp(`^${path.replaceAll(/\{\w+\}/g, "[^/]+")}$`);
}
