import { useLayoutEffect } from "preact/hooks";

import { createStore, useStore } from "./store.ts";

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

/** How many parts of the page hold what would be lost with it. */
let unsaved = 0;

addEventListener("popstate", () => {
  if (mayLeave()) return current.set(readLocation());
  // The browser has gone already, which cannot be prevented: the page comes again, as the entry after the one wanted.
  history.pushState(null, "", addressOf(current.get()));
});

export function useLocation(): PageLocation {
  return useStore(current);
}

/** Has the browser ask before what is unsaved is lost: by a link, by Back, by closing the tab or loading it again. */
export function useUnsaved(isUnsaved: boolean): void {
  // A layout effect runs before the paint, so it is active as soon as the page is visible.
  useLayoutEffect(() => {
    if (!isUnsaved) return undefined;
    const ask = (event: BeforeUnloadEvent) => event.preventDefault();
    addEventListener("beforeunload", ask);
    unsaved += 1;
    return () => {
      removeEventListener("beforeunload", ask);
      unsaved -= 1;
    };
  }, [isUnsaved]);
}

function mayLeave(): boolean {
  return unsaved === 0 || confirm("Leave this page? What is not saved is lost.");
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
  const changed = { path, query };
  try {
    history.replaceState(null, "", addressOf(changed));
  } catch {
    // Browsers limit how often the URL may change; the page itself changes all the same.
  }
  current.set(changed);
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
export function followLinks(event: MouseEvent): void {
  if (event.defaultPrevented || event.button !== 0) return;
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const link = event.target instanceof Element ? event.target.closest("a") : null;
  if (link === null || link.target !== "" || link.hasAttribute("download") || link.origin !== location.origin) return;
  // The skip link.
  if (link.hash !== "" && link.pathname === location.pathname) return;
  event.preventDefault();
  if (mayLeave()) navigate(link.pathname + link.search);
}

/**
 * The values of `:name` parameters in a pattern such as `/robots/:robot`.
 *
 * @returns null if the path does not match or is not valid percent-encoding.
 */
export function matchPath(pattern: string, path: string): Readonly<Record<string, string>> | null {
  const wanted = pattern.split("/");
  const given = path.replace(/(?<=.)\/$/, "").split("/");
  if (wanted.length !== given.length) return null;
  const parameters: Record<string, string> = {};
  for (const [index, part] of wanted.entries()) {
    const text = decode(given[index] ?? "");
    if (text === null) return null;
    if (part.startsWith(":") && text !== "") parameters[part.slice(1)] = text;
    else if (part !== text) return null;
  }
  return parameters;
}

function decode(part: string): string | null {
  try {
    return decodeURIComponent(part);
  } catch {
    return null;
  }
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
