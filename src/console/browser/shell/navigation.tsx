import { useState } from "preact/hooks";

import { SECTIONS } from "../../sections.ts";
import { type Liveness, liveness } from "../data/live.ts";
import { session, sessionView, signOut } from "../data/session.ts";
import { Dialog } from "../parts/form/dialog.tsx";
import { Icon, type IconName } from "../parts/icon.tsx";
import { capitalized } from "../parts/text.ts";
import { showToast } from "../parts/toast.tsx";
import { useLocation } from "../router.ts";
import { useStore } from "../store.ts";
import { theme, toggleTheme } from "./theme.ts";

interface NavigationEntry {
  readonly path: string;
  readonly word: string;
  readonly icon: IconName;
}

const NAVIGATION: readonly NavigationEntry[] = [
  { path: "/", word: "Overview", icon: "overview" },
  ...SECTIONS.map((section) => ({ path: `/${section}`, word: capitalized(section), icon: section })),
];

/** Tabs on a phone; the last one opens the rest. */
const TABS = 4;

/** Side navigation, from 900 px on. */
export function Side() {
  return (
    <header class="side">
      <Brand />
      <nav aria-label="Console">
        <ul>
          <Entries entries={NAVIGATION} className="side-link" />
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
        <Entries entries={NAVIGATION.slice(0, TABS)} className="tab" />
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
      </ul>
      {isOpen ? (
        <Dialog title="More pages" close={() => setOpen(false)}>
          <ul class="more-list" onClick={() => setOpen(false)}>
            <Entries entries={rest} className="side-link" />
          </ul>
        </Dialog>
      ) : null}
    </nav>
  );
}

interface EntriesProps {
  readonly entries: readonly NavigationEntry[];
  readonly className: string;
}

function Entries({ entries, className }: EntriesProps) {
  const { path } = useLocation();
  return (
    <>
      {entries.map((entry) => (
        <li key={entry.path}>
          <a class={className} href={entry.path} aria-current={isCurrent(entry, path) ? "page" : undefined}>
            <Icon name={entry.icon} />
            {entry.word}
          </a>
        </li>
      ))}
    </>
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

const LIVE_STATES: Readonly<Record<Liveness, readonly [word: string, icon: IconName]>> = {
  connecting: ["Connecting…", "ring"],
  live: ["Live", "dot"],
  waiting: ["Reconnecting…", "degraded"],
  offline: ["Offline", "degraded"],
};

function LiveStatus() {
  const state = useStore(liveness);
  const [word, icon] = LIVE_STATES[state];
  return (
    <span class="live-status" data-state={state} role="status">
      <Icon name={icon} />
      {word}
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
