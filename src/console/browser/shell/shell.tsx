import { useEffect, useErrorBoundary, useLayoutEffect, useRef } from "preact/hooks";

import { SECTIONS } from "../../sections.ts";
import { lastAnswerMs, type Liveness, liveness } from "../data/live.ts";
import { session, sessionView, signOut } from "../data/session.ts";
import { Icon, type IconName } from "../parts/icon.tsx";
import { Notice } from "../parts/notice.tsx";
import { capitalized } from "../parts/text.ts";
import { showToast } from "../parts/toast.tsx";
import { followLinks, useLocation } from "../router.ts";
import { useStore } from "../store.ts";
import { Keyboard } from "./keyboard.tsx";
import { pageAt } from "./pages.tsx";
import { theme, toggleTheme } from "./theme.ts";

/** The frame of every page: skip link, navigation and content. */
export function Shell() {
  const { path } = useLocation();
  const main = useRef<HTMLElement>(null);
  const lastPath = useRef(path);
  // Before the first paint: without the listener, a click on a link would reload the whole page.
  useLayoutEffect(() => {
    document.addEventListener("click", followLinks);
    return () => document.removeEventListener("click", followLinks);
  }, []);
  useEffect(() => {
    if (lastPath.current === path) return;
    lastPath.current = path;
    // Screen readers announce the new heading, and the keyboard continues from there.
    main.current?.querySelector("h1")?.focus({ preventScroll: true });
  }, [path]);
  return (
    <div class="shell">
      <a class="skip" href="#main">
        Skip to the page
      </a>
      <Side path={path} />
      <main ref={main} class="main" id="main" tabIndex={-1}>
        <UnreachableBanner />
        <Guarded key={path} path={path} />
      </main>
    </div>
  );
}

/** An error while rendering a page (a bug, or an unexpected answer) leaves the rest of the console working. */
function Guarded({ path }: { readonly path: string }) {
  const [error, reset] = useErrorBoundary();
  if (error === undefined) return pageAt(path);
  return (
    <>
      <h1 tabIndex={-1}>This page cannot be shown</h1>
      <Notice tone="blocked" title="The console failed to render it.">
        <p>{error instanceof Error ? error.message : String(error)}</p>
        <p class="buttons">
          <button type="button" class="button" onClick={reset}>
            Try again
          </button>
        </p>
      </Notice>
    </>
  );
}

const TIME = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });

/** Above every page while the service is unreachable and the page shows old data. */
function UnreachableBanner() {
  const state = useStore(liveness);
  const since = TIME.format(useStore(lastAnswerMs));
  if (state !== "waiting" && state !== "offline") return null;
  const title = state === "offline" ? "This computer is offline" : "The service does not answer";
  return (
    <div class="unreachable-banner" role="alert">
      <Notice tone="degraded" title={`${title}.`}>
        <p>The page shows the state at {since}. It tries again every second.</p>
      </Notice>
    </div>
  );
}

interface NavigationEntry {
  readonly path: string;
  readonly word: string;
  readonly icon: IconName;
}

const NAVIGATION: readonly NavigationEntry[] = [
  { path: "/", word: "Overview", icon: "overview" },
  ...SECTIONS.map((section) => ({ path: `/${section}`, word: capitalized(section), icon: section })),
];

/** A column beside the page, from 900 px on; otherwise above it, with links that scroll sideways. */
function Side({ path }: { readonly path: string }) {
  useStore(session);
  const organization = sessionView()?.active_organization.name ?? "";
  return (
    <header class="side">
      <div class="brand">
        <span class="brand-organization cut">{organization}</span>
        <span class="brand-service">Robot policy service</span>
      </div>
      <nav aria-label="Console">
        <ul>
          {NAVIGATION.map((entry) => (
            <li key={entry.path}>
              <a class="side-link" href={entry.path} aria-current={isCurrent(entry, path) ? "page" : undefined}>
                <Icon name={entry.icon} />
                {entry.word}
              </a>
            </li>
          ))}
        </ul>
      </nav>
      <div class="side-foot">
        <LiveStatus />
        <Tools />
      </div>
    </header>
  );
}

function isCurrent(entry: NavigationEntry, path: string): boolean {
  return path === entry.path || (entry.path !== "/" && path.startsWith(`${entry.path}/`));
}

const LIVE_STATES: Readonly<Record<Liveness, readonly [word: string, icon: IconName]>> = {
  connecting: ["Connecting…", "ring"],
  live: ["Live", "dot"],
  waiting: ["Reconnecting…", "degraded"],
  offline: ["Offline", "degraded"],
};

function LiveStatus() {
  const state = useStore(liveness);
  const [word, icon] = LIVE_STATES[state];
  return (
    <span class="live-status" data-state={state} role="status">
      <Icon name={icon} />
      {word}
    </span>
  );
}

function Tools() {
  const other = useStore(theme) === "dark" ? "light" : "dark";
  const themeLabel = `Use the ${other} theme`;
  const leave = async () => {
    const problem = await signOut();
    if (problem !== null) showToast(`Still signed in: ${problem.detail}`, "problem");
  };
  return (
    <div class="side-tools">
      <button
        type="button"
        class="button button-quiet"
        aria-label={themeLabel}
        title={themeLabel}
        onClick={toggleTheme}
      >
        <Icon name={other} />
      </button>
      <Keyboard />
      <button type="button" class="button button-quiet" onClick={leave}>
        <Icon name="leave" />
        Sign out
      </button>
    </div>
  );
}
