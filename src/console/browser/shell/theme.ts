import { createStore } from "../store.ts";

/** As the computer says, until the person chooses. */
export type Theme = "light" | "dark";

const KEY = "robot-policy-theme";
const prefersDark = matchMedia("(prefers-color-scheme: dark)");

export const theme = createStore<Theme>(readTheme());

/** Puts the theme on the page and keeps it there. */
export function startTheme(): void {
  const show = () => {
    document.documentElement.dataset["theme"] = theme.get();
  };
  theme.subscribe(show);
  prefersDark.addEventListener("change", () => theme.set(readTheme()));
  show();
}

export function toggleTheme(): void {
  const chosen = theme.get() === "dark" ? "light" : "dark";
  theme.set(chosen);
  try {
    // What the computer says anyway is no choice: it may say otherwise tonight.
    if (chosen === systemTheme()) localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, chosen);
  } catch {
    // Storage may be forbidden; then the choice lasts as long as the page.
  }
}

function readTheme(): Theme {
  try {
    const chosen = localStorage.getItem(KEY);
    return chosen === "dark" || chosen === "light" ? chosen : systemTheme();
  } catch {
    return systemTheme();
  }
}

function systemTheme(): Theme {
  return prefersDark.matches ? "dark" : "light";
}
