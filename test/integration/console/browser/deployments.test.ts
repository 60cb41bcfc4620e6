/** @module-tag needs/browser */
import { expect, it } from "vitest";

import type { DeploymentView } from "../../../../src/api/deployments.ts";
import { describeConsole, openSignedIn, untilLive } from "../../../support/browser.ts";
import { startDemo } from "../../../support/service/demo-service.ts";
import { createKey } from "../../../support/service/service.ts";
import { violationsInDialog } from "./axe.ts";

const start = () => startDemo({ robots: 80, fleets: 12 });

describeConsole("deployments", start, (demo) => {
  const open = (path: string, key?: string) => openSignedIn(demo().service, path, key);

  async function deployments(): Promise<readonly DeploymentView[]> {
    const answer = await demo().service.send("GET", "/v1/me/deployments");
    return ((await answer.json()) as { readonly items: readonly DeploymentView[] }).items;
  }

  const currentOf = async (robot: string) =>
    (await deployments()).find((each) => each.robot === robot && each.status !== "retired");

  it("list → failed deployments first, with the reason; filters by status and model are in the URL", async () => {
    await expect.poll(async () => (await deployments()).some(({ status }) => status === "failed")).toBe(true);
    const page = await open("/deployments");
    await page.locator("tbody .badge").first().waitFor();
    const states = await page.locator("tbody .badge").allTextContents();
    expect(states[0]).toBe("Failed");
    expect(states.lastIndexOf("Failed")).toBeLessThan(states.indexOf("Active"));
    await page
      .getByRole("row", { name: /Its endpoint was healthy and fails now\./ })
      .first()
      .waitFor();
    await page.getByLabel("Status").selectOption("failed");
    await page.getByLabel("Model").selectOption("pi0.5");
    await expect.poll(() => new URL(page.url()).search).toBe("?model=pi0.5&status=failed");
    await page.locator("tbody a").first().click();
    await page.getByText("The robot is not served.").waitFor();
    await page.locator(".notice").getByText("Its endpoint was healthy and fails now.").waitFor();
    await page.getByText(/^The endpoint in ap-northeast-1 became unhealthy .*: answered 503\.$/).waitFor();
    expect(await violationsInDialog(page)).toEqual([]);
    await page.getByRole("button", { name: "Close" }).click();
    expect(new URL(page.url()).search).toBe("?model=pi0.5&status=failed");
    expect(await page.evaluate("document.activeElement.className")).toBe("row-link");
  });

  it("deploy from a robot's page → the page shows what the robot runs, the dialog names the robot", async () => {
    const robot = (await deployments()).find(({ status }) => status === "active")!.robot!;
    const page = await open(`/robots/${robot}`);
    await page.getByRole("link", { name: "pi0.5 (active)" }).waitFor();
    await page.getByRole("button", { name: "Deploy" }).click();
    const dialog = page.getByRole("dialog", { name: "Deploy a model to a robot" });
    expect(await dialog.getByLabel("Robot").inputValue()).toBe(robot);
    await dialog.getByLabel("Model").selectOption("pi0.5");
    await dialog.getByText("1 robot; it can run the model").waitFor();
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
  });

  it("deploy with the keyboard → shows first whether the robot fits and what the deployment replaces", async () => {
    const robot = (await deployments()).find(({ status }) => status === "active")!.robot!;
    const before = await currentOf(robot);
    const page = await open("/deployments");
    await page.getByRole("button", { name: "Deploy" }).focus();
    await page.keyboard.press("Enter");
    const dialog = page.getByRole("dialog", { name: "Deploy a model to a robot" });
    await dialog.waitFor();
    expect(await page.evaluate("document.activeElement.labels[0].textContent")).toBe("Robot");
    await page.keyboard.type(robot);
    await page.keyboard.press("Tab");
    // Typing selects among the loaded options.
    await dialog.getByRole("option", { name: /^pi0\.5 \(now/ }).waitFor({ state: "attached" });
    await page.keyboard.type("pi0.5 (now");
    await dialog.getByText("1 robot; it can run the model").waitFor();
    await dialog.getByText(new RegExp(`^This retires pi0\\.5 on ${robot} \\(active for .*\\)\\.$`)).waitFor();
    expect(await violationsInDialog(page)).toEqual([]);
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    expect((await currentOf(robot))?.id).toBe(before?.id);
    expect(await page.evaluate("document.activeElement.textContent")).toBe("Deploy");

    const idle = (await demo().service.robots()).find(
      ({ name, region }) => region === "eu-central-1" && name.startsWith("yam-") && name !== robot,
    )!.name;
    await page.keyboard.press("Enter");
    await page.keyboard.type(idle);
    await page.keyboard.press("Tab");
    await page.keyboard.type("pi0.5 (now");
    await dialog.getByText("1 robot; it can run the model").waitFor();
    // Past the robot's link and "Cancel".
    for (let presses = 0; presses < 3; presses += 1) await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.getByRole("dialog", { name: `pi0.5 on ${idle}` }).waitFor();
    expect((await currentOf(idle))?.status).toBe("active");
  });

  it("service refuses → reason beside the field", async () => {
    const page = await open("/models/smolvla");
    await page.getByRole("button", { name: "Deploy" }).click();
    const dialog = page.getByRole("dialog");
    const robot = (await demo().service.robots()).find(({ name }) => name.startsWith("yam-"))!.name;
    await dialog.getByLabel("Robot").fill(robot);
    await expect.poll(() => dialog.getByLabel("Model").inputValue()).toBe("smolvla");
    await dialog.getByText(/^smolvla needs a robot of type lerobot\.so101-follower\.v1/).waitFor();
    await dialog.getByRole("button", { name: "Deploy" }).click();
    await dialog.locator('input[aria-invalid="true"]').waitFor();
    const describedBy = (await dialog.getByLabel("Robot").getAttribute("aria-describedby"))!.split(" ")[0];
    expect(await page.locator(`[id="${describedBy}"]`).innerText()).toContain("needs a robot of type");
    expect(await violationsInDialog(page)).toEqual([]);
  });

  it("retire → after a confirmation, shown at once in another window", async () => {
    const { id, robot } = (await deployments()).find(({ status }) => status === "active")!;
    const opened = `/deployments?open=${id}`;
    const other = await open(opened);
    await other.getByRole("dialog").locator(".badge", { hasText: "Active" }).waitFor();
    await untilLive(other);
    const page = await open(opened);
    await page.getByRole("button", { name: "Retire" }).click();
    const dialog = page.getByRole("dialog", { name: `Retire pi0.5 on ${robot}?` });
    await dialog.waitFor();
    await page.keyboard.press("Escape");
    expect((await currentOf(robot!))?.id).toBe(id);
    await page.getByRole("button", { name: "Retire" }).click();
    expect(await violationsInDialog(page)).toEqual([]);
    await dialog.getByRole("button", { name: "Retire" }).click();
    await page
      .getByRole("dialog", { name: `pi0.5 on ${robot}` })
      .getByText("Retired", { exact: true })
      .first()
      .waitFor();
    await dialog.waitFor({ state: "detached" });
    expect(await page.getByRole("button", { name: "Retire" }).count()).toBe(0);
    await other.locator(".badge", { hasText: "Retired" }).waitFor();
    expect(await currentOf(robot!)).toBeUndefined();
  });

  it("retired deployment → not among the current ones; the link to the retired ones keeps the search", async () => {
    const first = (await deployments()).find(({ status }) => status === "active");
    await demo().service.send("DELETE", `/v1/me/deployments/${first!.id}`);
    const page = await open("/deployments");
    await page.locator("tbody .badge").first().waitFor();
    expect(await page.locator("tbody .badge").allTextContents()).not.toContain("Retired");
    expect(await page.getByRole("columnheader", { name: "Retired" }).count()).toBe(0);
    await page.getByLabel("Search deployments").fill(first!.id);
    await page.getByRole("heading", { name: "No deployment matches" }).waitFor();
    await page.getByRole("link", { name: "Retired", exact: true }).click();
    await expect.poll(() => new URL(page.url()).search).toBe(`?q=${first!.id}&show=retired`);
    await page.getByRole("rowheader", { name: first!.robot! }).waitFor();
    expect(await page.locator("tbody .badge").allTextContents()).toEqual(["Retired"]);
    expect(await page.getByRole("columnheader", { name: "Retired" }).count()).toBe(1);
    await page.goBack();
    await page.getByRole("heading", { name: "No deployment matches" }).waitFor();
  });

  it("several clicks, then Back and Escape → one request, its failure is shown", async () => {
    const page = await open("/deployments?status=active");
    await page.locator("tbody a").first().click();
    await page.getByRole("dialog", { name: / on / }).waitFor();
    const answered = Promise.withResolvers<void>();
    let requests = 0;
    await page.route("**/v1/me/deployments/*", async (route) => {
      if (route.request().method() !== "DELETE") return route.continue();
      requests += 1;
      await answered.promise;
      return route.fulfill({ status: 503, json: { detail: "The database cannot be reached", code: "Unavailable" } });
    });
    await page.getByRole("button", { name: "Retire" }).click();
    const dialog = page.getByRole("dialog", { name: /^Retire / });
    await dialog.getByRole("button", { name: "Retire" }).dblclick();
    await page.evaluate("history.back()");
    await page.keyboard.press("Escape");
    await page.keyboard.press("Escape");
    answered.resolve();
    await dialog.getByText("The database cannot be reached").waitFor();
    expect(requests).toBe(1);
    expect(await page.evaluate("document.activeElement.textContent")).toBe("Retire");
  });

  it("restricted key → no actions that it may not do", async () => {
    const { api_key: apiKey } = await createKey(demo().service, "reader", ["deployments:read"]);
    const page = await open("/deployments", apiKey);
    await page.locator("tbody a").first().click();
    await page.getByText("Created", { exact: true }).waitFor();
    expect(await page.getByRole("button", { name: /Deploy|Retire/ }).count()).toBe(0);
    await page.goto(`${demo().service.url}/keys`);
    await page.getByText("Your key may not see the keys.").waitFor();
  });
});
