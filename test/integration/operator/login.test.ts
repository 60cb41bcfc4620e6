import { chmod, mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";

import { describe, expect, it, onTestFinished } from "vitest";

import { apiKeyListSchema } from "../../../src/api/keys.ts";
import { loginDecidedSchema } from "../../../src/api/logins.ts";
import { type Clock, systemClock } from "../../../src/platform/clock.ts";
import { SESSION_LIFETIME_MS } from "../../../src/service/kernel/auth/session-queries.ts";
import { LOGIN_LIFETIME_MS } from "../../../src/service/logins/rules.ts";
import { endedWith, HASTY_CLOCK, openOperatorSite, type OperatorSite } from "../../support/operator/operator.ts";
import type { Ran } from "../../support/programs/in-process.ts";

interface Scene extends OperatorSite {
  /** Turns the service's wall clock. */
  turn(ms: number): void;
  /** Starts `login` with these words; `page` resolves with the address that a person is to open. */
  startLogin(...words: string[]): { readonly ended: Promise<Ran>; readonly page: Promise<URL> };
  /** Starts `login`, approves it as the page does, and waits for its end. */
  signIn(...words: string[]): Promise<Ran>;
  /** What the page does when the person decides; resolves with where it sends the browser. */
  decide(page: URL, decision: "approve" | "deny"): Promise<string>;
  /** Runs a command without anything in the environment. */
  later(...words: string[]): Promise<Ran>;
}

async function scene(environment: Record<string, string> = {}): Promise<Scene> {
  let aheadMs = 0;
  const clock: Clock = { ...systemClock, wallMs: () => systemClock.wallMs() + aheadMs };
  const site = await openOperatorSite({ clock });
  onTestFinished(() => site[Symbol.asyncDispose]());
  const own: Scene = {
    ...site,
    turn(ms) {
      aheadMs += ms;
    },
    startLogin(...words) {
      const { promise: page, resolve } = Promise.withResolvers<URL>();
      const onOutput = (text: string) => {
        const url = /^ {2}(http:\S+)$/m.exec(text)?.[1];
        if (url !== undefined) resolve(new URL(url));
      };
      // With a browser here, its callback is to be first.
      const isPolling = words.includes("--no-browser") || "SSH_CONNECTION" in environment;
      const clock = isPolling ? HASTY_CLOCK : systemClock;
      const ended = site.runWith({ environment, onOutput, clock }, "login", ...words);
      return { ended, page };
    },
    async decide(page, decision) {
      const exchangeId = page.searchParams.get("exchange");
      const answer = await site.service.send("POST", "/v1/cli/login/decide", { exchange_id: exchangeId, decision });
      return loginDecidedSchema.parse(await answer.json()).redirect_url;
    },
    async signIn(...words) {
      const { ended, page } = own.startLogin(...words);
      await fetch(await own.decide(await page, "approve"));
      return ended;
    },
    later: (...words) => site.runWith({ environment }, ...words),
  };
  return own;
}

const folderOf = ({ home }: OperatorSite) => join(home, ".config/robot-policy");

describe("login with a browser on this computer", () => {
  it("is approved on the service's page, and remembered for what follows", async () => {
    const site = await scene();
    const { ended, page } = site.startLogin("--url", site.urls.whole);
    const url = await page;
    expect(url.origin).toBe(site.urls.whole);
    const answer = await fetch(await site.decide(url, "approve"));
    expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining("You are signed in")]);
    const { exitCode, out, err } = await ended;
    expect(err).toMatch(/The page shows the code [A-Z]{4}-[A-Z]{4}\. Deny a login with another code\./);
    expect(out).toMatch(
      /^Signed in to default until \d{4}-\d{2}-\d{2}; it is the current context, 127\.0\.0\.1-\d+\.$/m,
    );
    expect(exitCode).toBe(0);

    const who = await site.later("whoami");
    expect(who.out).toMatch(/^credential +the login of context 127\.0\.0\.1-\d+ \(since .*, good until .*\)$/m);
    expect(who.out).toMatch(/^id +ses_/m);
  });

  it("goes back to the key that approved it, which is not revoked by accident", async () => {
    const site = await scene();
    await site.signIn("--url", site.urls.whole);
    expect(await site.later("keys", "revoke", "bootstrap")).toMatchObject(
      endedWith(2, /you use the key bootstrap yourself: the login of context 127\.0\.0\.1-\d+ .*\[own-key\]/),
    );
    expect((await site.later("keys", "revoke", "bootstrap", "--yes")).exitCode).toBe(0);
    expect((await site.later("whoami")).exitCode).toBe(5);
  });

  it("ends with 5 when it is denied, and remembers nothing", async () => {
    const site = await scene();
    const { ended, page } = site.startLogin("--url", site.urls.whole);
    const answer = await fetch(await site.decide(await page, "deny"));
    expect(await answer.text()).toContain("The login was denied");
    expect(await ended).toMatchObject(endedWith(5, "[login-denied]"));
    expect((await site.later("contexts", "list")).err).toContain("There are no contexts yet");
  });

  it("takes no code from a page that does not know its state", async () => {
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

  it("opens the person's browser where there is a screen, and the key is not in its environment", async () => {
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

  it("ends with 130 when it is interrupted", async () => {
    const site = await scene();
    const interruption = new AbortController();
    const onOutput = () => interruption.abort(new Error("interrupted"));
    const words = ["login", "--url", site.urls.whole];
    expect(await site.runWith({ environment: {}, signal: interruption.signal, onOutput }, ...words)).toMatchObject({
      exitCode: 130,
    });
  });
});

it("login to a new address: its context has a name that no other has", async () => {
  const site = await scene();
  const host = new URL(site.urls.whole).host.replace(":", "-");
  for (const name of [host, `${host}-3`]) await site.later("contexts", "add", name, "--url", "https://other.example");
  const { ended, page } = site.startLogin("--url", site.urls.whole, "--no-browser");
  await site.decide(await page, "approve");
  expect((await ended).out).toContain(`it is the current context, ${host}-2.`);
});

it("login over ssh, without a screen: does not wait for a browser that cannot reach this computer", async () => {
  const site = await scene({ SSH_CONNECTION: "192.0.2.1 50000 192.0.2.2 22" });
  const { ended, page } = site.startLogin("--url", site.urls.whole);
  expect(await site.decide(await page, "deny")).toMatch(/^http:\/\/127\.0\.0\.1:9\/no-browser\?/);
  expect((await ended).exitCode).toBe(5);
});

it("login --no-browser: waits for a decision in a browser anywhere, or for its end", async () => {
  const site = await scene();
  const start = (name: string) =>
    site.startLogin("--url", site.urls.whole, "--no-browser", "--context", name, "--json");
  const late = start("late");
  await late.page;
  // Ten minutes are a login's time.
  site.turn(LOGIN_LIFETIME_MS + 1);
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

describe("a login", () => {
  async function signedIn(): Promise<Scene> {
    const site = await scene();
    expect((await site.signIn("--url", site.urls.whole, "--context", "lab")).exitCode).toBe(0);
    return site;
  }

  it("is kept where nobody else can read it", async () => {
    const site = await signedIn();
    const folder = folderOf(site);
    const modes = await Promise.all(
      [folder, join(folder, "contexts"), join(folder, "contexts/lab.json")].map(
        async (path) => (await stat(path)).mode & 0o777,
      ),
    );
    expect(modes.map((mode) => mode.toString(8))).toEqual(["700", "700", "600"]);
    expect(await readdir(join(folder, "contexts"))).toEqual(["lab.json"]);
  });

  it("that cannot be kept is ended at the service", async () => {
    const site = await scene();
    await writeFile(join(site.home, ".config"), "");
    expect(await site.signIn("--url", site.urls.whole)).toMatchObject(endedWith(1, "[context-not-saved]"));
    expect(site.service.requests.at(-1)).toMatchObject({ method: "DELETE", path: "/v1/cli/session", status: 200 });
  });

  it("keeps a certificate's whole path, for commands in other folders", async () => {
    const site = await scene();
    expect((await site.signIn("--url", site.urls.whole, "--ca-file", "ca.pem")).exitCode).toBe(0);
    expect(JSON.parse((await site.later("contexts", "show", "--json")).out).ca_file).toBe(resolve("ca.pem"));
  });

  it.each([
    ["contexts/lab.json", "0640", "chmod 600"],
    ["contexts", "0777", "chmod 700"],
  ])("is refused when %s has mode %s, with the command that mends it", async (name, mode, fix) => {
    const site = await signedIn();
    const path = join(folderOf(site), name);
    await chmod(path, Number.parseInt(mode, 8));
    const refused = await site.later("robots", "list");
    expect(refused.exitCode).toBe(2);
    expect(refused.err).toContain(`${fix} ${path}`);
  });

  it("is named when the service has ended it, and when it has expired", async () => {
    const site = await signedIn();
    site.turn(SESSION_LIFETIME_MS + 1);
    const expired = await site.later("robots", "list");
    expect(expired.exitCode).toBe(5);
    expect(expired.err).toMatch(/Session has expired: the service does not accept the login of context lab \(since /);
    expect(expired.err).toContain("robot-policy login --context lab");
    site.turn(-SESSION_LIFETIME_MS - 1);
    // Revoking the key that approved a login ends it.
    const keys = apiKeyListSchema.parse(await (await site.service.send("GET", "/v1/me/api-keys")).json());
    await site.service.send("DELETE", `/v1/me/api-keys/${keys.items[0]?.id}`);
    expect((await site.later("robots", "list")).err).toContain("the service does not accept the login of context lab");
  });

  it("counts from the environment, too, where a program has no home", async () => {
    const site = await signedIn();
    const { token } = JSON.parse(await readFile(join(folderOf(site), "contexts/lab.json"), "utf8")).login;
    const environment = { HOME: "/nowhere", ROBOT_POLICY_URL: site.urls.whole, ROBOT_POLICY_API_KEY: token };
    const who = await site.runWith({ environment }, "whoami");
    expect(who.out).toMatch(/^credential +the login token in ROBOT_POLICY_API_KEY$/m);
    await site.later("logout");
    const ended = await site.runWith({ environment }, "whoami");
    expect(ended.exitCode).toBe(5);
    expect(ended.err).toContain("the service does not accept the login token in ROBOT_POLICY_API_KEY");
    expect(ended.out + ended.err).not.toContain(token);
  });

  it("goes to no other address", async () => {
    const site = await signedIn();
    const elsewhere = await site.later("robots", "list", "--url", site.urls.eleven);
    expect(elsewhere.exitCode).toBe(5);
    expect(elsewhere.err).toContain("there is no credential for this service");
    // The same address finds its context by itself.
    expect((await site.later("robots", "list", "--url", `${site.urls.whole}/`)).exitCode).toBe(0);
  });

  it("logout ends it at the service, and deletes it here", async () => {
    const site = await signedIn();
    const file = join(folderOf(site), "contexts/lab.json");
    const { token } = JSON.parse(await readFile(file, "utf8")).login;
    expect(await site.later("logout")).toMatchObject({ exitCode: 0, out: "Signed out of lab.\n", err: "" });
    expect(await readFile(file, "utf8")).not.toContain(token);
    const answer = await fetch(`${site.urls.whole}/v1/robots`, { headers: { authorization: `Bearer ${token}` } });
    expect(answer.status).toBe(401);
    expect(await site.later("logout")).toMatchObject({ exitCode: 0, out: "Nobody is signed in to lab.\n" });
  });

  it("is ended by logout --json, which says so", async () => {
    const site = await signedIn();
    const { out } = await site.later("logout", "--json");
    expect(JSON.parse(out)).toEqual({ context: "lab", ended: true, forgotten: true });
  });

  it("is not ended by a logout from another address, nor from one that nobody knows", async () => {
    const site = await signedIn();
    expect(await site.later("logout", "--url", "https://other.example")).toMatchObject(
      endedWith(2, "no context has the address https://other.example"),
    );
    expect((await site.later("whoami")).exitCode).toBe(0);
  });

  it("is to the context that ROBOT_POLICY_CONTEXT names, as every other command is", async () => {
    const site = await scene({ ROBOT_POLICY_CONTEXT: "lab" });
    await site.later("contexts", "add", "current", "--url", "https://other.example");
    await site.later("contexts", "add", "lab", "--url", site.urls.whole);
    const { ended, page } = site.startLogin("--no-browser");
    expect((await page).origin).toBe(site.urls.whole);
    await site.decide(await page, "approve");
    expect((await ended).out).toContain("it is the current context, lab.");
  });

  it("is deleted without a network too", async () => {
    const site = await signedIn();
    await site.service[Symbol.asyncDispose]();
    const out = await site.later("logout");
    expect(out).toMatchObject({ exitCode: 0, out: "Signed out of lab.\n" });
    expect(out.err).toContain("could not be ended at the service");
    expect(await readFile(join(folderOf(site), "contexts/lab.json"), "utf8")).not.toContain("rps_session_");
  });

  it("is replaced by the next one, and the old one ended", async () => {
    const site = await signedIn();
    const file = join(folderOf(site), "contexts/lab.json");
    const { token } = JSON.parse(await readFile(file, "utf8")).login;
    expect((await site.signIn("--context", "lab")).exitCode).toBe(0);
    expect(JSON.parse(await readFile(file, "utf8")).login.token).not.toBe(token);
    const answer = await fetch(`${site.urls.whole}/v1/robots`, { headers: { authorization: `Bearer ${token}` } });
    expect(answer.status).toBe(401);
  });

  it("gives way to a key in a flag or the environment, but not where the context itself is named", async () => {
    const site = await signedIn();
    const credential = async (environment: Record<string, string>, ...words: string[]) =>
      JSON.parse((await site.runWith({ environment }, "whoami", "--json", ...words)).out).credential;
    const key = { ROBOT_POLICY_API_KEY: site.service.key };
    expect(await credential({})).toBe("login");
    expect(await credential(key)).toBe("environment");
    expect(await credential(key, "--key-file", site.service.key_file)).toBe("key-file");
    expect(await credential(key, "--context", "lab")).toBe("login");
    expect(await credential({ ROBOT_POLICY_CONTEXT: "lab" })).toBe("login");
  });
});

it("login: a service that has only what is documented has none, and a key does it", async () => {
  const site = await scene();
  const { ended } = site.startLogin("--url", site.urls.eleven);
  const { exitCode, err } = await ended;
  expect(exitCode).toBe(6);
  expect(err).toContain("this service has no logins");
  expect(err).toContain(`robot-policy contexts add NAME --url ${site.urls.eleven} --key-file FILE`);
});

it("login: a key has no meaning for it, and it says what to do with one", async () => {
  const site = await scene();
  expect(await site.later("login", "--url", site.urls.whole, "--key-file", site.service.key_file)).toMatchObject(
    endedWith(2, "robot-policy contexts add NAME --url URL --key-file"),
  );
  expect((await site.later("login", "--help")).out).not.toContain("--key-file <file>");
});

async function openFolder(): Promise<string> {
  const site = await scene();
  const bin = join(site.home, "bin");
  await mkdir(bin);
  return bin;
}
