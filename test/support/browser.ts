/** A real browser: Debian's chromium, driven by playwright-core, which brings none along. */
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { chromium } from "playwright-core";

import { buildConsole } from "../../scripts/build-console.ts";
import type { RunningService, ServiceOptions } from "./service.ts";
import { startService } from "./service.ts";

/** Path of chromium; null where it is not installed. */
const CHROMIUM = ["/usr/bin/chromium", "/usr/bin/chromium-browser"].find((path) => existsSync(path)) ?? null;

/**
 * Whether tests with a browser are left out: there is none on this machine. CI never leaves them out, it fails.
 *
 * Debian: `apt-get install chromium`.
 */
export const WITHOUT_BROWSER = CHROMIUM === null && (process.env["CI"] ?? "") === "";

/** To be put into the name of tests that are left out. */
export const BROWSER_NEEDED = WITHOUT_BROWSER ? " (left out: chromium is not installed)" : "";

const ARGUMENTS = [
  // What a page asks of other hosts fails at once, and a test sees it; so does what chromium asks its maker.
  "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost, EXCLUDE *.localhost",
  "--disable-gpu",
];

export interface TestBrowser extends AsyncDisposable {
  /** A new window that knows nothing of the others. */
  open(options?: BrowserContextOptions): Promise<Window>;
}

/** A window of the browser, and everything that went wrong in it. */
export interface Window extends AsyncDisposable {
  readonly page: Page;
  /** Broken rules of the Content-Security-Policy, errors of scripts, and requests to anyone but the service. */
  readonly complaints: readonly string[];
  /** Bytes that came over the wire so far, headers too. */
  received_bytes(): Promise<number>;
}

export async function startBrowser(): Promise<TestBrowser> {
  if (CHROMIUM === null) throw new Error("chromium is not installed: apt-get install chromium");
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ARGUMENTS });
  return { open: (options) => openWindow(browser, options), [Symbol.asyncDispose]: () => browser.close() };
}

async function openWindow(browser: Browser, options: BrowserContextOptions = {}): Promise<Window> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  // Whatever hangs is to fail before the test does, and say where.
  context.setDefaultTimeout(15_000);
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on("pageerror", (error) => complaints.push(`script: ${error.message}`));
  page.on("console", (message) => {
    const text = message.text();
    // Of an answer that is no success: a test looks at what the page makes of it.
    const isRefusal = text.startsWith("Failed to load resource: the server responded");
    if ((message.type() === "error" || message.type() === "warning") && !isRefusal) complaints.push(text);
  });
  page.on("request", (request) => {
    const url = new URL(request.url());
    const isOwn = ["127.0.0.1", "localhost"].includes(url.hostname) || url.hostname.endsWith(".localhost");
    if (url.protocol !== "data:" && !isOwn) complaints.push(`request to ${url.href}`);
  });
  const sizes: Promise<number>[] = [];
  page.on("requestfinished", (request) => {
    const size = request
      .sizes()
      .then(({ responseBodySize, responseHeadersSize }) => responseBodySize + responseHeadersSize);
    // The page may be gone before its last answers are counted.
    sizes.push(size.catch(() => 0));
  });
  return {
    page,
    complaints,
    received_bytes: async () => (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0),
    [Symbol.asyncDispose]: () => context.close(),
  };
}

/** The real service with the console built from its sources as they are now. */
export async function startConsole(options: ServiceOptions = {}): Promise<RunningService> {
  const folder = await mkdtemp(join(tmpdir(), "console-"));
  await buildConsole(folder);
  const running = await startService({
    ...options,
    configuration: { console_folder: folder, ...options.configuration },
  });
  return {
    ...running,
    async [Symbol.asyncDispose]() {
      await running[Symbol.asyncDispose]();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Resolves once the page hears what happens at the service. */
export async function untilLive(page: Page): Promise<void> {
  await page.locator(".live-word:visible").filter({ hasText: "Live" }).waitFor();
}

/** Signs the person before the page in with a key, as a person would, and waits until the console is there. */
export async function signIn(page: Page, { url, key }: Pick<RunningService, "url" | "key">, path = "/"): Promise<void> {
  await page.goto(url + path);
  await page.getByLabel("API key").fill(key);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("navigation").first().waitFor();
}
