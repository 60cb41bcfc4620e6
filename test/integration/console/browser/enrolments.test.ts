/** @module-tag needs/browser */
import { expect, it } from "vitest";

import {
  describeConsole,
  openSignedIn,
  openWindow,
  signIn,
  startConsoleWithModel,
  untilLive,
} from "../../../support/browser.ts";
import { eventually } from "../../../support/eventually.ts";
import { RobotComputer } from "../../../support/service/robot-computer.ts";
import { createKey } from "../../../support/service/service.ts";
import { violations, violationsInDialog } from "./axe.ts";
import { passExpiry, takeClock } from "./page-clock.ts";

const startWithRegion = () => startConsoleWithModel("us-west-2");

describeConsole("enrolments", startWithRegion, (running) => {
  const open = (path: string, key?: string) => openSignedIn(running(), path, key);

  /** A computer that requests to enroll as this robot. */
  async function start(name: string, members: object = {}) {
    const computer = new RobotComputer(() => running().url);
    const started = await computer.start({ requested_name: name, ...members });
    const poll = async () => (await computer.poll(started)).status;
    return { computer, code: started.user_code, poll };
  }

  async function approve(code: string, more: object = {}): Promise<void> {
    const answer = await running().send("POST", "/v1/robots/approve", { user_code: code, ...more });
    expect(answer.status).toBe(200);
  }

  /** Enrolls a robot and waits until the service shows it as online. */
  async function enrollOnline(name: string) {
    const enrolled = await start(name);
    await approve(enrolled.code);
    await enrolled.poll();
    expect((await enrolled.computer.heartbeat({ runtime_version: "1.2.3" })).status).toBe(200);
    await eventually(async () => {
      const robot = JSON.parse(await (await running().send("GET", `/v1/robots/${name}`)).text());
      return robot.status === "online" ? robot : undefined;
    }, `${name} online`);
    return enrolled;
  }

  it("code that a robot shows → approved with another name and region", async () => {
    const { code, poll } = await start("Arm-1", { region: null, site: "plant-1" });
    const page = await open("/account/robot");
    await page.getByRole("heading", { level: 1, name: /^Enrolments/ }).waitFor();
    expect(await violations(page)).toEqual([]);
    await page.getByLabel("Code that the robot shows").fill(code.toLowerCase().replace("-", " "));
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: `Code ${code}` }).waitFor();
    const request = await page.locator("dl").first().innerText();
    for (const fact of [code, "SHA256:", "127.0.0.1", "Arm-1", "plant-1"]) expect(request).toContain(fact);
    // A key that is cut cannot be compared.
    const isCut =
      "[...document.querySelectorAll('dl *')].some((each) => each.scrollWidth > each.clientWidth + 1 && getComputedStyle(each).overflow !== 'visible')";
    expect(await page.evaluate(isCut)).toBe(false);
    await page.getByText("This adds the robot arm-1.").waitFor();
    expect(await violations(page)).toEqual([]);
    await page.getByLabel("Name of the robot").fill("no name!");
    await page.getByLabel("Region").fill("moon-1");
    await page.getByText("No endpoint is in the region moon-1; they are in us-west-2.").waitFor();
    await page.getByLabel("Region").fill("us-west-2");
    await page.getByRole("button", { name: "Approve" }).click();
    await page.getByText("A robot has a name of 1 to 64").waitFor();
    expect(await poll()).toBe("pending");
    await page.getByLabel("Name of the robot").fill("arm-one");
    await page.getByText("This adds the robot arm-one.").waitFor();
    await page.getByRole("button", { name: "Approve" }).click();
    await page.getByText("arm-one is approved: its computer gets its credential within seconds.").waitFor();
    await expect.poll(() => page.url()).toBe(`${running().url}/enrolments`);
    expect(await page.evaluate("document.activeElement.tagName")).toBe("H1");
    expect(await poll()).toBe("approved");
  });

  it("new enrolment → listed without a reload, can be denied", async () => {
    const page = await open("/enrolments");
    await untilLive(page);
    const { code, poll } = await start("arm-2");
    await page.getByText(code).click();
    await page.getByRole("button", { name: "Deny" }).click();
    await page
      .getByRole("dialog", { name: `Deny ${code}?` })
      .getByRole("button", { name: "Deny" })
      .click();
    await page.getByText(`${code} is denied.`).waitFor();
    expect(await poll()).toBe("denied");
  });

  it("several on a phone → keys of all, the checked ones approved, one that is online elsewhere left out", async () => {
    await enrollOnline("hall-0");
    const waiting = await Promise.all(
      ["hall-0", "hall-1", "hall-2", "hall-3"].map((name) => start(name, { site: "hall" })),
    );
    const page = await open("/enrolments?site=hall");
    await page.setViewportSize({ width: 390, height: 844 });
    await page.getByRole("button", { name: "Approve several…" }).click();
    const dialog = page.getByRole("dialog", { name: "Approve several computers" });
    await dialog.getByText(/is approved by itself, because hall-0 is online on another computer\.$/).waitFor();
    expect(await dialog.getByText(/^SHA256:.{43}$/).count()).toBe(3);
    expect(await violationsInDialog(page)).toEqual([]);
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(390);
    await dialog.getByRole("button", { name: "Check all" }).click();
    await dialog.getByLabel(/hall-2/).uncheck();
    await dialog.getByRole("button", { name: "Approve 2" }).click();
    await page.getByText("2 computers approved.").waitFor();
    expect(await Promise.all(waiting.map(({ poll }) => poll()))).toEqual([
      "pending",
      "approved",
      "pending",
      "approved",
    ]);
  });

  it("robot exists → shows what an approval changes", async () => {
    const body = { name: "arm-3", robot_type_id: "a.b.v1", region: "eu-west-1", site: "lab" };
    const digest = `sha256:${"1".repeat(64)}`;
    await running().send("POST", "/v1/robots/setup", { ...body, configuration_digest: digest });
    const { code } = await start("arm-3", { site: "plant-1" });
    const page = await open(`/enrolments/${code}`);
    await page.getByText("The robot arm-3 exists.").waitFor();
    const table = page.getByRole("table", { name: "What the new computer says differs from the registration" });
    expect((await table.innerText()).replaceAll(/\s+/g, " ")).toContain("eu-west-1 us-west-2 site lab plant-1");
    expect(await violations(page)).toEqual([]);
  });

  it("name of another robot typed → its row has no digest of the robot before", async () => {
    const setUp = async (name: string, digit: string) => {
      const { status } = await running().send("POST", "/v1/robots/setup", {
        name,
        robot_type_id: "a.b.v1",
        region: "us-west-2",
        configuration_digest: `sha256:${digit.repeat(64)}`,
      });
      expect(status).toBe(200);
    };
    await setUp("typed-5", "5");
    await setUp("typed-6", "6");
    const { code } = await start("typed-5", { configuration_digest: `sha256:${"6".repeat(64)}` });
    const { page } = await openWindow();
    const answered = Promise.withResolvers<void>();
    await page.route("**/v1/robots/typed-6/registration", async (route) => {
      await answered.promise;
      return route.continue();
    });
    await signIn(page, running(), `/enrolments/${code}`);
    await page.getByRole("row", { name: /digest sha256:5/ }).waitFor();
    await page.getByLabel("Name of the robot").fill("typed-6");
    await page.getByText("The robot typed-6 exists.").waitFor();
    expect(await page.getByRole("row", { name: /digest/ }).count()).toBe(0);
    answered.resolve();
  });

  it("robot online → its computer is replaced only after its name is typed", async () => {
    const { computer: old } = await enrollOnline("arm-4");
    const { code, poll } = await start("arm-4");
    const page = await open(`/enrolments/${code}`);
    await page.getByText("arm-4 is online on another computer.").waitFor();
    expect(await page.getByRole("button", { name: "Approve" }).count()).toBe(0);
    expect(await violations(page)).toEqual([]);
    const typed = page.getByLabel("Type arm-4 to replace its computer");
    await typed.fill("arm-");
    expect(await page.getByRole("button", { name: "Replace its computer" }).isDisabled()).toBe(true);
    await typed.press("Enter");
    expect(await poll()).toBe("pending");
    await typed.fill("arm-4");
    await typed.press("Enter");
    await page.getByText("arm-4 is approved").waitFor();
    expect(await poll()).toBe("approved");
    expect((await old.heartbeat()).status).toBe(401);
  });

  it("robot online, approval refused for a field → its field says why", async () => {
    await enrollOnline("arm-16");
    const { code } = await start("arm-16");
    const page = await open(`/enrolments/${code}`);
    await page.getByText("arm-16 is online on another computer.").waitFor();
    await page.getByLabel("Region").fill("x".repeat(257));
    await page.getByLabel("Type arm-16 to replace its computer").fill("arm-16");
    await page.keyboard.press("Enter");
    await page.getByText("should have at most 256 characters").waitFor();
  });

  it("unknown code → says so; key without the scope → cannot see enrolments or robots", async () => {
    const page = await open("/enrolments/AAAA-2222");
    await page.getByText("No enrolment waits with this code.").waitFor();
    expect(await violations(page)).toEqual([]);
    const reader = await createKey(running(), "reader", ["robots:read"]);
    await signIn(page, { url: running().url, key: reader.api_key }, "/enrolments");
    await page.getByText("Your key may not see the enrolments.").waitFor();
    expect(await page.getByLabel("Code that the robot shows").count()).toBe(0);
    // This key may approve, but not see robots.
    const writer = await createKey(running(), "writer", ["robots:write"]);
    const { code } = await start("arm-9");
    await signIn(page, { url: running().url, key: writer.api_key }, `/enrolments/${code}`);
    await page.getByText("The page cannot tell whether a robot arm-9 exists.").waitFor();
    await page.getByRole("button", { name: "Approve" }).click();
    await page.getByText("arm-9 is approved").waitFor();
  });

  it("reaches its expiry → shown as expired without a reload", async () => {
    const { page, complaints } = await openWindow();
    await takeClock(page);
    const { code } = await start("arm-10");
    await signIn(page, running(), `/enrolments/${code}`);
    await page.getByText("This adds the robot arm-10.").waitFor();
    const approve = page.getByRole("button", { name: "Approve" });
    await passExpiry(page, async () => expect(await approve.isVisible()).toBe(true));
    await page.getByText("Expired. Nothing was approved.").waitFor();
    expect(await approve.count()).toBe(0);
    expect(complaints).toEqual([]);
  });

  it("robot pages → show the online state, allow a recovery, thaw a frozen computer", async () => {
    const { computer } = await enrollOnline("arm-5");
    const page = await open("/robots");
    await page.getByRole("link", { name: "arm-5" }).waitFor();
    expect(await page.locator(".badge", { hasText: "Online" }).count()).toBeGreaterThan(0);
    expect(await violations(page)).toEqual([]);
    await page.getByRole("link", { name: "arm-5" }).click();
    await page.getByRole("heading", { name: "Computer" }).waitFor();
    const facts = page.locator("section", { has: page.getByRole("heading", { name: "Computer" }) }).locator("dl");
    await expect.poll(() => facts.innerText()).toMatch(/Generation\s+1\b/);
    expect(await violations(page)).toEqual([]);
    await page.getByRole("button", { name: "Allow recovery" }).click();
    await page.getByRole("dialog", { name: "Let arm-5 recover?" }).waitFor();
    expect(await violationsInDialog(page)).toEqual([]);
    await page.getByLabel("How often").fill("1");
    await page.keyboard.press("Enter");
    await page.getByText("arm-5 may recover 1 time.").waitFor();
    await expect.poll(() => facts.innerText()).toMatch(/Recoveries\s+1 left\s+Recovers until\s+\d+ \w{3} \d{4}/);

    const copy = computer.copy();
    await computer.renew();
    await computer.heartbeat();
    await copy.renew();
    await copy.heartbeat();
    expect((await computer.heartbeat()).status).toBe(403);
    await page.getByText("Frozen: two computers used this identity.").waitFor();
    expect(await page.locator(".page-head .badge").innerText()).toBe("Frozen");
    expect(await violations(page)).toEqual([]);
    await page.getByRole("button", { name: "Thaw" }).click();
    await page.getByRole("dialog", { name: "Thaw arm-5?" }).getByRole("button", { name: "Thaw" }).click();
    await page.getByText("Frozen: two computers used this identity.").waitFor({ state: "detached" });
    expect((await copy.heartbeat()).status).toBe(200);
  });

  it("remove a robot → after its name is typed, its computer loses access", async () => {
    const { code, poll, computer } = await start("arm-8");
    await approve(code);
    await poll();
    const page = await open("/robots/arm-8");
    await page.getByRole("button", { name: "Remove" }).click();
    await page.getByRole("dialog", { name: "Remove arm-8?" }).waitFor();
    await page.getByText("Its computer loses its credential.").waitFor();
    expect(await violationsInDialog(page)).toEqual([]);
    expect(await page.getByRole("button", { name: "Remove robot" }).isDisabled()).toBe(true);
    await page.getByLabel("Type arm-8 to confirm").fill("arm-8");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: /^Robots/ }).waitFor();
    expect((await running().send("GET", "/v1/robots/arm-8")).status).toBe(404);
    expect((await computer.heartbeat()).status).toBe(401);
  });

  it("overview → computers that wait, robots that are offline", async () => {
    const { code, poll } = await start("arm-6");
    await approve(code);
    await poll();
    await start("arm-7");
    const page = await open("/");
    await page.getByText(/robot computers? waits? for approval/).waitFor();
    await page.getByRole("heading", { name: "Robots that are offline" }).waitFor();
    expect(await violations(page)).toEqual([]);
    await page.setViewportSize({ width: 390, height: 844 });
    await untilLive(page);
    for (const name of ["off-1", "off-2", "off-3", "off-4", "off-5", "off-6"]) {
      const each = await start(name);
      await approve(each.code);
      await each.poll();
    }
    await page.getByText(/^and \d more robots?$/).waitFor();
    const offline = page.getByRole("heading", { name: "Robots that are offline" });
    await page.locator("section", { has: offline }).last().getByRole("link", { name: "All", exact: true }).click();
    await expect.poll(() => page.url()).toBe(`${running().url}/robots?state=offline`);
    await page.setViewportSize({ width: 1280, height: 800 });
    await page.getByRole("columnheader", { name: "State" }).waitFor();
    expect(await page.getByLabel("State").inputValue()).toBe("offline");
  });

  it("a robot cannot register → on the overview, in the list and on its page, with the reason; it can again → gone", async () => {
    const { computer } = await enrollOnline("arm-9");
    const page = await open("/");
    await untilLive(page);
    const heading = page.getByRole("heading", { name: "Robots that cannot register" });
    const reason = "Not registering: left.yaml is missing";
    await computer.heartbeat({ readiness: "not_ready", reason });
    await heading.waitFor();
    await page.getByText(reason).waitFor();
    expect(await violations(page)).toEqual([]);
    await page.locator("section", { has: heading }).last().getByRole("link", { name: "All" }).click();
    await expect.poll(() => page.url()).toBe(`${running().url}/robots?state=not_ready`);
    await page.getByRole("row", { name: /arm-9/ }).getByText("Not ready").waitFor();
    expect(await violations(page)).toEqual([]);
    await page.getByRole("link", { name: "arm-9" }).click();
    await page.getByText("This robot cannot register.").waitFor();
    await page.getByText(`${reason}.`).waitFor();
    await computer.heartbeat();
    await page.getByText("This robot cannot register.").waitFor({ state: "hidden" });
  });
});
