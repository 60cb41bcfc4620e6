import { counted } from "../../../views/view.ts";
import { useLayoutEffect, useRef, useState } from "preact/hooks";

import type { LoginDecided } from "../../../api/logins.ts";
import { relativeTime } from "../../../platform/text/relative-time.ts";
import { visible } from "../../../platform/text/visible.ts";
import type { WaitingLogin } from "../../waiting-login.ts";
import { useData } from "../data/query.ts";
import { sentence } from "../data/request.ts";
import { ownScopes, session } from "../data/session.ts";
import { useWrite } from "../data/write.ts";
import { Checkbox, FieldError } from "../parts/form/fields.tsx";
import { Loaded } from "../parts/loaded.tsx";
import { Notice } from "../parts/notice.tsx";
import { Facts } from "../parts/page.tsx";
import { RelativeTime, useIsPast } from "../parts/relative-time.tsx";
import { useLocation } from "../router.ts";
import { useStore } from "../store.ts";
import { goToProgram, isListening, originOf } from "./callback.ts";

/** `/login?exchange=ID`: a person approves or denies the sign-in of a command line. */
export function LoginApproval() {
  const exchange = useLocation().query.get("exchange") ?? "";
  useLayoutEffect(() => {
    document.title = "Approve a sign-in · Robot policy";
  }, []);
  return (
    <div class="alone-sheet">
      {/* A new one for each: nothing of another login must be shown or approved. */}
      <Approval key={exchange} exchange={exchange} />
    </div>
  );
}

function Approval({ exchange }: { readonly exchange: string }) {
  const login = useData<WaitingLogin>(`/console/logins/${encodeURIComponent(exchange)}`, []);
  const [decided, setDecided] = useState<LoginDecided["status"] | null>(null);
  if (decided !== null) return <Decided status={decided} />;
  if (login.state === "ready") return <Question login={login.value} exchange={exchange} setDecided={setDecided} />;
  if (login.state === "failed" && login.problem.kind === "missing") {
    return <NothingToApprove why="does not exist or has expired" />;
  }
  return (
    <>
      <h1>Approve a sign-in</h1>
      <Loaded data={login} what="this sign-in">
        {() => null}
      </Loaded>
    </>
  );
}

function Decided({ status }: Pick<LoginDecided, "status">) {
  // The button that had the focus is gone: the keyboard continues here.
  const heading = useRef<HTMLHeadingElement>(null);
  useLayoutEffect(() => heading.current?.focus(), []);
  return (
    <>
      <h1 ref={heading} tabIndex={-1}>
        {status === "approved" ? "Approved" : "Denied"}
      </h1>
      <p role="status">
        {status === "approved"
          ? "The command line is signed in. You can close this page and go back to your terminal."
          : "Nobody was signed in. If you did not start this sign-in, somebody else sent you its link: tell the administrator of the service."}
      </p>
    </>
  );
}

function NothingToApprove({ why }: { readonly why: string }) {
  return (
    <>
      <h1>Nothing to approve</h1>
      <p role="status">
        This sign-in {why}. To sign in again, run <code>robot-policy login</code>. <a href="/">Go to the console</a>
      </p>
    </>
  );
}

interface QuestionProps {
  readonly login: WaitingLogin;
  readonly exchange: string;
  setDecided(status: LoginDecided["status"]): void;
}

/** Why a login that does not wait cannot be approved. */
const OVER: Readonly<Record<string, string>> = { denied: "was denied", expired: "has expired" };

/** Shows who asks to sign in, and lets the person approve or deny. */
function Question({ login, exchange, setDecided }: QuestionProps) {
  const { callback_url: callbackUrl, user_code: code } = login;
  const current = useStore(session);
  const organization = current.state === "signed-in" ? current.view.active_organization.name : "";
  const canListen = isListening(callbackUrl);
  const [isElsewhere, setElsewhere] = useState(!canListen);
  const [isSame, setSame] = useState(false);
  const { send, isBusy, problem } = useWrite<LoginDecided>();
  const isRestricted = ownScopes() !== null;
  const hasExpired = useIsPast(login.expires_at);
  const state = login.state === "pending" && hasExpired ? "expired" : login.state;
  if (state !== "pending") return <NothingToApprove why={OVER[state] ?? "was approved already"} />;
  const decide = async (decision: "approve" | "deny") => {
    // The program gets its token by a redirect of this browser, or it polls the service from any computer.
    const delivery = isElsewhere ? "poll" : "redirect";
    const answer = await send("POST", "/v1/cli/login/decide", { exchange_id: exchange, decision, delivery });
    if (answer === null) return;
    setDecided(answer.status);
    if (!isElsewhere) goToProgram(answer.redirect_url, callbackUrl);
  };
  return (
    <>
      <h1>Let a command line in?</h1>
      <p>
        A program asks to act for you in <b>{organization}</b>. Approve only if you have just run{" "}
        <code>robot-policy login</code> yourself. If somebody sent you this link, deny.
      </p>
      <Facts
        facts={[
          ["Code", <b class="mono">{code}</b>],
          ["Asked by", <Asker login={login} />],
          ["Access", `everything that you may do, for ${counted(login.session_days, "day")}`],
          [
            "Token goes to",
            isElsewhere
              ? "The program that asked, on whichever computer it runs"
              : `A program on this computer, ${originOf(callbackUrl)}`,
          ],
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
      {canListen ? (
        <Checkbox label="My terminal is on another computer" checked={isElsewhere} change={setElsewhere} />
      ) : null}
      {isElsewhere ? (
        <Notice tone="waiting" title={`Does your terminal show ${code}?`}>
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
          onClick={() => void decide("approve")}
        >
          Approve
        </button>
        <button type="button" class="button" disabled={isBusy || isRestricted} onClick={() => void decide("deny")}>
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
