/** @module-tag needs/browser */
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

import type { Locator, Page } from "playwright-core";
import { expect, it } from "vitest";

import type { FleetView } from "../../../../src/api/fleets.ts";
import { PREPARATION_PATIENCE_MS } from "../../../../src/service/fleets/readiness/needs.ts";
import { describeConsole, openSignedIn, untilLive } from "../../../support/browser.ts";
import { startDemo } from "../../../support/service/demo-service.ts";
import { beginWriting } from "../../../support/service/service.ts";
import { violations, violationsInDialog } from "./axe.ts";

const start = () => startDemo({ robots: 80, fleets: 50 });

describeConsole("fleets", start, (demo) => {
  const open = (path: string) => openSignedIn(demo().service, path);

  async function fleets(): Promise<readonly FleetView[]> {
    return (await (await demo().service.send("GET", "/v1/fleets")).json()) as FleetView[];
  }

  it("list → fleets that need attention first, each with its reason", async () => {
    const page = await open("/fleets");
    await page.getByRole("link", { name: "Aloha cells 07" }).waitFor();
    expect(await page.locator("tbody tr").count()).toBe((await fleets()).length);
    const first = await page.locator("tbody tr").first().textContent();
    expect(first).toContain("Blocked");
    expect(first).toContain("No robot of this fleet can run");
    expect(first).toContain("Set up robots again so that they fit");
    const states = await page.locator("tbody .badge").allTextContents();
    expect(states.lastIndexOf("Blocked")).toBeLessThan(states.indexOf("Preparing"));
  });

  it("fleet not ready → its robots, grouped by reason", async () => {
    const page = await open("/fleets");
    await page.getByRole("link", { name: "Franka bench 06" }).click();
    await page.getByRole("heading", { level: 1, name: "Franka bench 06" }).waitFor();
    await page
      .locator(".group-head")
      .getByText(/^\d+ blocked$/i)
      .first()
      .waitFor();
    const groups = await page.locator(".group-head").allInnerTexts();
    expect(groups[0]).toMatch(/\d+ blocked/i);
    expect(groups[0]).toContain("droid.franka-panda.v1");
    expect(groups.length).toBeGreaterThan(1);
  });

  it("operating windows → whether one is open, and all of them in a table", async () => {
    const page = await open("/fleets");
    await page.getByRole("link", { name: "Night shift 04" }).click();
    await page.getByText(/^Open now, until /).waitFor();
    await page.getByText("5 windows as a table").click();
    expect(await page.getByRole("cell", { name: "to come" }).count()).toBe(4);
    expect(await page.getByRole("cell", { name: "open now" }).count()).toBe(1);
  });

  it("new fleet with the keyboard → created after a preview of its robots", async () => {
    const page = await open("/fleets");
    await page.getByRole("button", { name: "New fleet" }).focus();
    await page.keyboard.press("Enter");
    await page.getByRole("dialog", { name: "New fleet" }).waitFor();
    await page.keyboard.type("By keyboard");
    await tabTo(page, "Model");
    // Typing selects among the loaded options.
    await page
      .getByRole("option", { name: /^smolvla/ })
      .first()
      .waitFor({ state: "attached" });
    await page.keyboard.type("smol");
    await tabTo(page, "Site");
    await page.keyboard.type("hall-1");
    await tabTo(page, "Labels");
    await page.keyboard.type("line=a");
    await page.getByText(/^\d+ robots?; \d+ can run the model$/).waitFor();
    expect(await page.locator(".group-head").first().innerText()).toMatch(/^\d+ cannot run it/);
    expect(await violationsInDialog(page)).toEqual([]);
    await tabTo(page, "Create fleet");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "By keyboard" }).waitFor();
    const fleet = (await fleets()).find(({ name }) => name === "By keyboard");
    expect(page.url()).toBe(`${demo().service.url}/fleets/${fleet!.id}`);
    expect(fleet).toMatchObject({ subject: "smolvla", peak_active_robots: 1, readiness_mode: "always_ready" });
  });

  it("form refused → errors beside their fields until these are corrected", async () => {
    const page = await open("/fleets");
    await page.getByRole("button", { name: "New fleet" }).click();
    const windows = page.getByRole("textbox", { name: "Operating windows" });
    const create = page.getByRole("button", { name: "Create fleet" });
    await page.getByRole("dialog").getByLabel("Site").selectOption("hall-1");
    await page.getByLabel("Scheduled").check();
    await windows.fill("2026-01-01 08:00 to 2026-01-01 07:00\nsoon");
    await page.getByLabel("Name", { exact: true }).fill("Night shift 04");
    expect(await create.isDisabled()).toBe(true);
    await page.getByRole("dialog").getByLabel("Model").selectOption("pi0.5");
    await create.click();
    await expect.poll(() => errorOf(windows)).toContain("soon: ");
    expect(await violationsInDialog(page)).toEqual([]);
    await windows.fill("2026-01-01 08:00 to 2026-01-01 07:00");
    await expect.poll(() => errorOf(windows)).toBeNull();
    await create.click();
    await expect.poll(() => errorOf(windows)).toMatch(/ends after it starts/);
    await windows.fill("2031-01-01 08:00 to 2031-01-01 16:00");
    await page.getByLabel("Name", { exact: true }).fill("Refused once");
    await create.click();
    await page.getByRole("heading", { level: 1, name: "Refused once" }).waitFor();
  });

  it("update of the model → shows first which robots can run it; a closed dialog restores the focus", async () => {
    const page = await open("/fleets");
    await page.getByRole("link", { name: "Cell 08" }).click();
    const button = page.getByRole("button", { name: "Update model" });
    await button.focus();
    await page.keyboard.press("Enter");
    const dialog = page.getByRole("dialog", { name: "Update the model of Cell 08" });
    await dialog.waitFor();
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    expect(await page.evaluate("document.activeElement.innerText")).toBe("Update model");
    await page.keyboard.press("Enter");
    await dialog.getByRole("button", { name: "Cancel" }).focus();
    await page.keyboard.press("Enter");
    await dialog.waitFor({ state: "detached" });
    expect(await page.evaluate("document.activeElement.innerText")).toBe("Update model");
    await page.keyboard.press("Enter");
    await dialog.getByText("Choose a model to see which robots of the fleet can run it.").waitFor();
    await dialog.getByLabel("Model").selectOption("diffusion-pick");
    await dialog.getByText(/^\d+ robots; 0 can run the model now, \d+ once the endpoint answers$/).waitFor();
    await dialog
      .getByText(/^The endpoint in .* has been unhealthy since .*: answered 503\.$/)
      .first()
      .waitFor();
    await dialog.getByLabel("Model").selectOption("smolvla");
    await dialog.getByText(/^\d+ robots; \d+ can run the model$/).waitFor();
    expect(await violationsInDialog(page)).toEqual([]);
    await dialog.getByRole("button", { name: "Update model" }).click();
    await page.getByText(/^Cell 08 is being updated to smolvla/).waitFor();
    await page.getByText(/^Update to smolvla is /).waitFor();
    const fleet = (await fleets()).find(({ name }) => name === "Cell 08");
    expect(fleet!.update).toMatchObject({ subject: "smolvla" });
  });

  it("rolled back → says first what that does, then the fleet has the model of before", async () => {
    const fleet = async () => (await fleets()).find(({ name }) => name === "Bin picking 09")!;
    const { id, active_model: before } = await fleet();
    await demo().service.send("POST", `/v1/fleets/${id}/model`, { subject: "smolvla" });
    const page = await open(`/fleets/${id}`);
    await page.getByRole("button", { name: "Roll back" }).click();
    const dialog = page.getByRole("dialog", { name: "Roll Bin picking 09 back?" });
    await dialog.getByText(/^This (ends the update of|rolls) Bin picking 09 .*\(ckpt_\w+\)/).waitFor();
    expect(await violationsInDialog(page)).toEqual([]);
    await dialog.getByRole("button", { name: "Roll back" }).click();
    await page.getByText(/^Bin picking 09 (keeps|is being updated to) /).waitFor();
    const { active_model: active, update } = await fleet();
    expect((update ?? active)?.subject).toBe(before?.subject);
  });

  it("update of the model, a member was removed → preview of the others; reconciled → without it", async () => {
    const { service } = demo();
    const robots = ["leaves-1", "stays-1"];
    for (const name of robots) {
      const setup = { name, robot_type_id: "so101_follower", region: "eu-central-1" };
      await service.send("POST", "/v1/robots/setup", { ...setup, configuration_digest: `sha256:${"0".repeat(64)}` });
    }
    const answer = await service.send("POST", "/v1/fleets", {
      name: "Two by name",
      subject: "smolvla",
      selection: { robots },
      peak_active_robots: 1,
      readiness_mode: "on_demand",
    });
    await service.send("DELETE", "/v1/robots/leaves-1");
    const { id } = (await answer.json()) as FleetView;
    const page = await open(`/fleets/${id}`);
    await page.getByRole("button", { name: "Update model" }).click();
    const dialog = page.getByRole("dialog", { name: "Update the model of Two by name" });
    await dialog.getByLabel("Model").selectOption("pi0.5");
    await dialog.getByText(/^1 robot; /).waitFor();
    await dialog.getByRole("button", { name: "Cancel" }).click();
    await page.getByRole("button", { name: "Reconcile members" }).click();
    const reconcile = page.getByRole("dialog", { name: "Reconcile the members of Two by name" });
    await reconcile.getByText("1 robot leaves").waitFor();
    await reconcile.getByRole("link", { name: "leaves-1" }).waitFor();
    await reconcile.getByText("Two by name has 1 robot afterwards.").waitFor();
    expect(await violationsInDialog(page)).toEqual([]);
    await reconcile.getByRole("button", { name: "Reconcile" }).click();
    await page.getByText("The members of Two by name are reconciled.").waitFor();
    await page.getByRole("link", { name: "leaves-1" }).waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Reconcile members" }).click();
    await reconcile.getByText("The fleet has these members already.").waitFor();
  });

  it("a selector that matches no robot → said in the form", async () => {
    const page = await open("/fleets");
    await page.getByRole("button", { name: "New fleet" }).click();
    await page.getByLabel("Labels").fill("yard=north");
    await page.getByRole("status").getByText("no robot matches").waitFor();
  });

  it("fleet created elsewhere → shown without a reload", async () => {
    const page = await open("/fleets?q=elsewhere");
    await page.getByRole("heading", { name: "No fleet matches" }).waitFor();
    await untilLive(page);
    await demo().service.send("POST", "/v1/fleets", {
      name: "Made elsewhere",
      subject: "pi0.5",
      selection: { selector: { site: "hall-2" } },
      peak_active_robots: 1,
      readiness_mode: "on_demand",
    });
    await page.getByRole("link", { name: "Made elsewhere" }).waitFor();
  });

  it("endpoint has failed for minutes → overview, list and page show the fleet as stuck, with the reason", async () => {
    using database = new DatabaseSync(join(demo().service.dataDirectory, "service.db"));
    const longAgo = new Date(Date.now() - PREPARATION_PATIENCE_MS).toISOString();
    await beginWriting(database);
    for (const change of ["endpoints set health_since", "generations set created_at"]) {
      database.prepare(`update ${change} = ? where checkpoint_id = 'ckpt_diffusion_pick_3'`).run(longAgo);
    }
    database.exec("COMMIT");
    const reason =
      /^The endpoint of diffusion-pick in eu-central-1 has been unhealthy since .*: answered 503; \d+ of \d+ robots wait\.$/;
    const page = await open("/");
    const entry = page.getByRole("list", { name: "Fleets that need attention" }).getByRole("listitem");
    // Of several fleets, the overview leaves out how many robots wait.
    const cause = /^The endpoint of diffusion-pick in eu-central-1 has been unhealthy since /;
    await entry.filter({ hasText: "Stuck" }).getByText(cause).waitFor();
    await page.goto(`${demo().service.url}/fleets?q=bin+picking`);
    const row = page.getByRole("row", { name: /Bin picking 09/ });
    await row.getByText("Stuck").waitFor();
    await row.getByText(reason).waitFor();
    await row.getByText("Get it to answer again, or update the fleet to another model.").waitFor();
    await row.getByRole("link").click();
    await page.locator(".notice", { hasText: "This fleet needs attention" }).getByText(reason).waitFor();
    expect(await violations(page)).toEqual([]);
  });

  it("overview, more fleets than are named → a link to all in their state, whatever their models", async () => {
    const page = await open("/keys");
    await page.route("**/v1/fleets", async (route) => {
      const response = await route.fetch();
      const views = (await response.json()) as FleetView[];
      const first = views.find(({ name }) => name === "Aloha cells 07");
      const others = views.filter((view) => view !== first);
      await route.fulfill({ response, json: [{ ...first, subject: "another model" }, ...others] });
    });
    await page.getByRole("link", { name: "Overview" }).click();
    const list = page.getByRole("list", { name: "Fleets that need attention" });
    await list
      .getByRole("listitem")
      .filter({ hasText: "Aloha cells 07" })
      .getByText(/^\d more fleets$/)
      .click();
    await page.getByText(/^\d+ of \d+ fleets$/).waitFor();
    const names = ["07", "17", "27", "37", "47"].map((number) => `Aloha cells ${number}`);
    expect(await page.locator("tbody th").allInnerTexts()).toEqual(expect.arrayContaining(names));
  });

  it("overview → fleets that need attention, with links", async () => {
    const page = await open("/");
    const list = page.getByRole("list", { name: "Fleets that need attention" });
    await list.waitFor();
    const first = list.getByRole("listitem").first();
    const text = await first.innerText();
    expect(text).toContain("Blocked");
    expect(text).toContain("Set up robots again so that they fit");
    // One entry lists all fleets blocked for the same reason.
    expect(text).toMatch(/Aloha cells 07.*Aloha cells 17.*Aloha cells 27.*Aloha cells 37.*\d more fleets/s);
    const name = await first.getByRole("link").first().innerText();
    await first.getByRole("link").first().click();
    await page.getByRole("heading", { level: 1, name }).waitFor();
    await page.getByText("This fleet needs attention").waitFor();
  });
});

/** Presses Tab until the element of this name has the focus. */
async function tabTo(page: Page, name: string): Promise<void> {
  const TABS_MAXIMUM = 40;
  const dialog = page.getByRole("dialog");
  const target = dialog.getByLabel(name, { exact: true }).or(dialog.getByRole("button", { name, exact: true }));
  const element = await target.first().elementHandle();
  for (let presses = 0; presses < TABS_MAXIMUM; presses += 1) {
    await page.keyboard.press("Tab");
    if (await element.evaluate(isFocused)) return;
  }
  throw new Error(`Tab does not lead to ${name}`);
}

/** Whether the element has the focus; runs in the page. */
function isFocused(element: { readonly ownerDocument: { readonly activeElement: unknown } }): boolean {
  return element.ownerDocument.activeElement === element;
}

async function errorOf(field: Locator): Promise<string | null> {
  const describedBy = (await field.getAttribute("aria-describedby")) ?? "";
  const id = describedBy.split(" ").find((each) => each.endsWith("-error"));
  return id === undefined ? null : field.page().locator(`[id="${id}"]`).innerText();
}
