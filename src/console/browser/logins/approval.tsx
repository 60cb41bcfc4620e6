import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useState } from "preact/hooks";

import type { Outcome, Problem } from "../data/request.ts";
import { request } from "../data/request.ts";
import { sessionEnded } from "../data/session.ts";
import { ProblemNotice } from "../parts/notice.tsx";
import { Skeleton } from "../parts/skeleton.tsx";
import { useLocation } from "../router.ts";
import { goToProgram } from "./callback.ts";
import type { Delivery, WaitingLogin } from "./question.tsx";
import { Question } from "./question.tsx";

interface LoginDecided {
  readonly status: "approved" | "denied";
  readonly redirect_url: string;
}

type Shown =
  | { readonly step: "reading" }
  | {
      readonly step: "asking";
      readonly login: WaitingLogin;
      readonly isBusy: boolean;
      readonly problem: Problem | null;
    }
  | { readonly step: "decided"; readonly status: "approved" | "denied" }
  | { readonly step: "failed"; readonly problem: Problem };

/** `/login?exchange=ID`: a person approves or denies the sign-in of a command line. */
export function LoginApproval() {
  const exchange = useLocation().query.get("exchange") ?? "";
  const [shown, setShown] = useState<Shown>({ step: "reading" });
  useLayoutEffect(() => {
    document.title = "Approve a sign-in · Robot policy";
  }, []);
  const read = async () => {
    setShown({ step: "reading" });
    const path = `/console/logins/${encodeURIComponent(exchange)}`;
    setShown(afterReading(await request<WaitingLogin>("GET", path)));
  };
  useEffect(() => void read(), [exchange]);
  const decide = async (login: WaitingLogin, decision: "approve" | "deny", delivery: Delivery) => {
    setShown({ step: "asking", login, isBusy: true, problem: null });
    const body = { exchange_id: exchange, decision, delivery };
    const outcome = await request<LoginDecided>("POST", "/v1/cli/login/decide", { body });
    if (outcome.state === "aborted") return;
    if (outcome.state === "failed") {
      if (outcome.problem.kind === "unauthorized") sessionEnded();
      else setShown({ step: "asking", login, isBusy: false, problem: outcome.problem });
      return;
    }
    setShown({ step: "decided", status: outcome.value.status });
    if (delivery === "redirect") goToProgram(outcome.value.redirect_url, login.callback_url);
  };
  return (
    <main class="alone">
      <div class="alone-sheet">
        <Step shown={shown} exchange={exchange} retry={() => void read()} decide={decide} />
      </div>
    </main>
  );
}

interface StepProps {
  readonly shown: Shown;
  readonly exchange: string;
  retry(): void;
  decide(login: WaitingLogin, decision: "approve" | "deny", delivery: Delivery): void;
}

function Step({ shown, exchange, retry, decide }: StepProps): ComponentChildren {
  switch (shown.step) {
    case "reading":
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
          {shown.problem.kind === "missing" ? (
            <p>
              This sign-in does not exist or has expired. Run <code>robot-policy login</code> again.
            </p>
          ) : (
            <ProblemNotice problem={shown.problem} what="this sign-in" retry={retry} />
          )}
          <p>
            <a href="/">Go to the console</a>
          </p>
        </>
      );
    case "asking":
      return <Question {...shown} exchange={exchange} decide={(...said) => decide(shown.login, ...said)} />;
    case "decided":
      return shown.status === "approved" ? (
        <>
          <h1>Approved</h1>
          <p role="status">The command line is signed in. You can close this page and go back to your terminal.</p>
        </>
      ) : (
        <>
          <h1>Denied</h1>
          <p role="status">
            Nobody was signed in. If you did not start this sign-in, somebody else sent you its link: tell the
            administrator of the service.
          </p>
        </>
      );
  }
}

function afterReading(outcome: Outcome<WaitingLogin>): Shown {
  if (outcome.state === "answered") return { step: "asking", login: outcome.value, isBusy: false, problem: null };
  if (outcome.state === "aborted") return { step: "reading" };
  if (outcome.problem.kind === "unauthorized") sessionEnded();
  return { step: "failed", problem: outcome.problem };
}
