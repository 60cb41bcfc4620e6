import { useEffect, useLayoutEffect, useRef } from "preact/hooks";

import { forgetAll, invalidateAll } from "../data/cache.ts";
import { startLive } from "../data/live.ts";
import type { Problem } from "../data/request.ts";
import type { SessionView } from "../data/session.ts";
import { readSession, session } from "../data/session.ts";
import { LoginApproval } from "../logins/approval.tsx";
import { SignIn } from "../logins/sign-in.tsx";
import { ProblemNotice } from "../parts/notice.tsx";
import { Toasts } from "../parts/toast.tsx";
import { usePlace } from "../router.ts";
import { useStore } from "../store.ts";
import { Shell } from "./shell.tsx";

/**
 * The whole page. Who is not signed in is asked for a key wherever they are, and is there again afterwards: the address stays.
 */
export function Application() {
  useEffect(() => void readSession(), []);
  return (
    <>
      <Content />
      <Toasts />
    </>
  );
}

function Content() {
  const current = useStore(session);
  const { path } = usePlace();
  switch (current.state) {
    case "unknown":
      return <p class="visually-hidden">Loading the console…</p>;
    case "failed":
      return (
        <main class="alone">
          <Unanswered problem={current.problem} />
        </main>
      );
    case "signed-out":
      return <SignIn isAgain={false} />;
    case "signed-in":
    case "ended": {
      const { state, view } = current;
      if (path !== "/login") return <SignedIn key={accessOf(view)} view={view} hasEnded={state === "ended"} />;
      return state === "ended" ? <SignIn isAgain /> : <LoginApproval />;
    }
  }
}

/** Who may see the same: only they find again what was on the page when the session ended. */
function accessOf({ active_organization: activeOrganization, credential }: SessionView): string {
  return JSON.stringify([activeOrganization.id, credential?.scopes ?? null]);
}

const RETRY_MS = 2000;

/** The page is there, the service is not. */
function Unanswered({ problem }: { readonly problem: Problem }) {
  useEffect(() => {
    const timer = setInterval(() => void readSession(), RETRY_MS);
    return () => clearInterval(timer);
  }, []);
  return (
    <div class="alone-sheet">
      <h1>Robot policy</h1>
      <ProblemNotice problem={problem} what="the console" retry={() => void readSession()} />
    </div>
  );
}

interface SignedInProps {
  readonly view: SessionView;
  readonly hasEnded: boolean;
}

/** The console itself. When the session ends it is out of sight, with forms as far as they are filled, until the person is back. */
function SignedIn({ view, hasEnded }: SignedInProps) {
  const sessionId = view.credential?.id ?? "";
  useEffect(() => (hasEnded ? undefined : startLive(sessionId)), [hasEnded, sessionId]);
  useEffect(() => (hasEnded ? invalidateAll : undefined), [hasEnded]);
  useEffect(() => forgetAll, []);
  useLayoutEffect(() => {
    if (!hasEnded) return undefined;
    const before = document.activeElement;
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, [hasEnded]);
  return (
    <>
      <div hidden={hasEnded}>
        <Shell />
      </div>
      {hasEnded ? <SignInAgain /> : null}
    </>
  );
}

/** Over everything, dialogs too, which a page out of sight would keep the keyboard in. Nothing but a key closes it. */
function SignInAgain() {
  const dialog = useRef<HTMLDialogElement>(null);
  const show = () => dialog.current?.showModal();
  useLayoutEffect(show, []);
  return (
    <dialog ref={dialog} class="sign-in-again" aria-label="Sign in again" onClose={show}>
      <SignIn isAgain />
    </dialog>
  );
}
