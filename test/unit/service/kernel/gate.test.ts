import { expect, it, onTestFinished, vi } from "vitest";

import { systemRandom } from "../../../../src/platform/random.ts";
import { API_KEY_PREFIX, createToken, hashSecret } from "../../../../src/service/kernel/auth/token.ts";
import { createGate } from "../../../../src/service/kernel/http/gate.ts";
import { UNLIMITED } from "../../../../src/service/kernel/traffic/rate-limiter.ts";
import { createRobotCredentials } from "../../../../src/service/identity/robot-credentials.ts";
import { openServiceParts, PRINCIPAL } from "../../../support/service/service-parts.ts";

/** A gate in front of a store with one key, and the number of its queries. */
async function scene() {
  const { context, store, at, [Symbol.asyncDispose]: dispose } = await openServiceParts();
  onTestFinished(dispose);
  const token = createToken(API_KEY_PREFIX, systemRandom);
  const id = PRINCIPAL.keyId;
  const names = { id, organization_id: "org_1", label: "k", created_by: "command" };
  const key = { ...names, key_sha256: hashSecret(token), created_at: at() };
  await store.write((transaction) =>
    transaction
      .insertInto("api_keys")
      .values({ ...key, key_prefix: "sk", key_last4: "last" })
      .execute(),
  );
  const lookups = vi.spyOn(store.lookup, "getExecutor");
  const robots = createRobotCredentials(context);
  const gate = createGate({ ...context, robots, servesConsole: false }, UNLIMITED);
  return {
    token,
    gate,
    lookups: () => lookups.mock.calls.length,
    admit: async () => {
      const admission = await gate.admit(
        { scopes: "any" },
        { credential: { kind: "bearer", token }, address: "192.0.2.1" },
      );
      return admission.state;
    },
    revoke: () =>
      store.write((transaction) =>
        transaction.updateTable("api_keys").set({ revoked_at: at() }).where("id", "=", id).execute(),
      ),
  };
}

it("one key sent by many robots at once → two lookups, and another one after it was revoked", async () => {
  const { admit, lookups, revoke } = await scene();
  const robots = Array.from({ length: 100 }, () => admit());
  expect(new Set(await Promise.all(robots))).toEqual(new Set(["admitted"]));
  expect(lookups()).toBe(2);
  await revoke();
  expect(await admit()).toBe("refused");
});

it("open operation → admits requests without a credential, refuses an invalid one or one without the scope", async () => {
  const { gate, token } = await scene();
  const enroll = { scopes: ["robots:enroll"], isOpen: true } as const;
  const admit = (credential: string | null, operation: Parameters<typeof gate.admit>[0] = enroll) => {
    const shown = credential === null ? null : ({ kind: "bearer", token: credential } as const);
    return gate.admit(operation, { credential: shown, address: "192.0.2.1" });
  };
  expect(await admit(null)).toMatchObject({ state: "admitted", principal: null });
  expect(await admit("rps_nonsense")).toMatchObject({ state: "refused", answer: { status: 401 } });
  const lacking = await admit(token);
  if (lacking.state !== "refused") throw new Error("A key without the scope was admitted");
  expect([lacking.answer.status, JSON.parse(lacking.answer.json)]).toMatchObject([403, { reason: "scope" }]);
  const setup = { scopes: ["robots:setup"], isOpen: true } as const;
  expect(await admit(token, setup)).toMatchObject({ state: "admitted", principal: { credentialId: PRINCIPAL.keyId } });
});
