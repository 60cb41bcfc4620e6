/** @module-tag needs/browser */
import type * as z from "zod";
import { expect, it, onTestFinished } from "vitest";

import type { endpointListSchema } from "../../../../src/api/endpoints.ts";
import {
  borrowWindow,
  describeConsole,
  openSignedIn,
  signIn,
  startConsole,
  untilLive,
} from "../../../support/browser.ts";
import { startDemo } from "../../../support/service/demo-service.ts";
import { violations } from "./axe.ts";
import { pauseClock } from "./page-clock.ts";

const start = () => startDemo({ robots: 60, fleets: 12 });

describeConsole("models", start, (demo) => {
  const open = (path: string, service: Parameters<typeof openSignedIn>[0] = demo().service) =>
    openSignedIn(service, path);

  async function healthyRegionsOf(checkpoint: string): Promise<ReadonlySet<string>> {
    const { items } = (await (await demo().service.send("GET", "/v1/endpoints")).json()) as z.output<
      typeof endpointListSchema
    >;
    const healthy = items.filter(
      ({ checkpoint_id: checkpointId, status }) => checkpointId === checkpoint && status === "healthy",
    );
    return new Set(healthy.map(({ region }) => region));
  }

  it("list → the catalog with the health of its endpoints, filtered by health", async () => {
    const page = await open("/models");
    const row = page.getByRole("row").filter({ hasText: "smolvla" });
    await row.getByText("Healthy").waitFor();
    expect(await page.locator("tbody tr").count()).toBe(4);
    await page.getByLabel("Health").selectOption({ label: "unhealthy (3)" });
    await page.getByText("3 of 4 models").waitFor();
    expect(await page.locator("tbody th").allTextContents()).not.toContain("smolvla");
    expect(await violations(page)).toEqual([]);
  });

  it("model opened with the keyboard → its requirements and each endpoint's answer", async () => {
    const page = await open("/models");
    await page.getByRole("link", { name: "pi0.5" }).focus();
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "π0.5" }).waitFor();
    const droid = page.locator("section", { has: page.getByRole("heading", { name: "Checkpoint ckpt_pi05_droid" }) });
    const facts = await droid.locator("dd").allInnerTexts();
    expect(facts.slice(1)).toEqual([
      "droid.franka-panda.v1",
      "exterior, wrist",
      "exactly 8",
      "exactly 8; each in rad/s or ratio",
    ]);
    const endpoints = droid.getByRole("group", { name: "Endpoints of ckpt_pi05_droid" });
    expect(await endpoints.getByRole("row", { name: /us-west-2/ }).innerText()).toMatch(/Unhealthy.*503/s);
  });

  it("checkpoint → which robots can run it, and why others cannot", async () => {
    const page = await open("/models/pi0.5");
    await page.getByText("60 robots; all can run the model", { exact: true }).waitFor();
    await page.goto(`${demo().service.url}/models/diffusion-pick`);
    const servedRegions = await healthyRegionsOf("ckpt_diffusion_pick_3");
    const ableCount = (await demo().service.robots()).filter(({ region }) => servedRegions.has(region)).length;
    await page
      .getByText(`60 robots; ${ableCount} can run the model now, ${60 - ableCount} once the endpoint answers`, {
        exact: true,
      })
      .waitFor();
    await page.getByText(/^The endpoint in eu-central-1 has been unhealthy since .*: answered 503\.$/).waitFor();
    await page.goto(`${demo().service.url}/models/pi0.5`);
    await page.getByLabel("Checkpoint").selectOption("ckpt_pi05_droid");
    await page
      .getByText(/ckpt_pi05_droid needs a robot of type droid\.franka-panda\.v1/)
      .first()
      .waitFor();
    const pandas = (await demo().service.robots()).filter(({ robot_type_id: robotTypeId }) =>
      robotTypeId.startsWith("droid."),
    );
    const healthy = await healthyRegionsOf("ckpt_pi05_droid");
    const suitedCount = pandas.filter(({ region }) => healthy.has(region)).length;
    await page.getByText(`60 robots; ${suitedCount} can run the model`).waitFor();
    expect(new URL(page.url()).search).toBe("?checkpoint=ckpt_pi05_droid");
    await page.reload();
    await page.getByText(`60 robots; ${suitedCount} can run the model`).waitFor();
  });

  it("more robots than one request may name → asked in parts, one result", async () => {
    const page = await open("/keys");
    const asked: number[] = [];
    await page.route("**/v1/robots", async (route) => {
      const response = await route.fetch();
      const [robot] = (await response.json()) as readonly object[];
      await route.fulfill({ json: Array.from({ length: 1500 }, (_, index) => ({ ...robot, id: `rob_${index}` })) });
    });
    await page.route("**/v1/fleets/preview", (route) => {
      const { robots } = route.request().postDataJSON() as { readonly robots: readonly string[] };
      asked.push(robots.length);
      const judged = { robot: "arm", robot_type_id: "t", region: "eu", site: null, fits: true, reason: null };
      return route.fulfill({
        json: { robots: robots.map((id) => ({ ...judged, robot_id: id })), total: robots.length },
      });
    });
    await page.getByRole("link", { name: "Models" }).click();
    await page.getByRole("link", { name: "smolvla" }).click();
    await page.getByText("1,500 robots; all can run the model", { exact: true }).waitFor();
    expect(asked).toEqual([1000, 500]);
  });

  it("answer with the robots arrives while the dialog opens → offered", async () => {
    const { page } = await borrowWindow();
    const [requested, answered] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    await page.route("**/v1/robots", async (route) => {
      requested.resolve();
      await answered.promise;
      return route.continue();
    });
    await page.clock.install();
    await signIn(page, demo().service, "/models/pi0.5");
    await requested.promise;
    // With the clock paused, effects after a paint do not run.
    await pauseClock(page, 5000);
    await page.evaluate("document.querySelector('.page-head button').click()");
    const answer = page.waitForResponse("**/v1/robots");
    answered.resolve();
    await (await answer).finished();
    await page.clock.resume();
    const names = page.locator("dialog datalist option");
    await expect.poll(() => names.count()).toBe(60);
  });

  it("endpoint recovers → shown without a reload", async () => {
    const page = await open("/models/diffusion-pick");
    const endpoint = page.getByRole("row", { name: /us-west-2/ });
    await endpoint.getByText("Unhealthy").waitFor();
    await untilLive(page);
    demo().servers.finish();
    onTestFinished(async () => {
      demo().servers.startOver();
      await expect.poll(() => healthyRegionsOf("ckpt_diffusion_pick_3")).not.toContain("us-west-2");
      await expect.poll(() => healthyRegionsOf("ckpt_pi05_droid")).not.toContain("us-west-2");
    });
    await endpoint.getByText("Healthy", { exact: true }).waitFor();
  });

  it("empty catalog → says how to add models; unknown model → says so", async () => {
    const running = await startConsole();
    // Registered before the window opens, so it runs after the window closes: a page without its service logs errors.
    onTestFinished(() => running[Symbol.asyncDispose]());
    const page = await open("/models", running);
    await page.getByRole("heading", { name: "The catalog has no models yet" }).waitFor();
    await page.goto(`${running.url}/models/none`);
    await page.getByText("The catalog of this service has no such model.").waitFor();
  });
});
