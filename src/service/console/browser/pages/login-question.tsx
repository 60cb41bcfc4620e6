import type { Problem } from "../data/request.ts";
import { session } from "../data/session.ts";
import { Notice, ProblemNotice } from "../parts/notice.tsx";
import { Facts } from "../parts/page.tsx";
import { RelativeTime } from "../parts/relative-time.tsx";
import { useStore } from "../store.ts";
import { isListening, originOf } from "./login-callback.ts";

/** What the service tells of a login that waits for a person. */
export interface WaitingLogin {
  readonly state: string;
  readonly callback_url: string;
  readonly created_at: string;
  readonly expires_at: string;
}

interface QuestionProps {
  readonly login: WaitingLogin;
  readonly is_busy: boolean;
  readonly problem: Problem | null;
  readonly exchange: string;
  decide(decision: "approve" | "deny"): void;
}

/** Who asks, for what, and where the answer goes; and the two answers. */
export function Question({ login, is_busy, problem, exchange, decide }: QuestionProps) {
  const current = useStore(session);
  if (login.state !== "pending") return <DecidedBefore state={login.state} />;
  const organization = current.state === "signed-in" ? current.view.active_organization.name : "";
  const is_restricted = current.state === "signed-in" && (current.view.credential?.scopes ?? null) !== null;
  return (
    <>
      <h1>Let a command line in?</h1>
      <p>
        A program asks to act for you in <b>{organization}</b>: it will be able to do everything that the console can.
        Approve only if you have just run <code>robot-policy login</code> yourself.
      </p>
      <Facts
        facts={[
          ["Its answer goes to", <Receiver callback_url={login.callback_url} />],
          ["Asked", <RelativeTime at={login.created_at} />],
          ["Expires", <RelativeTime at={login.expires_at} />],
          ["Login", <span class="mono">{exchange}</span>],
        ]}
      />
      {is_restricted ? (
        <Notice tone="blocked" title="Your key cannot approve this.">
          <p>
            It is restricted to some scopes, and a command line may do everything. Sign in with an unrestricted key.
          </p>
        </Notice>
      ) : null}
      {problem === null ? null : <ProblemNotice problem={problem} what="the answer" />}
      <div class="buttons">
        <button
          type="button"
          class="button button-main"
          disabled={is_busy || is_restricted}
          onClick={() => decide("approve")}
        >
          Approve
        </button>
        <button type="button" class="button" disabled={is_busy || is_restricted} onClick={() => decide("deny")}>
          Deny
        </button>
      </div>
    </>
  );
}

function Receiver({ callback_url }: Pick<WaitingLogin, "callback_url">) {
  if (!isListening(callback_url)) return <>The program that asked, on whichever computer it runs</>;
  return (
    <>
      A program on this computer, <span class="mono">{originOf(callback_url)}</span>
    </>
  );
}

function DecidedBefore({ state }: { readonly state: string }) {
  return (
    <>
      <h1>Nothing to approve</h1>
      <p>
        {state === "denied" ? "This sign-in was denied." : "This sign-in was approved already."} To sign in again, run{" "}
        <code>robot-policy login</code>.
      </p>
      <p>
        <a href="/">Go to the console</a>
      </p>
    </>
  );
}
