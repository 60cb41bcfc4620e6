import { expect, test } from "vitest";

import { BODY, dump } from "./harness.ts";
import { CANARY, clientOf, never, PATIENT, transportOf } from "./program.ts";
import { serveHttp, serveRaw } from "./servers.ts";

test.each([
  ["its detail", { detail: `bad key ${CANARY}` }],
  ["a detail that is cut within the key", { detail: `${"x".repeat(470)}${CANARY}` }],
  ["a detail, in pieces", { detail: CANARY.split("").join("\u200b") }],
  ["findings", { detail: [{ loc: ["header", CANARY], msg: `no ${CANARY}`, type: CANARY, input: CANARY }] }],
  ["unknown members", { [CANARY]: [CANARY] }],
])("scenario 16: refusal that repeats the key in %s → redacted", async (_name, body) => {
  await using server = await serveHttp((_request, response) => {
    response.writeHead(401, { "x-request-id": CANARY, "content-type": CANARY }).end(JSON.stringify(body));
  });
  const result = await clientOf(`http://127.0.0.1:${server.port}`).setupRobot(BODY, never());
  expect(result).toMatchObject({ kind: "refused", status: 401 });
  expect(dump(result)).not.toContain(CANARY);
  expect(dump(result)).not.toContain("CANARYcanary");
});

test.each([
  ["a success of another shape", `{"robot":{"labels":{"${CANARY}":1}}}`, "200 OK"],
  ["a web page", `<html>${CANARY}`, "200 OK"],
  ["a redirect", "", `302 Found\r\nlocation: https://${CANARY.replaceAll("_", "-")}.example/${CANARY}`],
])("scenario 16: %s that repeats the key → redacted", async (_name, body, status) => {
  await using server = await serveRaw(`HTTP/1.1 ${status}\r\ncontent-length: ${body.length}\r\n\r\n${body}`, "close");
  const result = await clientOf(`http://127.0.0.1:${server.port}`).setupRobot(BODY, never());
  expect(result.kind).toBe("undecodable");
  expect(dump(result)).not.toContain(CANARY);
});

test("scenario 16: error of the transport → neither request nor cause in it", async () => {
  await using server = await serveRaw(`HTTP/1.1 ${CANARY}\r\n`, "close");
  const transport = transportOf({});
  const error: unknown = await transport
    .send(
      {
        method: "GET",
        url: `http://127.0.0.1:${server.port}/`,
        headers: { authorization: `Bearer ${CANARY}` },
        body: null,
        timeouts: PATIENT,
        answerLimitBytes: 1,
      },
      never(),
    )
    .catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ name: "TransportError", reason: "other" });
  expect(dump(error) + String((error as Error).stack)).not.toContain(CANARY);
  expect((error as Error).cause).toBeUndefined();
});
