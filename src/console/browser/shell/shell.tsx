import { useEffect, useErrorBoundary, useRef } from "preact/hooks";

import { SECTIONS } from "../../sections.ts";
import { lastAnswerMs, type Liveness, liveness } from "../data/live.ts";
import { session, sessionView, signOut } from "../data/session.ts";
import { Notice } from "../parts/notice.tsx";
import { capitalized } from "../parts/text.ts";
import { showToast } from "../parts/toast.tsx";
import { useLocation } from "../router.ts";
import { useStore } from "../store.ts";
import { Keyboard } from "./keyboard.tsx";
import { pageAt } from "./pages.tsx";

/** The frame of every page: skip link, navigation and content. */
export function Shell() {
  const { path } = useLocation();
  const main = useRef<HTMLElement>(null);
  const lastPath = useRef(path);
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
      <Keyboard />
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
  if (state !== "waiting") return null;
  return (
    <div class="unreachable-banner" role="alert">
      <Notice tone="degraded" title="The service does not answer.">
        <p>The page shows the state at {since}. It tries again every second.</p>
      </Notice>
    </div>
  );
}

/** A column beside the page, from 900 px on; otherwise above it, with links that scroll sideways. */
function Side({ path }: { readonly path: string }) {
  useStore(session);
  const organization = sessionView()?.active_organization.name ?? "";
  const leave = async () => {
    const problem = await signOut();
    if (problem !== null) showToast(`Still signed in: ${problem.detail}`, "problem");
  };
  return (
    <header class="side">
      <b class="brand cut">{organization}</b>
      <nav aria-label="Console">
        {["", ...SECTIONS].map((section) => (
          <a key={section} href={`/${section}`} aria-current={section === path.split("/")[1] ? "page" : undefined}>
            {capitalized(section === "" ? "overview" : section)}
          </a>
        ))}
      </nav>
      <div class="side-foot">
        <LiveStatus />
        <button type="button" class="button button-quiet" onClick={leave}>
          Sign out
        </button>
      </div>
    </header>
  );
}

const LIVE_STATES: Readonly<Record<Liveness, string>> = {
  connecting: "Connecting…",
  live: "Live",
  waiting: "Reconnecting…",
};

function LiveStatus() {
  const state = useStore(liveness);
  return (
    <span class="live-status" data-state={state} role="status">
      {LIVE_STATES[state]}
    </span>
  );
}
