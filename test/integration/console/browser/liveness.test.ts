import type { Page } from "playwright-core";
import { expect, it, onTestFinished } from "vitest";

import { describeConsole, openWindow, signIn, startConsole, untilLive } from "../../../support/browser.ts";
import { times } from "../../../support/run/tier.ts";
import { startTcpProxy } from "../../../support/service/tcp-proxy.ts";
import { createKey } from "../../../support/service/service.ts";
import { violations } from "./axe.ts";

describeConsole("liveness", startConsole, (running) => {
  /** A page behind a proxy that can fall silent. */
  async function scene() {
    const proxy = await startTcpProxy(running().url);
    onTestFinished(() => proxy[Symbol.asyncDispose]());
    const window = await openWindow();
    const { page } = window;
    const banner = page.getByRole("alert").filter({ hasText: "The service does not answer" });
    return { proxy, page, banner, at: { url: proxy.url, key: running().key } };
  }

  it("shows within five seconds that the service is silent, stops its relative times, and resumes when it answers", async () => {
    const { proxy, page, banner, at } = await scene();
    await page.clock.install();
    await createKey(running(), "created just before");
    await signIn(page, at, "/keys");
    await untilLive(page);
    const age = page.getByRole("row", { name: /created just before/ }).getByRole("time");
    const before = await age.first().innerText();
    proxy.freeze();
    const nowMs = await page.evaluate<number>("Date.now()");
    // The clock goes on until it is paused, which takes a while on a busy machine.
    await page.clock.pauseAt(nowMs + 400);
    // 2.5 seconds without a heartbeat, 2 for an answer.
    await page.clock.runFor(2500);
    const question = page.waitForEvent("requestfailed", (request) => request.url().endsWith("/v1/me/session"));
    await page.clock.runFor(2000);
    await question;
    await banner.waitFor();
    await page.clock.runFor(600_000);
    expect(await age.first().innerText()).toBe(before);
    expect(await page.getByRole("row", { name: /created just before/ }).count()).toBe(1);

    await createKey(running(), "created meanwhile");
    proxy.thaw();
    await page.clock.resume();
    await banner.waitFor({ state: "hidden" });
    await untilLive(page);
    await page.getByRole("row", { name: /created meanwhile/ }).waitFor();
  });

  it("says that the service is unreachable, and is up to date within three seconds of its return", async () => {
    const { proxy, page, banner, at } = await scene();
    await signIn(page, at, "/keys");
    await untilLive(page);
    await proxy.refuse();
    await banner.waitFor();
    expect(await violations(page)).toEqual([]);
    await createKey(running(), "created while it was gone");
    await page.clock.install();
    await proxy.listen();
    await page.clock.runFor(1500);
    await page.getByRole("row", { name: /created while it was gone/ }).waitFor();
    await banner.waitFor({ state: "hidden" });
    await untilLive(page);
  });

  // A browser opens six connections to a service: in the long tier there are more windows than that.
  it("shares one connection among all windows, and opens another when that window closes", async () => {
    const { page, at } = await scene();
    const opened: Page[] = [];
    const streams: Page[] = [];
    const count = (one: Page) =>
      one.on("request", (request) => {
        if (request.url().includes("/console/events")) streams.push(one);
      });
    count(page);
    await signIn(page, at, "/keys");
    await untilLive(page);
    const open = async () => {
      const other = await page.context().newPage();
      count(other);
      opened.push(other);
      await other.goto(`${at.url}/keys`);
      await untilLive(other);
    };
    await Promise.all(Array.from({ length: times(2, 7) }, open));
    await createKey(running(), "seen in all windows");
    for (const one of [page, ...opened]) await one.getByRole("row", { name: /seen in all windows/ }).waitFor();
    expect(streams).toEqual([page]);
    await page.close();
    await expect.poll(() => streams.length).toBe(2);
    await createKey(running(), "seen in those that are left");
    for (const one of opened) await one.getByRole("row", { name: /seen in those that are left/ }).waitFor();
    expect(streams).toHaveLength(2);
  });
});
