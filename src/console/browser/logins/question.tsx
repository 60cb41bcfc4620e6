import { useState } from "preact/hooks";

import { visible } from "../../../platform/text/visible.ts";
import { relativeTime } from "../../../platform/text/relative-time.ts";
import type { WaitingLogin } from "../../waiting-login.ts";
import { type Problem, sentence } from "../data/request.ts";
import { ownScopes, session } from "../data/session.ts";
import { Checkbox, FieldError } from "../parts/form/fields.tsx";
import { Notice } from "../parts/notice.tsx";
import { Facts } from "../parts/page.tsx";
import { RelativeTime, useIsPast } from "../parts/relative-time.tsx";
import { counted } from "../parts/text.ts";
import { useStore } from "../store.ts";
import { isListening, originOf } from "./callback.ts";

interface QuestionProps {
  readonly login: WaitingLogin;
  readonly isBusy: boolean;
  readonly problem: Problem | null;
  readonly exchange: string;
  decide(decision: "approve" | "deny", delivery: Delivery): void;
}

/** How the program gets its token: this browser redirects to it on this computer, or it polls the service from any computer. */
export type Delivery = "redirect" | "poll";

/** Shows who asks to sign in, and lets the person approve or deny. */
export function Question({ login, isBusy, problem, exchange, decide }: QuestionProps) {
  const current = useStore(session);
  const organization = current.state === "signed-in" ? current.view.active_organization.name : "";
  const [isElsewhere, setElsewhere] = useState(!isListening(login.callback_url));
  const [isSame, setSame] = useState(false);
  const delivery = isElsewhere ? "poll" : "redirect";
  const isRestricted = ownScopes() !== null;
  const hasExpired = useIsPast(login.expires_at);
  const state = login.state === "pending" && hasExpired ? "expired" : login.state;
  if (state !== "pending") return <NothingToApprove state={state} />;
  return (
    <>
      <h1>Let a command line in?</h1>
      <p>
        A program asks to act for you in <b>{organization}</b>. Approve only if you have just run{" "}
        <code>robot-policy login</code> yourself. If somebody sent you this link, deny.
      </p>
      <Facts
        facts={[
          ["Code", <b class="mono">{login.user_code}</b>],
          ["Asked by", <Asker login={login} />],
          ["Access", `everything that you may do, for ${counted(login.session_days, "day")}`],
          ["Token goes to", <Receiver callback_url={login.callback_url} isElsewhere={isElsewhere} />],
          ["Asked", <RelativeTime at={login.created_at} />],
          ["Expires", <RelativeTime at={login.expires_at} inWords={relativeTime} />],
          ["Login", <span class="mono">{exchange}</span>],
        ]}
      />
      {isRestricted ? (
        <Notice tone="blocked" title="Your key cannot approve this.">
          <p>
            It is restricted to some scopes, but the command line would get all of them. Sign in with an unrestricted
            key.
          </p>
        </Notice>
      ) : null}
      {isListening(login.callback_url) ? (
        <Checkbox label="My terminal is on another computer" checked={isElsewhere} change={setElsewhere} />
      ) : null}
      {isElsewhere ? (
        <Notice tone="waiting" title={`Does your terminal show ${login.user_code}?`}>
          <p>
            Whoever started this sign-in will be signed in as you. Compare the code with the one in your own terminal.
            If your terminal shows no code, compare the address that it shows: it ends with the login above.
          </p>
          <Checkbox label="It is the same in my terminal" checked={isSame} change={setSame} />
        </Notice>
      ) : null}
      {problem === null ? null : <FieldError text={sentence(problem.detail)} />}
      <div class="buttons">
        <button
          type="button"
          class="button button-main"
          disabled={isBusy || isRestricted || (isElsewhere && !isSame)}
          onClick={() => decide("approve", delivery)}
        >
          Approve
        </button>
        <button type="button" class="button" disabled={isBusy || isRestricted} onClick={() => decide("deny", delivery)}>
          Deny
        </button>
      </div>
    </>
  );
}

function Asker({
  login: { client_address: clientAddress, client_program: clientProgram, is_own_address: isOwnAddress },
}: Pick<QuestionProps, "login">) {
  return (
    <>
      <span class="mono">{visible(clientProgram ?? "a program")}</span> at <span class="mono">{clientAddress}</span>
      {isOwnAddress ? ", the same address as yours" : ", a different address from yours"}
    </>
  );
}

interface ReceiverProps extends Pick<WaitingLogin, "callback_url"> {
  readonly isElsewhere: boolean;
}

function Receiver({ callback_url: callbackUrl, isElsewhere }: ReceiverProps) {
  if (isElsewhere) return <>The program that asked, on whichever computer it runs</>;
  return (
    <>
      A program on this computer, <span class="mono">{originOf(callbackUrl)}</span>
    </>
  );
}

function NothingToApprove({ state }: { readonly state: string }) {
  const why = state === "denied" ? "was denied" : state === "expired" ? "has expired" : "was approved already";
  return (
    <>
      <h1>Nothing to approve</h1>
      <p role="status">
        This sign-in {why}. To sign in again, run <code>robot-policy login</code>.
      </p>
      <p>
        <a href="/">Go to the console</a>
      </p>
    </>
  );
}
