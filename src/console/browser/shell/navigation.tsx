import { useState } from "preact/hooks";

import type { Liveness } from "../data/liveness.ts";
import { liveness } from "../data/liveness.ts";
import { session, sessionView, signOut } from "../data/session.ts";
import { Dialog } from "../parts/form/dialog.tsx";
import type { IconName } from "../parts/icon.tsx";
import { Icon } from "../parts/icon.tsx";
import { showToast } from "../parts/toast.tsx";
import { useLocation } from "../router.ts";
import { useStore } from "../store.ts";
import type { NavigationEntry } from "./pages.tsx";
import { NAVIGATION } from "./pages.tsx";
import { theme, toggleTheme } from "./theme.ts";

/** Tabs on a phone; the last one opens the rest. */
const TABS = 4;

/** Side navigation, from 900 px on. */
export function Side() {
  return (
    <header class="side">
      <Brand />
      <nav aria-label="Console">
        <ul>
          {NAVIGATION.map((entry) => (
            <li key={entry.path}>
              <Entry entry={entry} className="side-link" />
            </li>
          ))}
        </ul>
      </nav>
      <div class="side-foot">
        <LiveStatus />
        <div class="side-tools">
          <Tools hasWords />
        </div>
      </div>
    </header>
  );
}

/** Top bar on a phone; `Tabs` is the navigation below. */
export function Bar() {
  return (
    <header class="bar">
      <Brand />
      <div class="bar-tools">
        <LiveStatus />
        <Tools hasWords={false} />
      </div>
    </header>
  );
}

export function Tabs() {
  const [isOpen, setOpen] = useState(false);
  const { path } = useLocation();
  const rest = NAVIGATION.slice(TABS);
  const isInRest = rest.some((entry) => isCurrent(entry, path));
  return (
    <nav class="tabs" aria-label="Console">
      <ul>
        {NAVIGATION.slice(0, TABS).map((entry) => (
          <li key={entry.path}>
            <Entry entry={entry} className="tab" />
          </li>
        ))}
        {rest.length === 0 ? null : (
          <li>
            <button
              type="button"
              class="tab"
              aria-haspopup="dialog"
              aria-current={isInRest ? "true" : undefined}
              onClick={() => setOpen(true)}
            >
              <Icon name="more" />
              More
            </button>
          </li>
        )}
      </ul>
      {isOpen ? (
        <Dialog title="More pages" close={() => setOpen(false)}>
          <ul class="more-list" onClick={() => setOpen(false)}>
            {rest.map((entry) => (
              <li key={entry.path}>
                <Entry entry={entry} className="side-link" />
              </li>
            ))}
          </ul>
        </Dialog>
      ) : null}
    </nav>
  );
}

function Entry({ entry, className }: { readonly entry: NavigationEntry; readonly className: string }) {
  const { path } = useLocation();
  return (
    <a class={className} href={entry.path} aria-current={isCurrent(entry, path) ? "page" : undefined}>
      <Icon name={entry.icon} />
      {entry.word}
    </a>
  );
}

function isCurrent(entry: NavigationEntry, path: string): boolean {
  return path === entry.path || (entry.path !== "/" && path.startsWith(`${entry.path}/`));
}

function Brand() {
  useStore(session);
  const organization = sessionView()?.active_organization.name ?? "";
  return (
    <div class="brand">
      <span class="brand-organization cut">{organization}</span>
      <span class="brand-service">Robot policy service</span>
    </div>
  );
}

const LIVE_WORDS: Readonly<Record<Liveness, string>> = {
  connecting: "Connecting…",
  live: "Live",
  waiting: "Reconnecting…",
  offline: "Offline",
};

const LIVE_ICONS: Readonly<Record<Liveness, IconName>> = {
  connecting: "ring",
  live: "dot",
  waiting: "degraded",
  offline: "degraded",
};

function LiveStatus() {
  const state = useStore(liveness);
  return (
    <span class="live-status" data-state={state} role="status">
      <Icon name={LIVE_ICONS[state]} />
      {LIVE_WORDS[state]}
    </span>
  );
}

function Tools({ hasWords }: { readonly hasWords: boolean }) {
  const other = useStore(theme) === "dark" ? "light" : "dark";
  const leave = async () => {
    const problem = await signOut();
    if (problem !== null) showToast(`Still signed in: ${problem.detail}`, "problem");
  };
  return (
    <>
      <button
        type="button"
        class="button button-quiet"
        aria-label={`Use the ${other} theme`}
        title={`Use the ${other} theme`}
        onClick={toggleTheme}
      >
        <Icon name={other} />
      </button>
      <button type="button" class="button button-quiet" aria-label="Sign out" title="Sign out" onClick={leave}>
        <Icon name="leave" />
        {hasWords ? "Sign out" : null}
      </button>
    </>
  );
}
