import { counted } from "../../../views/view.ts";
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";

import type { LoginDecided } from "../../../api/logins.ts";
import { relativeTime } from "../../../platform/text/relative-time.ts";
import { visible } from "../../../platform/text/visible.ts";
import type { WaitingLogin } from "../../waiting-login.ts";
import { type Data, useData } from "../data/query.ts";
import { type Problem, sentence } from "../data/request.ts";
import { ownScopes, session } from "../data/session.ts";
import { useWrite } from "../data/write.ts";
import { Checkbox, FieldError } from "../parts/form/fields.tsx";
import { Notice, ProblemNotice } from "../parts/notice.tsx";
import { Facts } from "../parts/page.tsx";
import { RelativeTime, useIsPast } from "../parts/relative-time.tsx";
import { Skeleton } from "../parts/loaded.tsx";
import { useLocation } from "../router.ts";
import { useStore } from "../store.ts";
import { goToProgram, isListening, originOf } from "./callback.ts";

/** `/login?exchange=ID`: a person approves or denies the sign-in of a command line. */
export function LoginApproval() {
  const exchange = useLocation().query.get("exchange") ?? "";
  // Nothing of another login must be shown or approved.
  return <Approval key={exchange} exchange={exchange} />;
}

function Approval({ exchange }: { readonly exchange: string }) {
  const path = `/console/logins/${encodeURIComponent(exchange)}`;
  const login = useData<WaitingLogin>(path, []);
  const { send, isBusy, problem } = useWrite<LoginDecided>();
  const [decided, setDecided] = useState<LoginDecided | null>(null);
  useLayoutEffect(() => {
    document.title = "Approve a sign-in · Robot policy";
  }, []);
  const decide = async (callbackUrl: string, decision: "approve" | "deny", delivery: Delivery) => {
    const answer = await send("POST", "/v1/cli/login/decide", { exchange_id: exchange, decision, delivery });
    if (answer === null) return;
    setDecided(answer);
    if (delivery === "redirect") goToProgram(answer.redirect_url, callbackUrl);
  };
  return (
    <div class="alone-sheet">
      {decided === null ? (
        <Waiting login={login}>
          {(value) => (
            <Question
              login={value}
              isBusy={isBusy}
              problem={problem}
              exchange={exchange}
              decide={(...said) => void decide(value.callback_url, ...said)}
            />
          )}
        </Waiting>
      ) : (
        <Decided status={decided.status} />
      )}
    </div>
  );
}

interface WaitingProps {
  readonly login: Data<WaitingLogin>;
  children(login: WaitingLogin): ComponentChildren;
}

function Waiting({ login, children }: WaitingProps) {
  switch (login.state) {
    case "loading":
      return (
        <>
          <h1>Approve a sign-in</h1>
          <Skeleton lines={4} what="the sign-in" />
        </>
      );
    case "failed":
      return (
        <>
          <h1>Nothing to approve</h1>
          {login.problem.kind === "missing" ? (
            <p>
              This sign-in does not exist or has expired. Run <code>robot-policy login</code> again.
            </p>
          ) : (
            <ProblemNotice problem={login.problem} what="this sign-in" retry={login.retry} />
          )}
          <p>
            <a href="/">Go to the console</a>
          </p>
        </>
      );
    case "ready":
      return <>{children(login.value)}</>;
  }
}

function Decided({ status }: Pick<LoginDecided, "status">) {
  const isApproved = status === "approved";
  // The button that had the focus is gone: the keyboard continues here.
  const heading = useRef<HTMLHeadingElement>(null);
  useLayoutEffect(() => heading.current?.focus(), []);
  return (
    <>
      <h1 ref={heading} tabIndex={-1}>
        {isApproved ? "Approved" : "Denied"}
      </h1>
      <p role="status">
        {isApproved
          ? "The command line is signed in. You can close this page and go back to your terminal."
          : "Nobody was signed in. If you did not start this sign-in, somebody else sent you its link: tell the administrator of the service."}
      </p>
    </>
  );
}

interface QuestionProps {
  readonly login: WaitingLogin;
  readonly isBusy: boolean;
  readonly problem: Problem | null;
  readonly exchange: string;
  decide(decision: "approve" | "deny", delivery: Delivery): void;
}

/** How the program gets its token: this browser redirects to it on this computer, or it polls the service from any computer. */
type Delivery = "redirect" | "poll";

/** Shows who asks to sign in, and lets the person approve or deny. */
function Question({ login, isBusy, problem, exchange, decide }: QuestionProps) {
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
          ["Token goes to", receiverOf(login, isElsewhere)],
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

function receiverOf({ callback_url: callbackUrl }: WaitingLogin, isElsewhere: boolean): ComponentChildren {
  if (isElsewhere) return "The program that asked, on whichever computer it runs";
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
