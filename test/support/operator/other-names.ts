/**
 * A service with the documented operations that names the members of its open records (keys, deployments, models, usage) otherwise than
 * ours. Written after the service document alone, without our schemas.
 */
import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

export interface OtherNames extends AsyncDisposable {
  readonly url: string;
  /** Labels of the keys that work. */
  readonly keys: ReadonlyMap<string, string>;
}

/** @param created the answer to a new key; by default the usual one. */
export async function startOtherNames(created: (key: string, asked: object) => unknown = usual): Promise<OtherNames> {
  const keys = new Map<string, string>();
  const robots: object[] = [];
  const fleets: object[] = [];
  const at = "2026-03-04T05:06:07Z";
  const counts = { registered: 1, ready: 1, active: 0, waiting: 0, blocked: 0 };
  const answer = async (request: IncomingMessage): Promise<readonly [status: number, body: unknown]> => {
    const path = (request.url ?? "").replace(/\?.*/, "");
    const sent = await text(request);
    const body = sent === "" ? {} : JSON.parse(sent);
    const id = path.split("/").at(-1) ?? "";
    switch (
      `${request.method} ${path.replace(/(api-keys|models)\/[^/]+$/, "$1/ID").replace(/fleets\/[^/]+\//, "fleets/ID/")}`
    ) {
      case "POST /v1/robots/setup":
        robots.push({ id: `r-${body.name}`, created_at: at, ...body });
        return [200, { robot: robots.at(-1) }];
      case "GET /v1/robots":
        return [200, robots];
      case "POST /v1/fleets":
        fleets.push({ id: "f-1", status: "ready", robots: counts, ...body });
        return [200, fleets.at(-1)];
      case "POST /v1/fleets/ID/model":
        return [200, { ...fleets[0], ...body }];
      case "GET /v1/fleets":
        return [200, fleets];
      case "POST /v1/me/deployments":
        return [201, { deployment: { uid: "d-1", target: body.robot, phase: "starting" } }];
      case "POST /v1/me/api-keys": {
        const key = `sk_other_${String(keys.size + 1).padStart(24, "k")}`;
        keys.set(`k-${keys.size + 1}`, body.label);
        return [201, created(key, body)];
      }
      case "GET /v1/me/api-keys":
        return [200, { data: [...keys].map(([uid, title]) => ({ uid, title, begins: "sk_other_kkkk" })) }];
      case "DELETE /v1/me/api-keys/ID":
        return keys.delete(id) ? [200, { deleted: true }] : [404, { error: "no such key" }];
      case "GET /v1/models/ID":
        return [200, { model: id, weights: ["a", "b"] }];
      case "GET /v1/me/usage":
        return [200, { hours: [{ at, machine: "arm", seconds: 60 }] }];
      default:
        return [404, { detail: "Not Found" }];
    }
  };
  const server = createServer((request, response) => {
    void answer(request).then(([status, body]) =>
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body)),
    );
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    keys,
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
    },
  };
}

function usual(key: string, { label }: { readonly label?: string }): object {
  return { key: { uid: "k-1", title: label, begins: key.slice(0, 13) }, token: key };
}
