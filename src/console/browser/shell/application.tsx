import { useEffect, useLayoutEffect, useRef } from "preact/hooks";

import { forgetAll, retryAll } from "../data/query.ts";
import { liveness, startLive } from "../data/live.ts";
import type { Problem } from "../data/request.ts";
import { readSession, session, type SessionView } from "../data/session.ts";
import { LoginApproval } from "../logins/approval.tsx";
import { SignIn } from "../logins/sign-in.tsx";
import { ProblemNotice } from "../parts/notice.tsx";
import { Toasts } from "../parts/toast.tsx";
import { useLocation } from "../router.ts";
import { useStore } from "../store.ts";
import { Shell } from "./shell.tsx";

/** The whole page. Signing in keeps the URL, so the person returns to the same page. */
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
  const { path } = useLocation();
  switch (current.state) {
    case "unknown":
      return <p class="visually-hidden">Loading the console…</p>;
    case "failed":
      return (
        <main class="alone">
          <ServiceUnreachable problem={current.problem} />
        </main>
      );
    case "signed-out":
      return (
        <main class="alone">
          <SignIn isAgain={false} />
        </main>
      );
    case "signed-in":
    case "ended": {
      const { state, view } = current;
      if (path !== "/login") return <SignedIn key={accessOf(view)} hasEnded={state === "ended"} />;
      return <main class="alone">{state === "ended" ? <SignIn isAgain /> : <LoginApproval />}</main>;
    }
  }
}

/** Equal for sessions with the same access: only such a session restores the page after signing in again. */
function accessOf({ active_organization: activeOrganization, credential }: SessionView): string {
  return JSON.stringify([activeOrganization.id, credential?.scopes ?? null]);
}

const RETRY_MS = 2000;

function ServiceUnreachable({ problem }: { readonly problem: Problem }) {
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

/** The console. When the session ends it is covered, and keeps filled-in forms until the person signs in again. */
function SignedIn({ hasEnded }: { readonly hasEnded: boolean }) {
  useEffect(() => (hasEnded ? undefined : startLive()), [hasEnded]);
  useEffect(() => (hasEnded ? retryAll : undefined), [hasEnded]);
  useEffect(() => forgetAll, []);
  // What the pages ask for must be newer than the versions that later ones are compared with.
  const isStarted = useRef(false);
  isStarted.current ||= useStore(liveness) !== "connecting";
  return (
    <>
      {isStarted.current ? <Shell /> : null}
      {hasEnded ? <SignInAgain /> : null}
    </>
  );
}

/**
 * A modal dialog that covers everything, including other dialogs. Only signing in closes it: the browser then returns the focus to where
 * it was. Browsers without `closedby` close it on Escape; there it is shown again.
 */
function SignInAgain() {
  const dialog = useRef<HTMLDialogElement>(null);
  const show = () => dialog.current?.showModal();
  useLayoutEffect(() => {
    const opened = dialog.current;
    opened?.showModal();
    return () => opened?.close();
  }, []);
  return (
    <dialog ref={dialog} class="alone sign-in-again" aria-label="Sign in again" closedby="none" onClose={show}>
      <SignIn isAgain />
    </dialog>
  );
}
