import { useEffect, useErrorBoundary, useLayoutEffect, useRef } from "preact/hooks";

import { Notice } from "../parts/notice.tsx";
import { followLinks, usePlace } from "../router.ts";
import { LostBanner } from "./lost-banner.tsx";
import { Bar, Side, Tabs } from "./navigation.tsx";
import { pageAt } from "./pages.tsx";

/** What stands around every page: the way past the navigation, the navigation, and the page. */
export function Shell() {
  const { path } = usePlace();
  const main = useRef<HTMLElement>(null);
  const lastPath = useRef(path);
  // Before the page is painted: a link that is followed by the browser loads all of it again.
  useLayoutEffect(() => {
    document.addEventListener("click", followLinks);
    return () => document.removeEventListener("click", followLinks);
  }, []);
  useEffect(() => {
    if (lastPath.current === path) return;
    lastPath.current = path;
    // Readers say the new page's heading, and the keyboard goes on from there.
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
        <LostBanner />
        <Guarded key={path} path={path} />
      </main>
      <Tabs />
    </div>
  );
}

/** A page that cannot be drawn (a bug, or an answer nobody expected) takes nothing else with it. */
function Guarded({ path }: { readonly path: string }) {
  const [error, reset] = useErrorBoundary();
  if (error === undefined) return pageAt(path);
  return (
    <>
      <h1 tabIndex={-1}>This page cannot be shown</h1>
      <Notice tone="blocked" title="The console failed to draw it.">
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
