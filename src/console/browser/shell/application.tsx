import { useEffect, useRef } from "preact/hooks";

import { forgetAll } from "../data/query.ts";
import { liveness, startLive } from "../data/live.ts";
import type { Problem } from "../data/request.ts";
import { readSession, session, type SessionView } from "../data/session.ts";
import { LoginApproval } from "../logins/approval.tsx";
import { SignIn } from "../logins/sign-in.tsx";
import { ChangeDialog } from "../parts/form/change.tsx";
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
          <SignIn isAgain={current.hasEnded} />
        </main>
      );
    case "signed-in":
      if (path !== "/login") return <SignedIn key={accessOf(current.view)} />;
      return (
        <main class="alone">
          <LoginApproval />
        </main>
      );
  }
}

/** Equal for sessions with the same access: nothing of another one stays on the page. */
function accessOf({ active_organization: organization, credential }: SessionView): string {
  return JSON.stringify([organization.id, credential?.scopes ?? null]);
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

function SignedIn() {
  useEffect(startLive, []);
  useEffect(() => forgetAll, []);
  // What the pages ask for must be newer than the versions that later ones are compared with.
  const isStarted = useRef(false);
  isStarted.current ||= useStore(liveness) !== "connecting";
  return (
    <>
      {isStarted.current ? <Shell /> : null}
      <ChangeDialog />
    </>
  );
}
