import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";

import type { EnrolmentView } from "../../../api/enrolments.ts";
import { relativeTime } from "../../../platform/text/relative-time.ts";
import { useData } from "../data/query.ts";
import { Labels } from "../parts/labels.tsx";
import { Loaded } from "../parts/loaded.tsx";
import { Facts, Page, Section } from "../parts/page.tsx";
import { RelativeTime, useIsPast } from "../parts/relative-time.tsx";
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
        <WhoAsks enrolment={enrolment} />
      </Section>
      <Decision enrolment={enrolment} decide={decide} />
    </div>
  );
}

function Expired() {
  return (
    <Over>
      <b>Expired.</b> Nothing was approved. To begin again, run <code>sudo robot-policy-agent enroll</code> on the
      robot.
    </Over>
  );
}

function WhoAsks({ enrolment }: { readonly enrolment: EnrolmentView }) {
  return (
    <Facts
      facts={[
        ["Code", <b class="mono">{enrolment.user_code}</b>],
        ["Key", <span class="mono whole">{enrolment.key_fingerprint}</span>],
        ["From", <span class="mono">{enrolment.address}</span>],
        ["Asks for the name", enrolment.requested_name],
        ["Region", enrolment.region],
        ["Site", enrolment.site],
        ["Type", enrolment.robot_type_id],
        ["Labels", <Labels labels={enrolment.labels} isWhole />],
        ["Started", <RelativeTime at={enrolment.created_at} />],
        ["Expires", <RelativeTime at={enrolment.expires_at} inWords={relativeTime} />],
      ]}
    />
  );
}

function NoEnrolment() {
  return (
    <Over>
      No enrolment waits with this code. Check it on the robot; if it has expired, run{" "}
      <code>sudo robot-policy-agent enroll</code> there again.
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
