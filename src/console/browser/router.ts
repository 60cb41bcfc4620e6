import { useLayoutEffect } from "preact/hooks";

import { createStore, useStore } from "./store.ts";

export interface PageParameters {
  /** Of the one thing that the page is about, as it stands in its path; empty on pages of many. */
  readonly name: string;
}

/** Where the person is: the path and the query of the address. */
export interface Place {
  readonly path: string;
  readonly query: URLSearchParams;
}

const place = createStore<Place>(readPlace());

/** Told of each try to leave a page that must not be left; null where it may. */
let refused: (() => void) | null = null;

addEventListener("popstate", () => {
  if (refused === null) return place.set(readPlace());
  // The step back is taken already and cannot be stopped: this is one forward again, to where the person still is.
  history.pushState(null, "", addressOf(place.get()));
  refused();
});

export function usePlace(): Place {
  return useStore(place);
}

/**
 * Keeps the person on this page as long as there is something to tell them of each try to leave it. For what is lost with the page
 * and cannot be had again. Before the page is left for another, or loaded again, the browser asks.
 */
export function useHeldPlace(refuse: (() => void) | null): void {
  // Before the page is painted: from what people see, and tests, they act at once.
  useLayoutEffect(() => {
    if (refuse === null) return undefined;
    const ask = (event: BeforeUnloadEvent) => event.preventDefault();
    refused = refuse;
    addEventListener("beforeunload", ask);
    return () => {
      refused = null;
      removeEventListener("beforeunload", ask);
    };
  }, [refuse]);
}

/** Goes to an address of the console: a new entry of the history, at the top of the page. */
export function navigate(to: string): void {
  if (refused !== null) return refused();
  history.pushState(null, "", to);
  place.set(readPlace());
  scrollTo(0, 0);
}

/** Changes the query in place: filters and sorting are in the address, so that it can be passed on, but are no steps back. */
export function setQuery(change: (query: URLSearchParams) => void): void {
  const { path, query: before } = place.get();
  const query = new URLSearchParams(before);
  change(query);
  // One address for one choice, in whichever order it was made.
  query.sort();
  const changed = { path, query };
  try {
    history.replaceState(null, "", addressOf(changed));
  } catch {
    // Browsers refuse an address that changes too often; the page goes on without it.
  }
  place.set(changed);
}

/**
 * Follows links inside the console without loading the page again. What a person asks of the browser by holding a key, by the
 * middle button or by `target` stays the browser's.
 */
export function followLinks(event: MouseEvent): void {
  if (event.defaultPrevented || event.button !== 0) return;
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const link = event.target instanceof Element ? event.target.closest("a") : null;
  if (link === null || link.target !== "" || link.hasAttribute("download") || link.origin !== location.origin) return;
  // The way past the navigation, inside the page.
  if (link.hash !== "" && link.pathname === location.pathname) return;
  event.preventDefault();
  navigate(link.pathname + link.search);
}

/**
 * What stands for `:name` in a pattern such as `/robots/:robot`.
 *
 * @returns null where the path does not match, or is not a text.
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

function addressOf({ path, query }: Place): string {
  const text = query.toString();
  return text === "" ? path : `${path}?${text}`;
}

function readPlace(): Place {
  return { path: location.pathname, query: new URLSearchParams(location.search) };
}
