import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";

import type { LoginDecided } from "../../../api/logins.ts";
import type { WaitingLogin } from "../../waiting-login.ts";
import { type Data, useData } from "../data/query.ts";
import { useWrite } from "../data/write.ts";
import { ProblemNotice } from "../parts/notice.tsx";
import { Skeleton } from "../parts/skeleton.tsx";
import { useLocation } from "../router.ts";
import { goToProgram } from "./callback.ts";
import { type Delivery, Question } from "./question.tsx";

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
