import fastify from "fastify";
import { expect, it, onTestFinished } from "vitest";

import { answerJson } from "../../../src/service/http/answers.ts";
import { createHeldBodies } from "../../../src/service/http/held-bodies.ts";
import { route } from "../../../src/service/http/mount.ts";

const OPERATION = { method: "POST", path: "/", scopes: "public" } as const;
const GATE = { admit: async () => ({ state: "admitted", principal: null, headers: {} }) as const };

/** A path that takes 100 bytes at a time, and answers as `answer` does. */
function serve(answer: () => Promise<void>) {
  const app = fastify();
  onTestFinished(() => app.close());
  app.addContentTypeParser("*", { parseAs: "buffer" }, (_request, bytes, done) => done(null, bytes));
  route(app, { gate: GATE, bodies: createHeldBodies(100) }, OPERATION, async () => {
    await answer();
    return answerJson("{}");
  });
  return (bytes: number) => app.inject({ method: "POST", url: "/", body: Buffer.alloc(bytes) });
}

it("a body is held while its request is worked on: others that do not fit are asked to come again", async () => {
  const isBegun = Promise.withResolvers<void>();
  const isOver = Promise.withResolvers<void>();
  const send = serve(() => {
    isBegun.resolve();
    return isOver.promise;
  });
  const first = send(60);
  await isBegun.promise;
  const refused = await send(60);
  expect([refused.statusCode, refused.headers["retry-after"]]).toEqual([503, "1"]);
  const small = send(40);
  isOver.resolve();
  expect([(await first).statusCode, (await small).statusCode]).toEqual([200, 200]);
});

it.each([
  ["well", () => Promise.resolve(), 200],
  ["not", () => Promise.reject(new Error("broken")), 500],
])("there is room again after each request, whether it ends %s", async (_how, answer, status) => {
  const send = serve(answer);
  for (let request = 0; request < 3; request += 1) expect((await send(60)).statusCode).toBe(status);
});
