/** @module-tag needs/browser */
import { expect, it, onTestFinished } from "vitest";

import { describeConsole, openWindow, signIn, startConsole, untilLive } from "../../../support/browser.ts";
import { startTcpProxy } from "../../../support/service/tcp-proxy.ts";
import { createKey } from "../../../support/service/service.ts";
import { violations } from "./axe.ts";
import { pauseClock } from "./page-clock.ts";

describeConsole("liveness", startConsole, (running) => {
  /** A page behind a proxy that the test can stop. */
  async function scene() {
    const proxy = await startTcpProxy(running().url);
    onTestFinished(() => proxy[Symbol.asyncDispose]());
    // Wide enough for the times of keys.
    const window = await openWindow({ viewport: { width: 1500, height: 900 } });
    const { page } = window;
    const banner = page.getByRole("alert").filter({ hasText: "The service does not answer" });
    return { proxy, page, banner, at: { url: proxy.url, key: running().key } };
  }

  it("service silent → shown within five seconds, relative times stop; service answers → resumes", async () => {
    const { proxy, page, banner, at } = await scene();
    await page.clock.install();
    await createKey(running(), "created just before");
    await signIn(page, at, "/keys");
    await untilLive(page);
    const age = page.getByRole("row", { name: /created just before/ }).getByRole("time");
    proxy.freeze();
    await pauseClock(page, 400);
    const failedRequest = page.waitForEvent("requestfailed", (request) => request.url().endsWith("/console/versions"));
    // At most 2 seconds until it asks, then 2.8 without an answer.
    await page.clock.runFor(2000);
    await page.clock.runFor(2800);
    await failedRequest;
    await banner.waitFor();
    const before = await age.first().innerText();
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

  it("service unreachable → says so; service returns → up to date within three seconds", async () => {
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
});
