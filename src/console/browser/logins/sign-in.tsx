import type { TargetedSubmitEvent } from "preact";
import { useLayoutEffect, useState } from "preact/hooks";

import { type Problem, sentence } from "../data/request.ts";
import { signIn } from "../data/session.ts";
import { entered, Field } from "../parts/form/fields.tsx";
import { Notice } from "../parts/notice.tsx";
import { useLocation } from "../router.ts";

/** Exchanges an API key for a session in an HttpOnly cookie. The page does not keep the key. */
export function SignIn({ isAgain }: { readonly isAgain: boolean }) {
  const { path } = useLocation();
  const [problem, setProblem] = useState<Problem | null>(null);
  const [isBusy, setBusy] = useState(false);
  useLayoutEffect(() => {
    const { title } = document;
    document.title = "Sign in · Robot policy";
    return () => {
      document.title = title;
    };
  }, []);
  const submit = async (event: TargetedSubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    const key = entered(new FormData(event.currentTarget), "api_key");
    // The field stays enabled while busy, so that it keeps the focus.
    if (isBusy || key === "") return;
    setBusy(true);
    setProblem(await signIn(key));
    setBusy(false);
  };
  return (
    <form class="alone-sheet" onSubmit={(event) => void submit(event)} onInput={() => setProblem(null)}>
      <h1>Sign in</h1>
      <p class="muted">Robot policy service at {location.host}</p>
      {isAgain ? (
        <Notice tone="waiting" title="Your session has ended.">
          <p>Sign in again to go on where you were.</p>
        </Notice>
      ) : null}
      {path === "/login" ? (
        <p>A command line on your computer asks to be signed in. Sign in here first, then approve it.</p>
      ) : null}
      <Field
        name="api_key"
        kind="password"
        label="API key"
        error={problem === null ? undefined : messageOf(problem)}
        input={{ autofocus: true, required: true }}
      />
      <button type="submit" class="button button-main" aria-disabled={isBusy}>
        {isBusy ? "Signing in…" : "Sign in"}
      </button>
      <details>
        <summary>Where do I get a key?</summary>
        <p>
          From whoever runs the service. On its computer, <code>robot-policy-service keys create</code> creates one; the
          first was written to the file of <code>bootstrap_key_file</code>. Somebody who is signed in can create one on
          the Keys page.
        </p>
      </details>
      <p class="field-hint">The key is not kept in the browser.</p>
    </form>
  );
}

function messageOf(problem: Problem): string {
  if (problem.kind === "invalid") return "This is not an API key.";
  return sentence(problem.detail);
}
