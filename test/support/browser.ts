/** A real browser: Debian's chromium, driven by playwright-core, which brings none along. One for all test files of a worker. */
import { existsSync } from "node:fs";

import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { chromium } from "playwright-core";
import { onTestFinished } from "vitest";

import { BUILT_CONSOLE } from "./programs/programs-built.ts";
import { PATIENCE_MS } from "./run/patience.ts";
import type { RunningService, ServiceOptions } from "./service/service.ts";
import { startService } from "./service/service.ts";

/** Path of chromium; null where it is not installed. The headless shell takes less than half of the processor for the same pages. */
const CHROMIUM =
  ["/usr/bin/chromium-headless-shell", "/usr/bin/chromium", "/usr/bin/chromium-browser"].find((path) =>
    existsSync(path),
  ) ?? null;

/**
 * Whether tests with a browser are left out: there is none on this machine. CI never leaves them out, it fails.
 *
 * Debian: `apt-get install chromium-headless-shell`, or `chromium`.
 */
export const WITHOUT_BROWSER = CHROMIUM === null && (process.env["CI"] ?? "") === "";

/** To be put into the name of tests that are left out. */
export const BROWSER_NEEDED = WITHOUT_BROWSER ? " (left out: chromium is not installed)" : "";

const ARGUMENTS = [
  // What a page asks of other hosts fails at once, and a test sees it; so does what chromium asks its maker.
  "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost, EXCLUDE *.localhost",
  "--disable-gpu",
  // A window that is lent keeps its process, and with it the scripts that are compiled.
  "--process-per-site",
];

const VIEWPORT = { width: 1280, height: 800 };
const COLOR_SCHEME = "light";

/** What a failure tells of a page, at most. */
const TOLD = { characters: 4000, consoleLines: 50 } as const;

/** A window of the browser, and everything that went wrong in it. */
export interface Window extends AsyncDisposable {
  readonly page: Page;
  /** Broken rules of the Content-Security-Policy, errors of scripts, and requests to anyone but the service. */
  readonly complaints: string[];
  /** What the pages wrote to their console. */
  readonly consoleLines: string[];
}

let launched: Promise<Browser> | null = null;
/** The worker's window for tests that need none of their own, unless it is lent. */
let kept: Window | null = null;

/** The worker's browser; it ends with the worker. */
async function browserOfWorker(): Promise<Browser> {
  const running = await launched;
  if (running?.isConnected() !== true) launched = launch();
  const browser = await launched;
  if (browser === null) throw new Error("The browser was not launched");
  return browser;
}

function launch(): Promise<Browser> {
  if (CHROMIUM === null) throw new Error("chromium is not installed: apt-get install chromium-headless-shell");
  // Vitest ends its workers by SIGTERM. On exit playwright ends the browser and removes its profile.
  process.once("SIGTERM", () => process.exit());
  return chromium.launch({ executablePath: CHROMIUM, args: ARGUMENTS, handleSIGTERM: false });
}

/** A new window that knows nothing of the others, until the test ends. When the test fails, what the window shows is printed. */
export async function openWindow(options?: BrowserContextOptions): Promise<Window> {
  const window = await openLastingWindow(options);
  onTestFinished(() => window[Symbol.asyncDispose]());
  tellOnFailure(window);
  return window;
}

/**
 * The worker's window until the test ends, signed out and with nothing stored: half as expensive as one of its own. For tests that change
 * nothing in it but what it shows, its size, its theme, whether it has a network, and the routes of its page.
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
    // A test that failed may leave a page that nobody can use any more.
    await window[Symbol.asyncDispose]();
  }
}

/** When the current test fails, what the window shows is printed. */
export function tellOnFailure({ page, consoleLines }: Window): void {
  onTestFinished(async ({ task }) => {
    if (task.result?.state !== "fail") return;
    for (const each of page.context().pages()) {
      const text = await each.evaluate<string>("document.body.innerText").catch(String);
      console.error(`The page ${each.url()} shows:\n${text.slice(0, TOLD.characters)}`);
    }
    const lines = consoleLines.slice(-TOLD.consoleLines).join("\n").slice(-TOLD.characters);
    if (lines !== "") console.error(`Its console:\n${lines}`);
  });
}

/** A window for several tests; whoever opens it closes it. */
export async function openLastingWindow(options: BrowserContextOptions = {}): Promise<Window> {
  const browser = await browserOfWorker();
  const context = await browser.newContext({
    viewport: VIEWPORT,
    colorScheme: COLOR_SCHEME,
    // What moves is never quite where a test looks.
    reducedMotion: "reduce",
    // Whatever depends on them says which it takes.
    locale: "en-GB",
    timezoneId: "Europe/Berlin",
    ...options,
  });
  context.setDefaultTimeout(PATIENCE_MS / 2);
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
    // Of an answer that is no success: a test looks at what the page makes of it.
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

/** Counts what comes over the wire from now on, in bytes and headers too, until somebody asks. */
export function countReceived(page: Page): () => Promise<number> {
  const sizes: Promise<number>[] = [];
  page.on("requestfinished", (request) => {
    const size = request
      .sizes()
      .then(({ responseBodySize, responseHeadersSize }) => responseBodySize + responseHeadersSize);
    // The page may be gone before its last answers are counted.
    sizes.push(size.catch(() => 0));
  });
  return async () => (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}

/** The real service with the console of the sources as they are now. */
export function startConsole(options: ServiceOptions = {}): Promise<RunningService> {
  return startService({ ...options, configuration: { consoleFolder: BUILT_CONSOLE, ...options.configuration } });
}

/** Resolves once the page hears what happens at the service. */
export async function untilLive(page: Page): Promise<void> {
  await page.locator(".live-status:visible").filter({ hasText: "Live" }).waitFor();
}

/** A page of somebody who has signed in before; waits until the console is there. */
export async function signIn(page: Page, { url, key }: Pick<RunningService, "url" | "key">, path = "/"): Promise<void> {
  const answer = await page.context().request.post(`${url}/console/session`, {
    headers: { "x-robot-policy-console": "1" },
    data: { api_key: key },
  });
  if (!answer.ok()) throw new Error(`Cannot sign in: ${answer.status()} ${await answer.text()}`);
  await page.goto(url + path);
  // By its tag: to find what has a role, the browser looks at every element of the page.
  await page.locator("nav:visible").first().waitFor();
}

/** Signs the person before the page in with a key, as a person would, and waits until the console is there. */
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
