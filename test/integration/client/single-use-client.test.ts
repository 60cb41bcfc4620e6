import { once } from "node:events";
import { connect } from "node:net";

import { expect, test } from "vitest";

import { clientOn } from "../../../src/client/transport/exchange.ts";
import { serveTcp } from "./servers.ts";

test("clientOn: connection closed before its request → an error, no second connection", async () => {
  let connections = 0;
  await using server = await serveTcp(() => (connections += 1));
  const socket = connect(server.port, "127.0.0.1");
  await once(socket, "connect");
  socket.destroy();
  const client = clientOn(socket, new URL(`http://127.0.0.1:${server.port}`));
  const error = await new Promise<Error>((resolve) => {
    client.dispatch(
      { method: "GET", path: "/" },
      {
        onRequestStart() {},
        onResponseStart() {},
        onResponseData() {},
        onResponseEnd() {},
        onResponseError: (_controller, e) => resolve(e),
      },
    );
  });
  expect(error).toMatchObject({ code: "ECONNRESET" });
  expect(connections).toBeLessThanOrEqual(1);
});
