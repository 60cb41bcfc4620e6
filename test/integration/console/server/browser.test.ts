/** @module-tag needs/browser */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";

import { apiKeyListSchema } from "../../../../src/api/keys.ts";
import { loginStartedSchema } from "../../../../src/api/logins.ts";
import {
  BROWSER_NEEDED,
  openWindow,
  signIn,
  signInByForm,
  startConsole,
  type Window,
  WITHOUT_BROWSER,
} from "../../../support/browser.ts";
import type { RunningService, ServiceOptions } from "../../../support/service/service.ts";

describe.skipIf(WITHOUT_BROWSER)(`the console in a browser${BROWSER_NEEDED}`, () => {
  async function scene(options?: ServiceOptions): Promise<Window & { readonly running: RunningService }> {
    const running = await startConsole(options);
    onTestFinished(() => running[Symbol.asyncDispose]());
    const window = await openWindow();
    return { ...window, running };
  }

  it("sign in, reload, sign out → no browser errors, no secret readable by scripts", async () => {
    const { page, complaints, running } = await scene();
    await signInByForm(page, running, "/robots");
    expect(new URL(page.url()).pathname).toBe("/robots");
    await page.reload();
    await page.getByRole("navigation").first().waitFor();
    const readable = await page.evaluate("document.cookie + JSON.stringify({ ...localStorage, ...sessionStorage })");
    expect(readable).not.toMatch(/rps_|sk_/);
    const [cookie] = await page.context().cookies();
    expect(cookie).toMatchObject({ httpOnly: true, sameSite: "Strict", path: "/", domain: "127.0.0.1" });
    await page.getByRole("button", { name: "Sign out" }).first().click();
    await page.getByLabel("API key").waitFor();
    expect(await page.context().cookies()).toEqual([]);
    expect(complaints).toEqual([]);
    expect(running.log()).not.toMatch(/rps_console_|sk_rps_/);
  });

  describe("another page in the browser of a signed-in person", () => {
    const evil = createServer((_request, response) => {
      response.setHeader("content-type", "text/html").end("<!doctype html><title>Cats</title>");
    });
    let evilPort = 0;
    beforeAll(async () => {
      evil.listen(0, "127.0.0.1");
      await once(evil, "listening");
      evilPort = (evil.address() as AddressInfo).port;
    });
    afterAll(() => {
      evil.closeAllConnections();
      evil.close();
    });

    async function attacked(host: string) {
      const { page, running } = await scene();
      await signIn(page, running);
      const started = await running.send("POST", "/v1/cli/login/start", {
        verifier: "v".repeat(43),
        callback_url: "http://127.0.0.1:1/done",
      });
      const { exchange_id: exchangeId } = loginStartedSchema.parse(await started.json());
      const other = await page.context().newPage();
      await other.goto(`http://${host}:${evilPort}/`);
      const cookies = async () => (await page.context().cookies()).map(({ value }) => value);
      const before = await cookies();
      const expectUnchanged = async () => {
        const keys = apiKeyListSchema.parse(await (await running.send("GET", "/v1/me/api-keys")).json());
        expect(keys.items).toHaveLength(1);
        const login = await running.send("GET", `/console/logins/${exchangeId}`);
        expect(await login.json()).toMatchObject({ state: "pending" });
        expect(await cookies()).toEqual(before);
        expect((await running.send("GET", "/v1/robots")).status).toBe(200);
        await page.reload();
        await page.getByRole("navigation").first().waitFor();
      };
      return { running, page, other, exchange_id: exchangeId, expectUnchanged };
    }

    // For browsers, all ports of a host are one site: SameSite=Strict alone would allow the first case.
    it.each([
      ["at another port of the host, which gets the cookie", "127.0.0.1"],
      ["of another site", "evil.localhost"],
    ])("%s → its requests, added headers and forms are refused", async (_where, host) => {
      const { running, other, exchange_id: exchangeId, expectUnchanged } = await attacked(host);
      const results = await other.evaluate(`(async () => {
        const ask = (path, init) => fetch(${JSON.stringify(running.url)} + path, { credentials: "include", ...init })
          .then(({ status, type }) => type + " " + status, () => "refused");
        const decision = JSON.stringify({ exchange_id: ${JSON.stringify(exchangeId)}, decision: "approve" });
        const key = JSON.stringify({ label: "evil" });
        const post = { method: "POST", mode: "no-cors" };
        return [
          await ask("/v1/robots", {}),
          await ask("/v1/robots", { headers: { "x-robot-policy-console": "1" } }),
          await ask("/v1/me/api-keys", { ...post, body: key }),
          await ask("/v1/me/api-keys", { method: "POST", body: key, headers: { "x-robot-policy-console": "1" } }),
          await ask("/v1/cli/login/decide", { ...post, body: decision }),
          await ask("/console/session", { ...post, body: JSON.stringify({ api_key: ${JSON.stringify(running.key)} }) }),
          await ask("/console/session", { method: "DELETE" }),
          await ask("/console/versions", {}),
        ];
      })()`);
      const [refused, sent] = ["refused", "opaque 0"];
      expect(results).toEqual([refused, refused, sent, refused, sent, sent, refused, refused]);
      for (const [path, body] of [
        ["/v1/me/api-keys", '{"label":"evil","x":"'],
        ["/v1/cli/login/decide", `{"decision":"approve","exchange_id":"${exchangeId}","x":"`],
        ["/console/session", `{"api_key":"${running.key}","x":"`],
      ] as const) {
        await other.goto(`http://${host}:${evilPort}/`);
        // With enctype text/plain, name and value together form JSON.
        await other.evaluate(`(() => {
          const form = document.createElement("form");
          Object.assign(form, { method: "POST", enctype: "text/plain", action: ${JSON.stringify(running.url + path)} });
          const field = document.createElement("input");
          Object.assign(field, { name: ${JSON.stringify(body)}, value: '"}' });
          form.append(field);
          document.body.append(form);
          form.submit();
        })()`);
        await other.waitForURL(running.url + path);
        expect(await other.evaluate("document.body.innerText")).toMatch(/Unauthorized|Forbidden/);
      }
      await expectUnchanged();
    });

    it("of another site → cannot frame the console or keep a reference to its window", async () => {
      const { running, other, exchange_id: exchangeId, expectUnchanged } = await attacked("evil.localhost");
      const url = JSON.stringify(`${running.url}/login?exchange=${exchangeId}`);
      await other.evaluate(`(() => {
        const frame = document.createElement("iframe");
        frame.src = ${url};
        document.body.append(frame);
        return new Promise((resolve) => { frame.onload = resolve; });
      })()`);
      const framed = other.frames().find((frame) => frame !== other.mainFrame());
      expect(await framed?.evaluate("document.querySelector('#console') === null")).toBe(true);
      const opening = other.context().waitForEvent("page");
      await other.evaluate(`void (window.victim = window.open(${url}))`);
      const opened = await opening;
      await opened.waitForLoadState();
      // The console never shares a browsing context with its opener.
      expect(await opened.evaluate("window.opener === null")).toBe(true);
      // The opener sees this a moment later.
      await expect.poll(() => other.evaluate("window.victim.closed")).toBe(true);
      await expectUnchanged();
    });
  });
});
