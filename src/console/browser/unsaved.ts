import { useLayoutEffect } from "preact/hooks";

/** How many parts of the page hold what would be lost with it. */
let unsaved = 0;

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

export function hasUnsaved(): boolean {
  return unsaved > 0;
}

export function mayLeave(): boolean {
  return !hasUnsaved() || confirm("Leave this page? What is not saved is lost.");
}
