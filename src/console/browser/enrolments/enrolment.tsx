import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";

import type { EnrolmentView } from "../../../api/enrolments.ts";
import { ENROLL_COMMAND } from "../../../views/computers.ts";
import { ENROLMENTS } from "../../../views/enrolments.ts";
import { useData } from "../data/query.ts";
import { Loaded } from "../parts/loaded.tsx";
import { Page, Section } from "../parts/page.tsx";
import { useIsPast } from "../parts/relative-time.tsx";
import { ShownFacts } from "../parts/shown.tsx";
import { robotPath } from "../robots/data.ts";
import type { PageParameters } from "../router.ts";
import { type Decided, Decision } from "./decision.tsx";

/** `/enrolments/CODE`: who asks, what an approval changes, and the buttons to approve and deny it. */
export function Enrolment({ name: code }: PageParameters) {
  const path = `/v1/robot-enrollments/${encodeURIComponent(code)}`;
  // Not fetched again by itself: a code that is wrong or has ended counts as a guess.
  const enrolment = useData<EnrolmentView>(path, []);
  const [decided, setDecided] = useState<Decided | null>(null);
  const shown = enrolment.value?.user_code ?? code;
  return (
    <Page title={`Code ${shown}`} up="enrolments">
      {decided === null ? (
        <Loaded data={enrolment} what="this enrolment" lines={8} missing={<NoEnrolment />}>
          {(view) => <Waiting enrolment={view} decide={setDecided} />}
        </Loaded>
      ) : (
        <Outcome decided={decided} />
      )}
    </Page>
  );
}

interface WaitingProps {
  readonly enrolment: EnrolmentView;
  decide(decided: Decided): void;
}

function Waiting({ enrolment, decide }: WaitingProps) {
  if (useIsPast(enrolment.expires_at)) return <Expired />;
  return (
    <div class="sections">
      <Section title="Who asks" note="Compare the code and the key with what the robot shows">
        <ShownFacts facts={ENROLMENTS.factsOf(enrolment)} />
      </Section>
      <Decision enrolment={enrolment} decide={decide} />
    </div>
  );
}

function Expired() {
  return (
    <Over>
      <b>Expired.</b> Nothing was approved. To begin again, run <code>{ENROLL_COMMAND}</code> on the robot.
    </Over>
  );
}

function NoEnrolment() {
  return (
    <Over>
      No enrolment waits with this code. Check it on the robot; if it has expired, run <code>{ENROLL_COMMAND}</code>{" "}
      there again.
    </Over>
  );
}

function Outcome({ decided: { status, requested_name: name } }: { readonly decided: Decided }) {
  return status === "denied" ? (
    <Over>
      <b>Denied.</b> The computer that asked to be {name} is told so.
    </Over>
  ) : (
    <Over>
      <b>Approved.</b> The computer gets its credential as <a href={robotPath(name, name)}>{name}</a> within seconds.
    </Over>
  );
}

/** Why there is nothing to decide. */
function Over({ children }: { readonly children: ComponentChildren }) {
  return (
    <p role="status">
      {children} <a href="/enrolments">See all enrolments</a>
    </p>
  );
}
