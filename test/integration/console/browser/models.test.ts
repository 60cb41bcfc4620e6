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

  it("lists the catalog with the health of its endpoints, and filters by it", async () => {
    const page = await open("/models");
    const row = page.getByRole("row").filter({ hasText: "smolvla" });
    await row.getByText("2 healthy").waitFor();
    expect(await page.locator("tbody tr").count()).toBe(4);
    await page.getByLabel("Endpoints").selectOption({ label: "unhealthy (3)" });
    await page.getByText("3 of 4 models").waitFor();
    expect(await page.locator("tbody th").allTextContents()).not.toContain("SmolVLA");
    expect(await violations(page)).toEqual([]);
  });

  it("shows the requirements, and what each endpoint answered, with the keyboard alone", async () => {
    const page = await open("/models");
    await page.getByRole("link", { name: "π0.5" }).focus();
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "π0.5" }).waitFor();
    const droid = page.locator("section", { has: page.getByRole("heading", { name: "Checkpoint ckpt_pi05_droid" }) });
    const facts = await droid.locator("dd").allInnerTexts();
    expect(facts).toEqual([
      "droid.franka-panda.v1",
      "exterior, wrist",
      "exactly 8",
      "exactly 8; each in rad/s or ratio",
    ]);
    const endpoints = droid.getByRole("group", { name: "Endpoints of ckpt_pi05_droid" });
    expect(await endpoints.getByRole("row", { name: /us-west-2/ }).innerText()).toMatch(/Unhealthy.*503/s);
  });

  it("shows which robots can run a checkpoint, and why others cannot", async () => {
    const page = await open("/models/pi0.5");
    await page.getByText("60 robots can run it", { exact: true }).waitFor();
    await page.goto(`${demo().service.url}/models/diffusion-pick`);
    const served = await healthyRegionsOf("ckpt_diffusion_pick_3");
    const able = (await demo().service.robots()).filter(({ region }) => served.has(region)).length;
    await page.getByText(`${able} of 60 robots can run it`, { exact: true }).waitFor();
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
    const suited = pandas.filter(({ region }) => healthy.has(region)).length;
    await page.getByText(`${suited} of 60 robots can run it`).waitFor();
    expect(new URL(page.url()).search).toBe("?checkpoint=ckpt_pi05_droid");
    await page.reload();
    await page.getByText(`${suited} of 60 robots can run it`).waitFor();
  });

  it("a dialog offers the robots of an answer that arrives while it opens", async () => {
    const window = await borrowWindow();
    const { page } = window;
    const [asked, answered] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    await page.route("**/v1/robots", async (route) => {
      asked.resolve();
      await answered.promise;
      return route.continue();
    });
    await page.clock.install();
    await signIn(page, demo().service, "/models/pi0.5");
    await asked.promise;
    // Effects after a paint wait for the clock.
    await page.clock.pauseAt(await page.evaluate<number>("Date.now() + 5000"));
    await page.evaluate("document.querySelector('.page-head button').click()");
    const answer = page.waitForResponse("**/v1/robots");
    answered.resolve();
    await (await answer).finished();
    await page.clock.resume();
    const names = page.locator("dialog datalist option");
    await expect.poll(() => names.count()).toBe(60);
  });

  it("shows without a reload that an endpoint recovers", async () => {
    const page = await open("/models/diffusion-pick");
    const late = page.getByRole("row", { name: /us-west-2/ });
    await late.getByText("Unhealthy").waitFor();
    await untilLive(page);
    demo().servers.finish();
    onTestFinished(async () => {
      demo().servers.startOver();
      await expect.poll(() => healthyRegionsOf("ckpt_diffusion_pick_3")).not.toContain("us-west-2");
      await expect.poll(() => healthyRegionsOf("ckpt_pi05_droid")).not.toContain("us-west-2");
    });
    await late.getByText("Healthy", { exact: true }).waitFor();
  });

  it("says how models get into an empty catalog, and links from an unknown model to the list", async () => {
    const running = await startConsole();
    // Registered before the window, so that it runs after it: a page without its service logs errors.
    onTestFinished(() => running[Symbol.asyncDispose]());
    const page = await open("/models", running);
    await page.getByRole("heading", { name: "The catalog is empty" }).waitFor();
    await page.goto(`${running.url}/models/none`);
    await page.getByText("The catalog of this service has no such model.").waitFor();
  });
});
