/** A real browser: Debian's Chromium, driven by playwright-core. All test files of a worker share it. */
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, onTestFinished } from "vitest";

import { BUILT_CONSOLE } from "./programs/programs-built.ts";
import { PATIENCE_MS } from "./run/patience.ts";
import { writeModels } from "./service/scene.ts";
import { type RunningService, type ServiceOptions, startService } from "./service/service.ts";

/** Path of Chromium; null if it is not installed. The headless shell needs less than half the CPU time. */
const CHROMIUM =
  ["/usr/bin/chromium-headless-shell", "/usr/bin/chromium", "/usr/bin/chromium-browser"].find((path) =>
    existsSync(path),
  ) ?? null;

/**
 * Whether browser tests are skipped because Chromium is missing. In CI they fail instead.
 *
 * Debian: `apt-get install chromium-headless-shell`, or `chromium`.
 */
export const WITHOUT_BROWSER = CHROMIUM === null && (process.env["CI"] ?? "") === "";

/** Suffix for the names of skipped tests. */
export const BROWSER_NEEDED = WITHOUT_BROWSER ? " (skipped: chromium is not installed)" : "";

const ARGUMENTS = [
  // Requests to other hosts fail at once and are reported to the test, including Chromium's own requests to Google.
  "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost, EXCLUDE *.localhost",
  "--disable-gpu",
  // One process fewer for each browser.
  "--in-process-gpu",
  // Reusing a window keeps its process and thereby its compiled scripts.
  "--process-per-site",
];

const VIEWPORT = { width: 1280, height: 800 };
const COLOR_SCHEME = "light";

/** How much of a page and its console a failed test prints. */
const PRINTED = { characters: 4000, consoleLines: 50 } as const;

/** A browser window and everything that went wrong in it. */
export interface Window extends AsyncDisposable {
  readonly page: Page;
  /** Content-Security-Policy violations, script errors, and requests to other hosts. */
  readonly complaints: string[];
  /** What the pages wrote to their console. */
  readonly consoleLines: string[];
}

let launched: Promise<Browser> | null = null;
/** The worker's shared window; null while a test uses it. */
let kept: Window | null = null;

/** The worker's browser. It closes when the worker exits. */
async function browserOfWorker(): Promise<Browser> {
  const running = await launched;
  if (running?.isConnected() !== true) launched = launch();
  const browser = await launched;
  if (browser === null) throw new Error("The browser was not launched");
  return browser;
}

function launch(): Promise<Browser> {
  if (CHROMIUM === null) throw new Error("chromium is not installed: apt-get install chromium-headless-shell");
  // Vitest stops its workers by SIGTERM. On exit Playwright closes the browser and removes its profile.
  process.once("SIGTERM", () => process.exit());
  return chromium.launch({ executablePath: CHROMIUM, args: ARGUMENTS, handleSIGTERM: false });
}

/** A new isolated window, open until the test ends. If the test fails, the content of the window is printed. */
export async function openWindow(options?: BrowserContextOptions): Promise<Window> {
  const window = await openLastingWindow(options);
  onTestFinished(() => window[Symbol.asyncDispose]());
  tellOnFailure(window);
  return window;
}

/**
 * The worker's shared window until the test ends, signed out and with empty storage. It costs half as much as a new one. Use it for tests
 * that change only its page, size, theme, routes, and network state.
 */
export async function borrowWindow(): Promise<Window> {
  const window = kept ?? (await openLastingWindow());
  kept = null;
  onTestFinished(() => takeBack(window));
  tellOnFailure(window);
  return window;
}

async function takeBack(window: Window): Promise<void> {
  const { page, complaints, consoleLines } = window;
  try {
    const context = page.context();
    await page.unrouteAll({ behavior: "ignoreErrors" });
    // Pages without an origin have no storage.
    await page.evaluate("try { localStorage.clear(); sessionStorage.clear(); } catch {}");
    await page.goto("about:blank");
    for (const other of context.pages()) if (other !== page) await other.close();
    await context.clearCookies();
    await page.setViewportSize(VIEWPORT);
    await page.emulateMedia({ colorScheme: COLOR_SCHEME });
    await context.setOffline(false);
    complaints.length = 0;
    consoleLines.length = 0;
    kept = window;
  } catch {
    // A failed test may leave the page unusable.
    await window[Symbol.asyncDispose]();
  }
}

/** Prints the content of the window if the current test fails. */
export function tellOnFailure({ page, consoleLines }: Window): void {
  onTestFinished(async ({ task }) => {
    if (task.result?.state !== "fail") return;
    for (const each of page.context().pages()) {
      const text = await each.evaluate<string>("document.body.innerText").catch(String);
      console.error(`The page ${each.url()} shows:\n${text.slice(0, PRINTED.characters)}`);
    }
    const lines = consoleLines.slice(-PRINTED.consoleLines).join("\n").slice(-PRINTED.characters);
    if (lines !== "") console.error(`Its console:\n${lines}`);
  });
}

/**
 * With `content-visibility: auto`, Chromium lays out a row some time after inserting it; until then its text is empty. The page's policy
 * forbids a style element, so this adopts a style sheet.
 */
const SHOW_EVERYTHING = `
  const sheet = new CSSStyleSheet();
  sheet.replaceSync("* { content-visibility: visible !important }");
  document.adoptedStyleSheets.push(sheet);`;

/** A window that several tests use. The caller closes it. */
export async function openLastingWindow(options: BrowserContextOptions = {}): Promise<Window> {
  const browser = await browserOfWorker();
  const context = await browser.newContext({
    viewport: VIEWPORT,
    colorScheme: COLOR_SCHEME,
    // Clicks miss moving elements.
    reducedMotion: "reduce",
    // A test that depends on one of these sets it.
    locale: "en-GB",
    timezoneId: "Europe/Berlin",
    ...options,
  });
  context.setDefaultTimeout(PATIENCE_MS / 2);
  await context.addInitScript(SHOW_EVERYTHING);
  const page = await context.newPage();
  const complaints: string[] = [];
  const consoleLines: string[] = [];
  page.on("pageerror", (error) => {
    complaints.push(`script: ${error.message}`);
    consoleLines.push(String(error.stack ?? error));
  });
  page.on("console", (message) => {
    const text = message.text();
    consoleLines.push(`${message.type()}: ${text}`);
    // Chromium logs every failed response; the tests check how the page handles it.
    const isRefusal = text.startsWith("Failed to load resource: the server responded");
    if ((message.type() === "error" || message.type() === "warning") && !isRefusal) complaints.push(text);
  });
  page.on("request", (request) => {
    const url = new URL(request.url());
    const isOwn = ["127.0.0.1", "localhost"].includes(url.hostname) || url.hostname.endsWith(".localhost");
    if (url.protocol !== "data:" && !isOwn) complaints.push(`request to ${url.href}`);
  });
  return {
    page,
    complaints,
    consoleLines,
    [Symbol.asyncDispose]: () => context.close(),
  };
}

/** Counts the received bytes, including headers, until the returned function is called. */
export function countReceived(page: Page): () => Promise<number> {
  const sizes: Promise<number>[] = [];
  page.on("requestfinished", (request) => {
    const size = request
      .sizes()
      .then(({ responseBodySize, responseHeadersSize }) => responseBodySize + responseHeadersSize);
    // The page may close before its last responses are counted.
    sizes.push(size.catch(() => 0));
  });
  return async () => (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}

/** The real service with the console built from the sources. */
export function startConsole(options: ServiceOptions = {}): Promise<RunningService> {
  return startService({ ...options, configuration: { consoleFolder: BUILT_CONSOLE, ...options.configuration } });
}

/** The same with the model `m`, which has an endpoint in this region. */
export async function startConsoleWithModel(region: string): Promise<RunningService> {
  const folder = await mkdtemp(join(tmpdir(), "console-models-"));
  const modelsFile = await writeModels(folder, [region]);
  const service = await startConsole({ configuration: { modelsFile } });
  await rm(folder, { recursive: true });
  return service;
}

/**
 * Defines console tests that share one service, or whatever `start` returns. They are skipped without a browser.
 *
 * @param tests receives a function that returns the shared service. The service starts after the tests are defined.
 */
export function describeConsole<T extends AsyncDisposable>(
  what: string,
  start: () => Promise<T>,
  tests: (shared: () => T) => void,
): void {
  describe.skipIf(WITHOUT_BROWSER)(`the console: ${what}${BROWSER_NEEDED}`, { tags: "needs/browser" }, () => {
    let shared: T | undefined;
    beforeAll(async () => {
      shared = await start();
    });
    afterAll(() => shared?.[Symbol.asyncDispose]());
    tests(() => {
      if (shared === undefined) throw new Error("The service of these tests has not started");
      return shared;
    });
  });
}

/** Resolves once the service has answered the page. */
export async function untilLive(page: Page): Promise<void> {
  await page.locator(".live-status:visible").filter({ hasText: "Live" }).waitFor();
}

/** Opens a page for a signed-in user and waits until the console is shown. */
export async function signIn(page: Page, { url, key }: Pick<RunningService, "url" | "key">, path = "/"): Promise<void> {
  const answer = await page.context().request.post(`${url}/console/session`, {
    headers: { "x-robot-policy-console": "1" },
    data: { api_key: key },
  });
  if (!answer.ok()) throw new Error(`Cannot sign in: ${answer.status()} ${await answer.text()}`);
  await page.goto(url + path);
  // Located by tag, because a role locator checks every element of the page.
  await page.locator("nav:visible").first().waitFor();
}

/** The worker's shared window, signed in, at this path. The test fails if the window reports any complaint. */
export async function openSignedIn(
  { url, key: ownKey }: Pick<RunningService, "url" | "key">,
  path: string,
  key = ownKey,
): Promise<Page> {
  const { page, complaints } = await borrowWindow();
  onTestFinished(() => expect(complaints).toEqual([]));
  await signIn(page, { url, key }, path);
  return page;
}

/** Signs in through the form and waits until the console is shown. */
export async function signInByForm(
  page: Page,
  { url, key }: Pick<RunningService, "url" | "key">,
  path = "/",
): Promise<void> {
  await page.goto(url + path);
  await page.getByLabel("API key").fill(key);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("navigation").first().waitFor();
}
