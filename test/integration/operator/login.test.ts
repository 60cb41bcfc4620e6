import { chmod, mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";

import { describe, expect, it, onTestFinished } from "vitest";

import { apiKeyListSchema } from "../../../src/api/keys.ts";
import { loginDecidedSchema } from "../../../src/api/logins.ts";
import { type Clock, systemClock } from "../../../src/platform/clock.ts";
import { SESSION_LIFETIME_MS } from "../../../src/service/kernel/auth/session-queries.ts";
import { LOGIN_LIFETIME_MS } from "../../../src/service/logins/logins.ts";
import { endedWith, HASTY_CLOCK, openOperatorSite, type OperatorSite } from "../../support/operator/operator.ts";
import type { Ran } from "../../support/programs/in-process.ts";

interface Scene extends OperatorSite {
  /** Advances the service's wall clock. */
  advance(ms: number): void;
  /** Starts `login` with these arguments; `page` resolves with the URL that the person should open. */
  startLogin(...args: string[]): { readonly ended: Promise<Ran>; readonly page: Promise<URL> };
  /** Runs `login` to its end and approves it as the page does. */
  signIn(...args: string[]): Promise<Ran>;
  /** Decides as the page does; resolves with the URL to which the page redirects the browser. */
  decide(page: URL, decision: "approve" | "deny"): Promise<string>;
  /** Runs another command in the same environment, without a key of the site. */
  later(...args: string[]): Promise<Ran>;
}

async function scene(environment: Record<string, string> = {}): Promise<Scene> {
  let aheadMs = 0;
  const clock: Clock = { ...systemClock, wallMs: () => systemClock.wallMs() + aheadMs };
  const site = await openOperatorSite({ clock });
  onTestFinished(() => site[Symbol.asyncDispose]());
  const own: Scene = {
    ...site,
    advance(ms) {
      aheadMs += ms;
    },
    startLogin(...args) {
      const { promise: page, resolve } = Promise.withResolvers<URL>();
      const onOutput = (text: string) => {
        const url = /^ {2}(http:\S+)$/m.exec(text)?.[1];
        if (url !== undefined) resolve(new URL(url));
      };
      // With a browser on this computer, polling must not be faster than its callback.
      const isPolling = args.includes("--no-browser") || "SSH_CONNECTION" in environment;
      const clock = isPolling ? HASTY_CLOCK : systemClock;
      const ended = site.runWith({ environment, onOutput, clock }, "login", ...args);
      return { ended, page };
    },
    async decide(page, decision) {
      const exchangeId = page.searchParams.get("exchange");
      const answer = await site.service.send("POST", "/v1/cli/login/decide", { exchange_id: exchangeId, decision });
      return loginDecidedSchema.parse(await answer.json()).redirect_url;
    },
    async signIn(...args) {
      const { ended, page } = own.startLogin(...args);
      await fetch(await own.decide(await page, "approve"));
      return ended;
    },
    later: (...args) => site.runWith({ environment }, ...args),
  };
  return own;
}

const folderOf = ({ home }: OperatorSite) => join(home, ".config/robot-policy");

describe("login: a browser on this computer", () => {
  it("approved on the service's page → later commands use the login", async () => {
    const site = await scene();
    const { ended, page } = site.startLogin("--url", site.urls.whole);
    const url = await page;
    expect(url.origin).toBe(site.urls.whole);
    const answer = await fetch(await site.decide(url, "approve"));
    expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining("The login is approved")]);
    const { exitCode, out, err } = await ended;
    expect(err).toMatch(/The page shows the code [A-Z]{4}-[A-Z]{4}\. Deny a login with another code\./);
    expect(out).toMatch(
      /^Signed in to default until \d{4}-\d{2}-\d{2}; it is the current context, 127\.0\.0\.1-\d+\.$/m,
    );
    expect(exitCode).toBe(0);

    const who = await site.later("whoami");
    expect(who.out).toMatch(/^credential +the login of context 127\.0\.0\.1-\d+ \(since .*, good until .*\)$/m);
    expect(who.out).toMatch(/^id +ses_/m);
    const audited = async (...args: string[]) => (await site.later("audit", "--columns", "what", ...args)).out;
    expect(await audited("--sign-ins")).toMatch(/^bootstrap approved a login$/m);
    expect(await audited()).not.toContain("approved a login");
  });

  it("the key that approved it → counts as in use, and revoking it ends the login", async () => {
    const site = await scene();
    await site.signIn("--url", site.urls.whole);
    expect(await site.later("keys", "revoke", "bootstrap")).toMatchObject(
      endedWith(2, /you use the key bootstrap yourself: the login of context 127\.0\.0\.1-\d+ .*\[own-key\]/),
    );
    expect((await site.later("keys", "revoke", "bootstrap", "--yes")).exitCode).toBe(0);
    expect((await site.later("whoami")).exitCode).toBe(5);
  });

  it("denied → exit 5, and no context", async () => {
    const site = await scene();
    const { ended, page } = site.startLogin("--url", site.urls.whole);
    const answer = await fetch(await site.decide(await page, "deny"));
    expect(await answer.text()).toContain("The login was denied");
    expect(await ended).toMatchObject(endedWith(5, "[login-denied]"));
    expect((await site.later("contexts", "list")).err).toContain("There are no contexts yet");
  });

  it("callback with a code that the service does not accept → exit 5, and the page does not say otherwise", async () => {
    const site = await scene();
    const { ended, page } = site.startLogin("--url", site.urls.whole);
    const url = new URL(await site.decide(await page, "approve"));
    url.searchParams.set("code", "rps_code_forged");
    expect(await (await fetch(url)).text()).not.toContain("signed in");
    expect(await ended).toMatchObject(endedWith(5, "[login-ended]"));
  });

  it("callback with a wrong state → 400, and its code is not used", async () => {
    const site = await scene();
    const { ended, page } = site.startLogin("--url", site.urls.whole);
    const url = new URL(await site.decide(await page, "approve"));
    const forged = new URL(url);
    forged.searchParams.set("state", "x".repeat(22));
    forged.searchParams.set("code", "rps_code_forged");
    expect((await fetch(forged)).status).toBe(400);
    expect((await fetch(new URL("/", url))).status).toBe(404);
    expect((await fetch(url, { method: "POST" })).status).toBe(404);
    await fetch(url);
    expect((await ended).exitCode).toBe(0);
  });

  it("a graphical session → opens the browser, without the key in its environment", async () => {
    const bin = await openFolder();
    const opened = join(bin, "opened");
    await writeFile(
      join(bin, "xdg-open"),
      `#!/bin/sh\necho "$1 $ROBOT_POLICY_API_KEY" > ${opened}.new; mv ${opened}.new ${opened}\n`,
    );
    await chmod(join(bin, "xdg-open"), 0o755);
    const environment = {
      PATH: `${bin}:${process.env["PATH"]}`,
      DISPLAY: ":0",
      ROBOT_POLICY_API_KEY: "sk_test_canary",
    };
    const site = await scene(environment);
    const { ended, page } = site.startLogin("--url", site.urls.whole);
    const url = await page;
    await expect.poll(() => readFile(opened, "utf8").catch(() => "")).toBe(`${url.href} \n`);
    await fetch(await site.decide(url, "approve"));
    expect((await ended).exitCode).toBe(0);
  });

  it("interrupted → exit 130", async () => {
    const site = await scene();
    const interruption = new AbortController();
    const onOutput = () => interruption.abort(new Error("interrupted"));
    const args = ["login", "--url", site.urls.whole];
    expect(await site.runWith({ environment: {}, signal: interruption.signal, onOutput }, ...args)).toMatchObject({
      exitCode: 130,
    });
  });
});

it("login: a new address whose name is taken → asks for another name", async () => {
  const site = await scene();
  const name = new URL(site.urls.whole).host.replace(":", "-");
  await site.later("contexts", "add", name, "--url", "https://other.example");
  expect(await site.later("login", "--url", site.urls.whole)).toMatchObject(
    endedWith(7, "give another name: --context NAME"),
  );
});

it("login: over ssh → polls instead of waiting for a browser on this computer", async () => {
  const site = await scene({ SSH_CONNECTION: "192.0.2.1 50000 192.0.2.2 22" });
  const { ended, page } = site.startLogin("--url", site.urls.whole);
  expect(await site.decide(await page, "deny")).toMatch(/^http:\/\/127\.0\.0\.1:9\/no-browser\?/);
  expect((await ended).exitCode).toBe(5);
});

it("login --no-browser: polls until it is approved, denied or expired", async () => {
  const site = await scene();
  const start = (name: string) =>
    site.startLogin("--url", site.urls.whole, "--no-browser", "--context", name, "--json");
  const late = start("late");
  await late.page;
  // A login expires after ten minutes.
  site.advance(LOGIN_LIFETIME_MS + 1);
  const [approved, denied] = [start("approved"), start("denied")];
  const redirectUrl = await site.decide(await approved.page, "approve");
  expect(redirectUrl).toMatch(/^http:\/\/127\.0\.0\.1:9\/no-browser\?/);
  await site.decide(await denied.page, "deny");

  const { exitCode, out } = await approved.ended;
  expect(exitCode).toBe(0);
  expect(JSON.parse(out)).toEqual({
    context: "approved",
    url: site.urls.whole,
    organization: "default",
    expires_at: expect.any(String),
  });
  expect(await denied.ended).toMatchObject(endedWith(5, "[login-denied]"));
  expect(await late.ended).toMatchObject(endedWith(5, "[login-ended]"));
});

const fileOf = (site: Scene) => join(folderOf(site), "contexts.json");

/** The token of the one context. */
async function savedToken(site: Scene): Promise<string> {
  const { contexts } = JSON.parse(await readFile(fileOf(site), "utf8"));
  return contexts[0].login.token;
}

describe("a login", () => {
  async function signedIn(): Promise<Scene> {
    const site = await scene();
    expect((await site.signIn("--url", site.urls.whole, "--context", "lab")).exitCode).toBe(0);
    return site;
  }

  it("is stored in a file that only its user can read", async () => {
    const site = await signedIn();
    const folder = folderOf(site);
    const modeOf = async (path: string) => ((await stat(path)).mode & 0o777).toString(8);
    expect([await modeOf(folder), await modeOf(join(folder, "contexts.json"))]).toEqual(["700", "600"]);
    expect(await readdir(folder)).toEqual(["contexts.json"]);
  });

  it("cannot be stored → ended at the service", async () => {
    const site = await scene();
    await writeFile(join(site.home, ".config"), "");
    expect(await site.signIn("--url", site.urls.whole)).toMatchObject(endedWith(1, "[context-not-saved]"));
    expect(site.service.requests.at(-1)).toMatchObject({ method: "DELETE", path: "/v1/cli/session", status: 200 });
  });

  it("--ca-file with a relative path → stored as an absolute path", async () => {
    const site = await scene();
    expect((await site.signIn("--url", site.urls.whole, "--ca-file", "ca.pem")).exitCode).toBe(0);
    expect(JSON.parse((await site.later("contexts", "list", "--json")).out)[0].ca_file).toBe(resolve("ca.pem"));
  });

  it.each([
    ["contexts.json", 0o640],
    ["", 0o777],
  ])("%s with mode %s → refused, with the command that fixes it", async (name, mode) => {
    const site = await signedIn();
    const fix = `chmod -R go= ${folderOf(site)}`;
    await chmod(join(folderOf(site), name), mode);
    expect(await site.later("robots", "list")).toMatchObject(endedWith(2, fix));
    expect(await site.later("robots", "list", "--url", site.urls.whole)).toMatchObject(endedWith(5, fix));
  });

  it("expired, or ended by the service → the error names the login", async () => {
    const site = await signedIn();
    site.advance(SESSION_LIFETIME_MS + 1);
    const expired = await site.later("robots", "list");
    expect(expired.exitCode).toBe(5);
    expect(expired.err).toMatch(/Session has expired: the service does not accept the login of context lab \(since /);
    expect(expired.err).toContain("robot-policy login --context lab");
    site.advance(-SESSION_LIFETIME_MS - 1);
    // Revoking the key that approved a login ends the login.
    const keys = apiKeyListSchema.parse(await (await site.service.send("GET", "/v1/me/api-keys")).json());
    await site.service.send("DELETE", `/v1/me/api-keys/${keys.items[0]?.id}`);
    expect((await site.later("robots", "list")).err).toContain("the service does not accept the login of context lab");
  });

  it("logout → ended at the service and deleted here", async () => {
    const site = await signedIn();
    const token = await savedToken(site);
    expect(await site.later("logout")).toMatchObject({ exitCode: 0, out: "Signed out of lab.\n", err: "" });
    expect(await readFile(fileOf(site), "utf8")).not.toContain(token);
    const answer = await fetch(`${site.urls.whole}/v1/robots`, { headers: { authorization: `Bearer ${token}` } });
    expect(answer.status).toBe(401);
    expect(await site.later("logout")).toMatchObject({ exitCode: 0, out: "Nobody is signed in to lab.\n" });
    const { out } = await site.later("logout", "--json");
    expect(JSON.parse(out)).toEqual({ context: "lab", ended: false, forgotten: false });
  });

  it("logout from an unknown address → not ended", async () => {
    const site = await signedIn();
    expect(await site.later("logout", "--url", "https://other.example")).toMatchObject(
      endedWith(2, "no context has the address https://other.example"),
    );
    expect((await site.later("whoami")).exitCode).toBe(0);
  });

  it("ROBOT_POLICY_CONTEXT → the login belongs to that context", async () => {
    const site = await scene({ ROBOT_POLICY_CONTEXT: "lab" });
    await site.later("contexts", "add", "current", "--url", "https://other.example");
    await site.later("contexts", "add", "lab", "--url", site.urls.whole);
    const { ended, page } = site.startLogin("--no-browser");
    expect((await page).origin).toBe(site.urls.whole);
    await site.decide(await page, "approve");
    expect((await ended).out).toContain("it is the current context, lab.");
  });

  it("logout without a network → deleted here, with a warning", async () => {
    const site = await signedIn();
    await site.service[Symbol.asyncDispose]();
    const out = await site.later("logout");
    expect(out).toMatchObject({ exitCode: 0, out: "Signed out of lab.\n" });
    expect(out.err).toContain("could not be ended at the service");
    expect(await readFile(fileOf(site), "utf8")).not.toContain("rps_session_");
  });

  it("next login → replaces it and ends the old one", async () => {
    const site = await signedIn();
    const token = await savedToken(site);
    expect((await site.signIn("--context", "lab")).exitCode).toBe(0);
    expect(await savedToken(site)).not.toBe(token);
    const answer = await fetch(`${site.urls.whole}/v1/robots`, { headers: { authorization: `Bearer ${token}` } });
    expect(answer.status).toBe(401);
  });
});

it("login: documented service → exit 6, with the command that uses a key", async () => {
  const site = await scene();
  const { ended } = site.startLogin("--url", site.urls.eleven);
  const { exitCode, err } = await ended;
  expect(exitCode).toBe(6);
  expect(err).toContain("this service has no logins");
  expect(err).toContain(`robot-policy contexts add NAME --url ${site.urls.eleven} --key-file FILE`);
});

it("login --key-file → refused, with the command that takes a key", async () => {
  const site = await scene();
  expect(await site.later("login", "--url", site.urls.whole, "--key-file", site.service.key_file)).toMatchObject(
    endedWith(2, "robot-policy contexts add NAME --url URL --key-file"),
  );
});

async function openFolder(): Promise<string> {
  const site = await scene();
  const bin = join(site.home, "bin");
  await mkdir(bin);
  return bin;
}
