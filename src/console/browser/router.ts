import { createStore, useStore } from "./store.ts";
import { mayLeave } from "./unsaved.ts";

export interface PageParameters {
  /** Name or id of the resource, from the path; empty on list pages. */
  readonly name: string;
}

/** Path and query of the current URL. */
export interface PageLocation {
  readonly path: string;
  readonly query: URLSearchParams;
}

const current = createStore<PageLocation>(readLocation());

addEventListener("popstate", () => {
  if (mayLeave()) return current.set(readLocation());
  // The browser has gone already, which cannot be prevented: the page comes again, as the entry after the one wanted.
  history.pushState(null, "", addressOf(current.get()));
});

document.addEventListener("click", followLinks);

export function useLocation(): PageLocation {
  return useStore(current);
}

/** Opens a URL of the console as a new history entry, scrolled to the top. */
export function navigate(to: string): void {
  history.pushState(null, "", to);
  current.set(readLocation());
  scrollTo(0, 0);
}

/** Changes the query without a new history entry. Filters and sorting are in the URL, so that it can be shared. */
export function setQuery(change: (query: URLSearchParams) => void): void {
  const { path, query: before } = current.get();
  const query = new URLSearchParams(before);
  change(query);
  // The same choices give the same URL, in whichever order they were made.
  query.sort();
  history.replaceState(null, "", addressOf({ path, query }));
  current.set({ path, query });
}

/** Sets one parameter of the query; an empty value removes it. */
export function setParameter(name: string, value: string): void {
  setQuery((query) => {
    if (value === "") query.delete(name);
    else query.set(name, value);
  });
}

/**
 * Follows links inside the console without reloading the page. Clicks with a modifier key or the middle button, and links with a
 * `target`, are left to the browser.
 */
function followLinks(event: MouseEvent): void {
  if (event.defaultPrevented || event.button !== 0) return;
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const link = event.target instanceof Element ? event.target.closest("a") : null;
  if (link === null || link.target !== "" || link.hasAttribute("download") || link.origin !== location.origin) return;
  // The skip link.
  if (link.hash !== "" && link.pathname === location.pathname) return;
  event.preventDefault();
  if (mayLeave()) navigate(link.pathname + link.search);
}

function addressOf({ path, query }: PageLocation): string {
  const text = query.toString();
  return text === "" ? path : `${path}?${text}`;
}

function readLocation(): PageLocation {
  return { path: location.pathname, query: new URLSearchParams(location.search) };
}

export function modelPath(slug: string): string {
  return `/models/${encodeURIComponent(slug)}`;
}
