import { useLayoutEffect, useState } from "preact/hooks";

import { type Problem, sentence } from "../data/request.ts";
import { signIn } from "../data/session.ts";
import { TextField } from "../parts/form/fields.tsx";
import { Notice } from "../parts/notice.tsx";
import { useLocation } from "../router.ts";

/** Exchanges an API key for a session in an HttpOnly cookie. The page does not keep the key. */
export function SignIn({ isAgain }: { readonly isAgain: boolean }) {
  const { path } = useLocation();
  const [key, setKey] = useState("");
  const [problem, setProblem] = useState<Problem | null>(null);
  const [isBusy, setBusy] = useState(false);
  useLayoutEffect(() => {
    const { title } = document;
    document.title = "Sign in · Robot policy";
    return () => {
      document.title = title;
    };
  }, []);
  const submit = async (event: Event) => {
    event.preventDefault();
    // The field stays enabled while busy, so that it keeps the focus.
    if (isBusy || key.trim() === "") return;
    setBusy(true);
    const refused = await signIn(key.trim());
    setProblem(refused);
    setBusy(false);
  };
  const change = (changed: string) => {
    setKey(changed);
    setProblem(null);
  };
  return (
    <form class="alone-sheet" onSubmit={submit}>
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
      <TextField
        label="API key"
        value={key}
        change={change}
        error={problem === null ? undefined : messageOf(problem)}
        type="password"
        input={{ name: "api_key", autofocus: true, required: true }}
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
