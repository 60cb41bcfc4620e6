import { expect, it } from "vitest";

import { enrolmentListSchema, type EnrolmentStarted } from "../../../../src/api/enrolments.ts";
import { createUserCode, GUESSES_PER_MINUTE } from "../../../../src/service/identity/approval.ts";
import { UNDECIDED, WAITING_MAXIMUM } from "../../../../src/service/identity/enrolments.ts";
import { readClientAddress } from "../../../../src/service/kernel/traffic/client-address.ts";
import { STARTS_PER_MINUTE } from "../../../../src/service/identity/start.ts";
import { systemRandom } from "../../../../src/platform/random.ts";
import { times } from "../../../support/run/tier.ts";
import { openBackstage } from "../../../support/service/organizations.ts";
import { describeOnEachStore } from "../../../support/service/stores.ts";
import { openScene, requestStart, type Scene, refusalOf } from "./scene.ts";

const MINUTE_MS = 60_000;
/** Number of guesses. Each is a request, so the gate sends fewer. */
const GUESSES = times(1000, 10_000);

/** Number of answers by status, for guesses in parallel up to the limit of one client. */
async function guess(
  { running }: Scene,
  count: number,
  requestOf: (code: string) => readonly [string, string, unknown?],
) {
  const statuses = new Map<number, number>();
  for (let sent = 0; sent < count; sent += 50) {
    const answers = await Promise.all(
      Array.from({ length: Math.min(50, count - sent) }, async () => {
        const [method, path, body] = requestOf(createUserCode(systemRandom));
        const answer = await running.send(method, path, body);
        await answer.arrayBuffer();
        return answer.status;
      }),
    );
    for (const status of answers) statuses.set(status, (statuses.get(status) ?? 0) + 1);
  }
  return Object.fromEntries(statuses);
}

const approveOf = (code: string) => ["POST", "/v1/robots/approve", { user_code: code }] as const;

it(`${GUESSES} guessed codes → none is found, and most are rejected without a lookup`, async () => {
  const scene = await openScene(undefined);
  const computers = Array.from({ length: 50 }, () => scene.computer());
  for (const computer of computers) await computer.start();
  const statuses = await guess(scene, GUESSES, approveOf);
  expect(Object.keys(statuses)).toEqual(["404", "429"]);
  // One guess is refilled every six seconds.
  expect(statuses[404]).toBeGreaterThanOrEqual(GUESSES_PER_MINUTE.credential);
  expect(statuses[404]).toBeLessThan(3 * GUESSES_PER_MINUTE.credential);
  const list = await (await scene.running.send("GET", "/v1/robot-enrollments")).json();
  expect(enrolmentListSchema.parse(list).items).toHaveLength(50);
  expect(await (await fetch(`${scene.running.url}/metrics`)).text()).toContain(
    `limit="enrolments.wrong_codes"} ${statuses[429]}`,
  );
});

it.each([
  ["approve", approveOf],
  ["deny", (code: string) => ["POST", "/v1/robots/deny", { user_code: code }] as const],
  ["get", (code: string) => ["GET", `/v1/robot-enrollments/${code}`] as const],
])("%s: ten wrong codes per minute and credential → 429, for a valid code too", async (_what, requestOf) => {
  const scene = await openScene(undefined);
  const started = await scene.computer().start();
  expect(await guess(scene, 10, requestOf)).toEqual({ 404: 10 });
  const [method, path, body] = requestOf(started.user_code);
  const answer = await scene.running.send(method, path, body);
  // One guess is refilled every six seconds.
  const retryAfterS = Number(answer.headers.get("retry-after"));
  expect([answer.status, retryAfterS >= 1 && retryAfterS <= 6]).toEqual([429, true]);
  expect(await refusalOf(answer)).toEqual([
    429,
    expect.stringMatching(/^Too many wrong codes; .* try again in \d+ s$/),
  ]);
  scene.advance(7000);
  expect((await scene.running.send(method, path, body)).status).toBe(200);
});

it("wrong codes of one organization → a hundred per minute, over all its keys", async () => {
  const { running } = await openScene(undefined);
  const keys: string[] = [];
  for (let made = 0; made < 11; made += 1) {
    const answer = await running.send("POST", "/v1/me/api-keys", { label: "k", scopes: ["robots:write"] });
    keys.push(((await answer.json()) as { api_key: string }).api_key);
  }
  const approve = async (key: string) => {
    const body = JSON.stringify({ user_code: createUserCode(systemRandom) });
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
    return (await fetch(`${running.url}/v1/robots/approve`, { method: "POST", headers, body })).status;
  };
  const statuses: number[] = [];
  for (let round = 0; round < GUESSES_PER_MINUTE.credential; round += 1) {
    for (const key of keys) statuses.push(await approve(key));
  }
  const wrong = statuses.filter((status) => status === 404).length;
  expect(wrong).toBeGreaterThanOrEqual(GUESSES_PER_MINUTE.organization);
  expect(wrong).toBeLessThan(statuses.length);
});

it("valid codes → never limited, even many at once", async () => {
  const scene = await openScene(undefined);
  const computers = Array.from({ length: 40 }, () => scene.computer());
  const starts: EnrolmentStarted[] = [];
  for (const [index, computer] of computers.entries()) {
    starts.push(await computer.start({ requested_name: `arm-${index}` }));
  }
  const answers = await Promise.all(starts.map((started) => scene.approve(started)));
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
});

it("starts → 120 per minute and address, where IPv6 addresses count by /64", async () => {
  const scene = await openScene(undefined, { trustedProxies: ["127.0.0.1"] });
  const startFrom = async (address: string) => {
    const answer = await requestStart(scene.computer(), {}, { "x-forwarded-for": address });
    await answer.arrayBuffer();
    return [answer.status, Number(answer.headers.get("retry-after"))];
  };
  let started = 0;
  while ((await startFrom(`2001:db8:1:2::${started.toString(16)}`))[0] === 200) started += 1;
  expect(started).toBe(STARTS_PER_MINUTE);
  expect(await startFrom("2001:db8:1:2:ffff::1")).toEqual([429, 1]);
  expect(await startFrom("2001:db8:1:3::1")).toEqual([200, 0]);
  expect(await startFrom("192.0.2.1")).toEqual([200, 0]);
  scene.advance(MINUTE_MS);
  expect(await startFrom("2001:db8:1:2:ffff::1")).toEqual([200, 0]);
});

describeOnEachStore("10,000 pending enrolments", (newStore) => {
  /** A scene in which as many wait, each from the address that `addressOf` gives its number. */
  async function fill(addressOf: (index: number) => string) {
    const store = await newStore();
    const scene = await openScene(store, { trustedProxies: ["127.0.0.1"] });
    const started = await scene.computer().start();
    const location = store ?? ({ kind: "sqlite", dataDirectory: scene.running.dataDirectory } as const);
    await using backstage = await openBackstage(location);
    const template = await backstage.store.reader
      .selectFrom("enrolments")
      .selectAll()
      .where("id", "=", started.approval_id)
      .executeTakeFirstOrThrow();
    const more = WAITING_MAXIMUM - 1;
    for (let from = 0; from < more; from += 500) {
      const rows = Array.from({ length: Math.min(500, more - from) }, (_, index) => ({
        ...template,
        ...UNDECIDED,
        id: `renr_${from + index}`,
        client_site: readClientAddress(addressOf(from + index)).site,
        public_key: `key ${from + index}`,
        user_code: `CODE${from + index}`,
      }));
      await backstage.store.write((transaction) => transaction.insertInto("enrolments").values(rows).execute());
    }
    return { scene, started };
  }

  it.each([
    ["900 networks of one site", (index: number) => `2001:db8:1:${(index % 900).toString(16)}::1`],
    ["900 sites", (index: number) => `2001:db8:${(index % 900).toString(16)}::1`],
  ])("of %s → a start from elsewhere takes one of their places, one of theirs gets 429", async (_what, addressOf) => {
    const { scene, started } = await fill(addressOf);
    const startFrom = async (address: string) =>
      (await requestStart(scene.computer(), {}, { "x-forwarded-for": address })).status;
    for (const host of [1, 2, 3]) expect(await startFrom(`192.0.2.${host}`)).toBe(200);
    expect(await startFrom(addressOf(5))).toBe(429);
    expect((await scene.approve(started)).status).toBe(200);
  });

  it("another start → 429, until one is denied or expires", async () => {
    const { scene, started } = await fill(() => "127.0.0.1");
    const answer = await requestStart(scene.computer());
    expect([await refusalOf(answer), answer.headers.get("retry-after")]).toEqual([
      [429, "Too many enrolments wait for their approval; start again in a few minutes"],
      "60",
    ]);
    // An enrolment by enrollment key is approved at once, so it does not count as pending.
    const key = await scene.enrollmentKey(1);
    await scene.computer().start({ requested_name: "arm-9" }, key.api_key);
    expect((await scene.running.send("POST", "/v1/robots/deny", { user_code: started.user_code })).status).toBe(200);
    expect((await requestStart(scene.computer())).status).toBe(200);
    expect((await requestStart(scene.computer())).status).toBe(429);
    scene.advance(11 * MINUTE_MS);
    expect((await requestStart(scene.computer())).status).toBe(200);
  });
});
