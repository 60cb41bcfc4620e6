import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

import * as fc from "fast-check";
import { expect, it } from "vitest";

import { anyCharacter } from "../../../support/any-character.ts";
import { times } from "../../../support/run/tier.ts";
import { NO_DIGEST } from "../../../support/service/robot-computer.ts";
import { describeOnEachStore } from "../../../support/service/stores.ts";
import { openScene, requestPoll, requestStart } from "./scene.ts";

const START = "/v1/robot-agent/enrollment";
const POLL = "/v1/robot-agent/enrollment/poll";

it("validation errors → FastAPI's form, with keys, codes, tokens and signatures redacted", async () => {
  const { running, computer } = await openScene(undefined);
  const detailsOf = async (path: string, body: object) => {
    const answer =
      path === START || path === POLL
        ? await computer().send("POST", path, body, null)
        : await running.send("POST", path, body);
    expect(answer.status).toBe(422);
    return ((await answer.json()) as { detail: unknown[] }).detail.map((detail) => JSON.stringify(detail));
  };
  const start = { requested_name: "arm", public_key: "x".repeat(43), configuration_digest: NO_DIGEST };
  expect(await detailsOf(START, start)).toMatchInlineSnapshot(`
    [
      "{"type":"value_error","loc":["body","public_key"],"msg":"Value error, not an Ed25519 public key: 32 raw bytes in base64url, 43 characters","ctx":{"error":{}}}",
    ]
  `);
  expect(await detailsOf(START, { ...start, public_key: "short" })).toMatchInlineSnapshot(`
    [
      "{"type":"string_too_short","loc":["body","public_key"],"msg":"String should have at least 32 characters","ctx":{"min_length":32}}",
    ]
  `);
  expect(await detailsOf(START, { public_key: "x".repeat(43) })).toMatchInlineSnapshot(`
    [
      "{"type":"missing","loc":["body","requested_name"],"msg":"Field required","input":{"public_key":"[redacted]"}}",
      "{"type":"missing","loc":["body","configuration_digest"],"msg":"Field required","input":{"public_key":"[redacted]"}}",
    ]
  `);
  const inference = { outcome: "verified", site: { aws_region: "us-west-2" } };
  expect(await detailsOf(START, { ...start, region: "eu-west-1", site_inference: inference })).toMatchInlineSnapshot(`
    [
      "{"type":"value_error","loc":["body"],"msg":"Value error, region and site_inference exclude each other; send one of them","input":{"requested_name":"arm","public_key":"[redacted]","configuration_digest":"sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855","region":"eu-west-1","site_inference":{"outcome":"verified","site":{"aws_region":"us-west-2"}}},"ctx":{"error":{}}}",
    ]
  `);
  expect(await detailsOf(POLL, { approval_id: 1, poll_token: "", signature: 5 })).toMatchInlineSnapshot(`
    [
      "{"type":"string_type","loc":["body","approval_id"],"msg":"Input should be a valid string","input":1}",
      "{"type":"string_too_short","loc":["body","poll_token"],"msg":"String should have at least 1 character","ctx":{"min_length":1}}",
      "{"type":"string_type","loc":["body","signature"],"msg":"Input should be a valid string"}",
    ]
  `);
  expect(await detailsOf("/v1/robots/approve", { user_code: "" })).toMatchInlineSnapshot(`
    [
      "{"type":"string_too_short","loc":["body","user_code"],"msg":"String should have at least 1 character","ctx":{"min_length":1}}",
    ]
  `);
  const started = await computer().start({ requested_name: "Arm 1", region: null });
  const approval = { user_code: started.user_code };
  expect(await detailsOf("/v1/robots/approve", approval)).toMatchInlineSnapshot(`
    [
      "{"type":"value_error","loc":["body","name"],"msg":"Value error, a robot has a name of 1 to 64 lower-case letters, digits and hyphens, with a letter or digit first and last; choose another one as name","input":"Arm 1","ctx":{"error":{}}}",
    ]
  `);
  expect(await detailsOf("/v1/robots/approve", { ...approval, name: "arm-1", region: "" })).toMatchInlineSnapshot(`
    [
      "{"type":"value_error","loc":["body","region"],"msg":"Value error, the computer did not say its region; name one as region","input":"","ctx":{"error":{}}}",
    ]
  `);
});

it("refusals → each says what to do next", async () => {
  const { running, computer, approve, enrollmentKey } = await openScene(undefined);
  const [robot, other] = [computer(), computer()];
  const started = await robot.start();
  const refusals: Record<string, unknown> = {};
  const record = async (what: string, answer: Response) => {
    const { detail, ...rest } = (await answer.json()) as Record<string, unknown>;
    delete rest["message"];
    refusals[what] = `${answer.status} ${String(detail)} ${JSON.stringify(rest)}`;
  };
  await record("an unknown code", await running.send("POST", "/v1/robots/approve", { user_code: "ABCD-EFGH" }));
  await record("a stranger's poll", await requestPoll(other, started));
  await approve(started);
  await record("another name", await approve(started, { name: "arm-2" }));
  await robot.poll(started);
  await robot.heartbeat();
  await record("a key that is in use", await requestStart(robot));
  await record("a robot that is online", await approve(await other.start()));
  const { api_key: key } = await enrollmentKey(1);
  const authorization = { authorization: `Bearer ${key}` };
  await requestStart(computer(), { requested_name: "arm-7" }, authorization);
  await record("a key that is used up", await requestStart(computer(), { requested_name: "arm-8" }, authorization));
  await record("an ordinary key", await requestStart(computer(), {}, { authorization: `Bearer ${running.key}` }));
  expect(refusals).toMatchInlineSnapshot(`
    {
      "a key that is in use": "409 This key is that of a computer that is enrolled already; make a fresh key, and start again with it {"code":"Conflict","reason":"key_in_use"}",
      "a key that is used up": "403 The key for enrolments is used up; ask for a new one, or start without a key and have the code approved {"code":"Forbidden","reason":"uses_spent"}",
      "a robot that is online": "409 The robot arm-1 is online on another computer; to replace that, approve the code again with confirm_replace {"code":"Conflict","reason":"robot_online"}",
      "a stranger's poll": "404 There is no such enrolment, or the proof is not of its computer; start the enrolment again on the robot {"code":"NotFound"}",
      "an ordinary key": "403 The API key lacks the scope robots:enroll {"code":"Forbidden","reason":"scope"}",
      "an unknown code": "404 No enrolment waits with this code; check it on the robot, or start the enrolment there again {"code":"NotFound"}",
      "another name": "409 The code was approved already, as arm-1 in us-west-2; deny it to have the computer enroll again {"code":"Conflict","reason":"already_approved"}",
    }
  `);
});

describeOnEachStore("secrets of enrolments and installations", (newStore) => {
  it("are in no log, answer, audit entry or file", async () => {
    const { running, computer, approve, enrollmentKey } = await openScene(await newStore());
    const [robot, bulk] = [computer(), computer()];
    const started = await robot.start();
    const views = [await (await running.send("GET", "/v1/robot-enrollments")).text()];
    views.push(await (await running.send("GET", `/v1/robot-enrollments/${started.user_code}`)).text());
    views.push(await (await approve(started)).text());
    const key = await enrollmentKey(3);
    const bulkStarted = await bulk.start({ requested_name: "arm-2" }, key.api_key);
    await requestPoll(computer(), started);
    await robot.poll(started);
    await bulk.poll(bulkStarted);
    const first = robot.token;
    await robot.renew();
    await robot.heartbeat();
    const robotPaths = ["/v1/robots", "/v1/robots/arm-1", "/v1/robots/arm-1/installation"];
    for (const path of [...robotPaths, "/v1/me/audit", "/v1/me/api-keys"]) {
      views.push(await (await running.send("GET", path)).text());
    }
    const names = (await readdir(running.dataDirectory)).filter((name) => name.startsWith("service.db"));
    const files = await Promise.all(names.map((name) => readFile(join(running.dataDirectory, name), "latin1")));
    const places = [running.log(), ...views, ...files];
    const secrets = [started.poll_token, bulkStarted.poll_token, first, robot.token, bulk.token, key.api_key];
    for (const secret of secrets) {
      expect(secret).toMatch(/.{24}/);
      for (const place of places) expect(place).not.toContain(secret);
    }
  });
});

const scalar = fc.oneof(
  fc.string({ unit: anyCharacter, maxLength: 70 }),
  fc.constantFrom(null, true, 0, 1.5, "", "\0", "\ud800", "😀".repeat(65), NO_DIGEST, "us-west-2", "A".repeat(43)),
);
const json = fc.oneof(scalar, fc.jsonValue({ maxDepth: 3 }));
const bodies = {
  [START]: fc.record(
    {
      requested_name: scalar,
      public_key: scalar,
      configuration_digest: fc.oneof(fc.constant(NO_DIGEST), scalar),
      region: json,
      site_inference: fc.oneof(
        json,
        fc.record({
          outcome: fc.oneof(fc.constant("verified"), json),
          site: fc.oneof(fc.record({ aws_region: fc.constant("us-west-2") }), json),
          geolocation: json,
        }),
      ),
      site: json,
      labels: fc.oneof(json, fc.dictionary(fc.string({ maxLength: 5 }), scalar, { maxKeys: 40 })),
      organization_id: json,
      policy_proof: json,
      robot_type_id: json,
      contract: json,
    },
    { requiredKeys: [] },
  ),
  [POLL]: fc.record({ approval_id: json, poll_token: json, signature: json }, { requiredKeys: [] }),
  "/v1/robots/approve": fc.record(
    { user_code: json, name: json, region: json, confirm_replace: json },
    { requiredKeys: [] },
  ),
  "/v1/robots/deny": fc.record({ user_code: json }, { requiredKeys: [] }),
};

it.each(Object.entries(bodies))("POST %s, any body → 200 or a client error, and a short answer", async (path, body) => {
  const { running } = await openScene(undefined);
  const key = path === START || path === POLL ? {} : { authorization: `Bearer ${running.key}` };
  await fc.assert(
    fc.asyncProperty(body, async (sent) => {
      const headers = { ...key, "content-type": "application/json" };
      const answer = await fetch(running.url + path, { method: "POST", headers, body: JSON.stringify(sent) });
      const text = await answer.text();
      expect([200, 404, 409, 413, 422, 429], text).toContain(answer.status);
      expect(text.length).toBeLessThanOrEqual(65_536);
    }),
    { numRuns: times(200, 5000) },
  );
});
