import { describe, expect } from "vitest";

import type { Operation } from "../../../src/api/wire/operation.ts";
import { GENERAL_SCOPES } from "../../../src/api/wire/scopes.ts";
import { systemRandom } from "../../../src/platform/random.ts";
import { API_KEY_PREFIX, createToken } from "../../../src/service/kernel/auth/token.ts";
import { BODY_VALUES_MAXIMUM } from "../../../src/service/kernel/http/body.ts";
import { allOperations, createClient, type Name, pathOf, type Sent } from "./client.ts";
import type { Tests } from "./tests.ts";

const NAMES = Object.keys(allOperations) as Name[];
const operationOf = (name: Name): Operation => allOperations[name];
const GUARDED = NAMES.filter((name) => {
  const { scopes, isOpen } = operationOf(name);
  return scopes !== "public" && scopes !== "signed" && isOpen !== true;
});
const SCOPED = GENERAL_SCOPES.map((scope) => ({
  scope,
  names: NAMES.filter((name) => operationOf(name).scopes.includes(scope)),
}));

/** A request that the operation refuses for its content, unless it refuses it earlier. */
function empty(name: Name): Sent {
  return operationOf(name).request === null ? {} : { body: {} };
}

/** A key with a valid form and checksum that was never issued. */
const UNKNOWN_KEY = createToken(API_KEY_PREFIX, systemRandom);

/** Checks before an operation runs. They do not depend on the store. */
export function credentialsConformance({ target, itOnce }: Tests): void {
  describe("credentials", () => {
    itOnce.each(GUARDED)(
      "%s without a credential, or with an unknown key → 401, before the body is read",
      async (name) => {
        const client = createClient(() => target().url, null);
        expect(await client.as(UNKNOWN_KEY).refused("Unauthorized", name, empty(name))).toBe("Invalid API key");
        expect(await client.refused("Unauthorized", name)).toBe("Not authenticated");
        if (operationOf(name).method === "GET") return;
        expect(await client.refused("Unauthorized", name, { body: "{" })).toBe("Not authenticated");
      },
    );

    itOnce.each(SCOPED)("key with scope $scope → may do that, and nothing else", async ({ scope, names }) => {
      expect(names).not.toEqual([]);
      const client = await target().organization();
      const restricted = await client.withKey({ scopes: [scope] });
      for (const name of GUARDED) {
        const { scopes } = operationOf(name);
        if (scopes === "any") continue;
        if (scopes.includes(scope)) expect((await restricted.send(name, empty(name))).status, name).not.toBe(403);
        else {
          const detail = await restricted.refused("Forbidden", name, empty(name));
          const keyScopes = [scopes].flat().filter((other) => other !== "robots:self" || scopes.length === 1);
          expect(detail).toBe(`The API key lacks the scope ${keyScopes.join(" or ")}`);
        }
      }
      // Every credential may read its own session and account.
      await restricted.call("getSession");
      await restricted.call("getAccount");
    });

    itOnce("key in the query, a cookie or another header → 401", async () => {
      const { url } = target();
      const { key } = await target().organization();
      for (const name of ["key", "api_key", "access_token", "token", "authorization"]) {
        const answer = await fetch(`${url}/v1/robots?${name}=${key}`);
        expect(answer.status).toBe(401);
      }
      const cookie = { cookie: `authorization=Bearer ${key}; token=${key}`, "x-api-key": `${key}` };
      expect((await fetch(`${url}/v1/robots`, { headers: cookie })).status).toBe(401);
    });

    itOnce.each([
      ["key with a typo in the last character", (key: string) => key.slice(0, -1) + (key.endsWith("0") ? "1" : "0")],
      ["key without its last character", (key: string) => key.slice(0, -1)],
      ["key with one more character", (key: string) => `${key}0`],
      ["key in lower case", (key: string) => key.toLowerCase()],
      ["key repeated", (key: string) => `${key} ${key}`],
      ["key repeated after a comma", (key: string) => `${key}, Bearer ${key}`],
      ["key in quotes", (key: string) => `"${key}"`],
    ])("%s → 401", async (_what, spoil) => {
      const client = await target().organization();
      await client.as(spoil(client.key ?? "")).refused("Unauthorized", "listRobots");
    });
  });

  describe("methods and paths", () => {
    const paths = [...new Set(NAMES.map((name) => operationOf(name).path))];

    itOnce.each(paths)("%s with another method → 405 with Allow, even without a credential", async (path) => {
      const { url } = target();
      const names = NAMES.filter((name) => operationOf(name).path === path);
      const methods = names.map((name) => operationOf(name).method);
      const address = url + pathOf(operationOf(names[0] ?? "listRobots"));
      for (const method of ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]) {
        if (methods.some((known) => known === method)) continue;
        const answer = await fetch(address, { method });
        expect([method, answer.status]).toEqual([method, 405]);
        const allowed = answer.headers.get("allow")?.split(", ") ?? [];
        expect(allowed).toEqual(expect.arrayContaining(methods));
        expect(await answer.json()).toMatchObject({ code: "MethodNotAllowed" });
      }
    });
  });

  describe("bodies", () => {
    // Heartbeats need the credential of a robot, and have their own tests.
    const WITH_BODY = NAMES.filter((name) => operationOf(name).request !== null && name !== "heartbeat");
    /** Operations whose body may be empty. */
    const ALL_OPTIONAL: ReadonlySet<Name> = new Set(["changeInstallation", "claimRun", "rotateApiKey"]);

    /** Open operations need no credential, and refuse ordinary keys. */
    const keyFor = (name: Name, key: string | null) => (operationOf(name).isOpen === true ? null : key);

    itOnce.each(WITH_BODY)("%s with an invalid, missing or too large body → 422 or 413", async (name) => {
      const organization = await target().organization();
      const client = organization.as(keyFor(name, organization.key));
      const typesOf = async (body: string | undefined, headers = {}) => {
        const answer = await client.send(name, { ...(body === undefined ? {} : { body }), headers });
        expect(answer.status).toBe(422);
        return (answer.body as { detail: { type: string }[] }).detail.map(({ type }) => type);
      };
      expect(await typesOf(undefined)).toEqual(["missing"]);
      expect(await typesOf("{")).toEqual(["json_invalid"]);
      expect(await typesOf("[]")).toEqual(["model_attributes_type"]);
      expect(await typesOf("null")).toEqual(["model_attributes_type"]);
      expect(await typesOf("{}", { "content-type": "text/plain" })).toEqual(["model_attributes_type"]);
      // A preview needs one of two members, so its finding is a value_error.
      if (!ALL_OPTIONAL.has(name))
        for (const type of await typesOf("{}")) expect(["missing", "value_error"]).toContain(type);
      const operation = operationOf(name);
      const bodyBytes = operation.request === null ? 0 : operation.bodyBytes;
      const large = `{"x":"${"x".repeat(bodyBytes)}"}`;
      expect(await client.refused("PayloadTooLarge", name, { body: large })).toContain(String(bodyBytes));
      await client.refused("PayloadTooLarge", name, { body: `{"x":[${"0,".repeat(BODY_VALUES_MAXIMUM)}0]}` });
    });
  });

  describe("headers", () => {
    itOnce("HEAD → as GET, without a body", async ({ client }) => {
      const { status, body } = await client.send("listRobots", { method: "HEAD" });
      expect([status, body]).toEqual([200, null]);
    });

    itOnce("well-formed request id → kept; otherwise → replaced", async ({ client }) => {
      const idOf = async (id: string) =>
        (await client.send("listRobots", { headers: { "x-request-id": id } })).headers.get("x-request-id");
      expect(await idOf("abc-123_4.5")).toBe("abc-123_4.5");
      for (const id of ["", "a b", "x".repeat(65), '"', "ü", "a,b", "<script>"]) expect(await idOf(id)).not.toBe(id);
    });
  });
}
