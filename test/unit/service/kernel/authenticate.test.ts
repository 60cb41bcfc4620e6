import { describe, expect, it } from "vitest";

import { systemRandom } from "../../../../src/platform/random.ts";
import { authenticate, type Credential } from "../../../../src/service/kernel/auth/authenticate.ts";
import { workingCredentials } from "../../../../src/service/kernel/auth/credentials.ts";
import { endSession, insertSession, type SessionRow } from "../../../../src/service/kernel/auth/session-queries.ts";
import {
  CONSOLE_TOKEN_PREFIX,
  createToken,
  hashSecret,
  SESSION_TOKEN_PREFIX,
} from "../../../../src/service/kernel/auth/token.ts";
import { openServiceParts, type ServiceParts } from "../../../support/service/service-parts.ts";

const LATER_MS = 60_000;

function addSession({ store, at }: ServiceParts, token: string, session: Partial<SessionRow> = {}): Promise<void> {
  const row: SessionRow = {
    id: "ses_1",
    organization_id: "org_1",
    kind: "cli",
    token_sha256: hashSecret(token),
    created_by: "key_1",
    scopes: null,
    created_at: at(),
    last_used_at: null,
    expires_at: at(LATER_MS),
    revoked_at: null,
    ...session,
  };
  return store.write((transaction) => insertSession(transaction, row));
}

describe("authenticate: a session", () => {
  it.each([
    ["cli", SESSION_TOKEN_PREFIX, "bearer", "console"],
    ["console", CONSOLE_TOKEN_PREFIX, "console", "bearer"],
  ] as const)("of the %s → valid only where its kind is sent", async (kind, prefix, sent, other) => {
    await using parts = await openServiceParts();
    const token = createToken(prefix, systemRandom);
    await addSession(parts, token, { kind });
    const stateOf = async (credential: Credential) => {
      const found = await authenticate(parts.store.reader, parts.context.machine.clock, credential);
      return found.state === "authenticated" ? found.principal.credentialId : found.state;
    };
    expect(await stateOf({ kind: sent, token })).toBe("ses_1");
    expect(await stateOf({ kind: other, token })).toBe("unauthorized");
    expect(await stateOf({ kind: sent, token: createToken(prefix, systemRandom) })).toBe("unauthorized");
    expect(await stateOf({ kind: sent, token: `${token}0` })).toBe("unauthorized");
  });
});

describe("authenticate: an idle console session", () => {
  const HOUR_MS = 3_600_000;

  it.each([
    ["almost 12 h after its start", null, 12 * HOUR_MS - 1, "authenticated"],
    ["12 h after its start", null, 12 * HOUR_MS, "unauthorized"],
    ["almost 12 h after its last use", HOUR_MS, 13 * HOUR_MS - 1, "authenticated"],
    ["12 h after its last use", HOUR_MS, 13 * HOUR_MS, "unauthorized"],
  ])("%s → %s", async (_what, usedAtMs, nowMs, state) => {
    await using parts = await openServiceParts();
    const token = createToken(CONSOLE_TOKEN_PREFIX, systemRandom);
    const usedAt = usedAtMs === null ? null : parts.at(usedAtMs);
    await addSession(parts, token, { kind: "console", last_used_at: usedAt, expires_at: parts.at(24 * HOUR_MS) });
    parts.pass(nowMs);
    const { reader } = parts.store;
    expect((await authenticate(reader, parts.context.machine.clock, { kind: "console", token })).state).toBe(state);
  });
});

describe("endSession", () => {
  it("active session → ended once, of its own organization only", async () => {
    await using parts = await openServiceParts();
    await addSession(parts, createToken(SESSION_TOKEN_PREFIX, systemRandom));
    const end = (organizationId: string, laterMs: number) =>
      parts.store.write((transaction) => endSession(transaction, organizationId, "ses_1", parts.at(laterMs)));
    expect([await end("org_2", 1), await end("org_1", 2), await end("org_1", 3)]).toEqual([false, true, false]);
    const [session] = await parts.store.reader.selectFrom("sessions").select("revoked_at").execute();
    expect(session?.revoked_at).toBe(parts.at(2));
  });
});

describe("workingCredentials: a session", () => {
  it.each([
    ["that ends a millisecond later", (at: ServiceParts["at"]) => ({ expires_at: at(1) }), true],
    ["that ends just now", (at: ServiceParts["at"]) => ({ expires_at: at() }), false],
    ["that was revoked", (at: ServiceParts["at"]) => ({ revoked_at: at() }), false],
  ])("%s → %s", async (_what, ends, isWorking) => {
    await using parts = await openServiceParts();
    await addSession(parts, createToken(SESSION_TOKEN_PREFIX, systemRandom), ends(parts.at));
    const working = await workingCredentials(parts.store.reader, ["ses_1", "ses_2"], parts.at());
    expect([...working]).toEqual(isWorking ? ["ses_1"] : []);
  });
});
