/** @module-tag needs/browser */
import { randomBytes } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

import type { Page } from "playwright-core";
import { expect, it, onTestFinished } from "vitest";

import { loginStartedSchema } from "../../../../src/api/logins.ts";
import { borrowWindow, describeConsole, openWindow, signIn, startConsole } from "../../../support/browser.ts";
import { createKey } from "../../../support/service/service.ts";
import { violations } from "./axe.ts";
import { passExpiry, takeClock } from "./page-clock.ts";

/** The callback of a program that does not listen: on the discard port. */
const NO_LISTENER = "http://127.0.0.1:9/no-browser";

describeConsole("login approval", startConsole, (running) => {
  async function open(path: string, key = running().key): Promise<Page> {
    const window = await borrowWindow();
    onTestFinished(() => expect(window.complaints).toEqual([]));
    await window.page.goto(running().url + path);
    await window.page.getByText("A command line on your computer asks to be signed in.").waitFor();
    await window.page.getByLabel("API key").fill(key);
    await window.page.keyboard.press("Enter");
    return window.page;
  }

  async function startLogin(callbackUrl: string) {
    const verifier = randomBytes(32).toString("hex");
    const started = await running().send("POST", "/v1/cli/login/start", { verifier, callback_url: callbackUrl });
    const { exchange_id: exchangeId, login_url, user_code: userCode } = loginStartedSchema.parse(await started.json());
    const poll = async () => {
      const answer = await running().send("POST", "/v1/cli/login/poll", { exchange_id: exchangeId, verifier });
      return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
    };
    return { verifier, exchange_id: exchangeId, login_url, user_code: userCode, poll };
  }

  it("Approve → shows the requester first, redirects to the waiting program with the code", async () => {
    const program = await startProgram();
    const {
      verifier,
      exchange_id: exchangeId,
      login_url,
      user_code: userCode,
      poll,
    } = await startLogin(`${program.url}/callback?state=s1`);
    const page = await open(login_url);
    await page.getByRole("heading", { name: "Let a command line in?" }).waitFor();
    const request = await page.locator("dl").innerText();
    for (const fact of [program.url, userCode, "127.0.0.1, the same address as yours", "everything that you may do"])
      expect(request).toContain(fact);
    expect(await violations(page)).toEqual([]);
    await page.getByRole("button", { name: "Approve" }).click();
    const callback = await program.called;
    expect(callback.searchParams.get("state")).toBe("s1");
    const code = callback.searchParams.get("code");
    // A poll does not return the token of a login that redirects.
    expect((await poll()).body).toMatchObject({ status: "pending" });
    const answer = await running().send("POST", "/v1/cli/login/exchange", { exchange_id: exchangeId, code, verifier });
    expect(answer.status).toBe(200);
  });

  it("Deny → the program receives the denial", async () => {
    const program = await startProgram();
    const { login_url, poll } = await startLogin(`${program.url}/callback`);
    const page = await open(login_url);
    await page.getByRole("button", { name: "Deny" }).click();
    expect((await program.called).searchParams.get("error")).toBe("access_denied");
    expect(await poll()).toMatchObject({ status: 401, body: { detail: "Login was denied" } });
  });

  it("program polls the service → code compared first, no redirect", async () => {
    const { login_url, user_code: userCode, poll } = await startLogin(NO_LISTENER);
    const page = await open(login_url);
    await page.getByText("The program that asked, on whichever computer it runs").waitFor();
    await page.getByText(`Does your terminal show ${userCode}?`).waitFor();
    expect(await page.getByRole("button", { name: "Approve" }).isDisabled()).toBe(true);
    expect(await violations(page)).toEqual([]);
    await page.getByLabel("It is the same in my terminal").check();
    await page.getByRole("button", { name: "Approve" }).click();
    await page.getByRole("heading", { name: "Approved" }).waitFor();
    expect(await page.evaluate("document.activeElement.innerText")).toBe("Approved");
    expect(page.url()).toBe(running().url + login_url);
    expect(await poll()).toMatchObject({ status: 200, body: { status: "complete" } });
    await page.reload();
    await page.getByRole("heading", { name: "Nothing to approve" }).waitFor();
  });

  it("terminal on another computer → code compared first, the terminal polls", async () => {
    const program = await startProgram();
    const { login_url, poll } = await startLogin(`${program.url}/callback`);
    const page = await open(login_url);
    await page.getByLabel("My terminal is on another computer").check();
    expect(await page.getByRole("button", { name: "Approve" }).isDisabled()).toBe(true);
    await page.getByLabel("It is the same in my terminal").check();
    await page.getByRole("button", { name: "Approve" }).click();
    await page.getByRole("heading", { name: "Approved" }).waitFor();
    expect(page.url()).toBe(running().url + login_url);
    expect(await poll()).toMatchObject({ status: 200, body: { status: "complete" } });
  });

  it("no click → pending", async () => {
    const { login_url, poll } = await startLogin(NO_LISTENER);
    const page = await open(login_url);
    await page.getByRole("heading", { name: "Let a command line in?" }).waitFor();
    expect((await poll()).body).toMatchObject({ status: "pending" });
  });

  it("decision refused → says why, and not that the page repeats it", async () => {
    const { page } = await openWindow();
    const { login_url } = await startLogin(NO_LISTENER);
    await page.route("**/v1/cli/login/decide", (route) =>
      route.fulfill({ status: 503, json: { detail: "The service is stopping" } }),
    );
    await signIn(page, running());
    await page.goto(running().url + login_url);
    await page.getByRole("button", { name: "Deny" }).click();
    expect(await page.getByRole("alert").innerText()).toBe("The service is stopping.");
  });

  it("unknown login → nothing to approve", async () => {
    const page = await open("/login?exchange=lgn_nonsense");
    await page.getByRole("heading", { name: "Nothing to approve" }).waitFor();
    expect(await violations(page)).toEqual([]);
  });

  it("id with a path in it → asks for a login of that id, nothing else", async () => {
    const { page } = await openWindow();
    await signIn(page, running());
    // The overview may still begin to load its robots.
    await page.goto("about:blank");
    const asked: string[] = [];
    page.on("request", (request) => asked.push(new URL(request.url()).pathname));
    await page.goto(`${running().url}/login?exchange=${encodeURIComponent("../../v1/robots")}`);
    await page.getByRole("heading", { name: "Nothing to approve" }).waitFor();
    expect(asked).toContain("/console/logins/..%2F..%2Fv1%2Frobots");
    expect(asked).not.toContain("/v1/robots");
  });

  it("login reaches its expiry → shown as expired without a reload", async () => {
    const { page } = await openWindow();
    await takeClock(page);
    const { login_url } = await startLogin(NO_LISTENER);
    await signIn(page, running());
    await page.goto(running().url + login_url);
    const deny = page.getByRole("button", { name: "Deny" });
    await deny.waitFor();
    await passExpiry(page, async () => expect(await deny.isVisible()).toBe(true));
    await page.getByText("This sign-in has expired.").waitFor();
    expect(await deny.count()).toBe(0);
  });

  it("login expired before the page opens → shown as expired", async () => {
    const { page } = await openWindow();
    const { login_url } = await startLogin(NO_LISTENER);
    await page.route("**/console/logins/*", async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, json: { ...(await response.json()), state: "expired" } });
    });
    await signIn(page, running());
    await page.goto(running().url + login_url);
    await page.getByText("This sign-in has expired.").waitFor();
  });

  it("restricted key → cannot approve, says why", async () => {
    const { api_key: apiKey } = await createKey(running(), "reader", ["robots:read"]);
    const { login_url } = await startLogin(NO_LISTENER);
    const page = await open(login_url, apiKey);
    await page.getByText("Your key cannot approve this.").waitFor();
    expect(await page.getByRole("button", { name: "Approve" }).isDisabled()).toBe(true);
  });
});

/** Stands in for a waiting `robot-policy login`: a server that receives the callback. */
async function startProgram() {
  const { promise: called, resolve } = Promise.withResolvers<URL>();
  const server = createServer(({ url = "" }, response) => {
    if (url.startsWith("/callback")) resolve(new URL(url, "http://127.0.0.1"));
    response.end("done");
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, called };
}
