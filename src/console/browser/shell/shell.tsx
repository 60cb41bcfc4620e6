import { useEffect, useErrorBoundary, useLayoutEffect, useRef } from "preact/hooks";

import { lastAnswerMs, liveness } from "../data/live.ts";
import { Notice } from "../parts/notice.tsx";
import { followLinks, useLocation } from "../router.ts";
import { useStore } from "../store.ts";
import { Bar, Side, Tabs } from "./navigation.tsx";
import { pageAt } from "./pages.tsx";

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
      <Bar />
      <Side />
      <main ref={main} class="main" id="main" tabIndex={-1}>
        <UnreachableBanner />
        <Guarded key={path} path={path} />
      </main>
      <Tabs />
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
