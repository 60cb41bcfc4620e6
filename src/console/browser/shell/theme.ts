import { createStore } from "../store.ts";

/** Follows the system until the person chooses. */
export type Theme = "light" | "dark";

const KEY = "robot-policy-theme";
const prefersDark = matchMedia("(prefers-color-scheme: dark)");

export const theme = createStore<Theme>(readTheme());

/** Applies the theme, and again when it changes. */
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
    // Choosing the system's theme means to follow the system again.
    if (chosen === systemTheme()) localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, chosen);
  } catch {
    // Without storage the choice lasts until the page is closed.
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
