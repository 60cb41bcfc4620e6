import { useEffect, useErrorBoundary, useLayoutEffect, useRef } from "preact/hooks";

import { Notice } from "../parts/notice.tsx";
import { followLinks, useLocation } from "../router.ts";
import { UnreachableBanner } from "./unreachable-banner.tsx";
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
