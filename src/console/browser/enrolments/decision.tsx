import { useState } from "preact/hooks";

import type { EnrolmentView } from "../../../api/enrolments.ts";
import { enrolledName, enrolmentDifferences } from "../../../api/words/enrolments.ts";
import { invalidate, useData } from "../data/query.ts";
import { mayDo } from "../data/session.ts";
import { useWrite } from "../data/write.ts";
import { FieldError, TextField } from "../parts/form/fields.tsx";
import { Form } from "../parts/form/form.tsx";
import { FormDialog } from "../parts/form/form-dialog.tsx";
import { useFormErrors } from "../parts/form/form-errors.ts";
import { Notice } from "../parts/notice.tsx";
import { Section } from "../parts/page.tsx";
import { present } from "../parts/text.ts";
import { TargetNotice, useTarget } from "./target.tsx";

/** The answer to an approval or a denial. */
export interface Decided {
  readonly status: "approved" | "denied";
  /** As decided. */
  readonly requested_name: string;
}

interface DecisionProps {
  readonly enrolment: EnrolmentView;
  decide(decided: Decided): void;
}

/** The form that approves, with name, region and site to correct, and the button that denies. */
export function Decision({ enrolment, decide }: DecisionProps) {
  const { user_code: code } = enrolment;
  const [name, setName] = useState(enrolledName(enrolment.requested_name));
  const [region, setRegion] = useState(enrolment.region ?? "");
  const [site, setSite] = useState(enrolment.site ?? "");
  const [isReplacing, setReplacing] = useState(false);
  const regions = useRegions();
  const target = useTarget(enrolledName(name));
  const { send, isBusy, problem } = useWrite<Decided>();
  const errors = useFormErrors({ isBusy, problem }, ["name", "region", "site"], { name, region, site });
  if (!mayDo("robots:write"))
    return (
      <Notice tone="blocked" title="Your key cannot approve this.">
        <p>It lacks the scope robots:write.</p>
      </Notice>
    );
  const sendDecision = async (path: string, body: object) => {
    const decided = await send("POST", path, { user_code: code, ...body });
    if (decided === null) return target.retry();
    invalidate(["enrolments", "robots", "fleets"]);
    decide(decided);
  };
  const approve = (more = {}) => sendDecision("/v1/robots/approve", { name, region, site: site.trim(), ...more });
  const robot = target.robot === "hidden" ? null : (target.robot ?? null);
  const isOnline = robot?.status === "online";
  const submit = () => {
    if (isBusy) return;
    if (isOnline) setReplacing(true);
    else void approve();
  };
  return (
    <Section title="Approve as">
      <Form submit={submit}>
        <TextField
          label="Name of the robot"
          value={name}
          change={setName}
          error={errors.of("name")}
          hint="Lower-case letters, digits and hyphens."
          input={{ required: true, maxLength: 64 }}
        />
        <TextField
          label="Region"
          value={region}
          change={setRegion}
          error={errors.of("region")}
          hint={regionHint(region.trim().toLowerCase(), regions)}
          input={{ required: true }}
        />
        <TextField
          label="Site"
          value={site}
          change={setSite}
          error={errors.of("site")}
          hint="Fleets select robots by it. A site in the robot's own configuration counts more."
          input={{ maxLength: 128 }}
        />
        <TargetNotice
          target={target}
          name={enrolledName(name)}
          differences={
            robot === null
              ? []
              : enrolmentDifferences(
                  { ...enrolment, site: site.trim() || enrolment.site },
                  robot,
                  region.trim().toLowerCase(),
                  target.digest,
                )
          }
        />
        {isReplacing ? null : errors.rest.map((text) => <FieldError key={text} text={text} />)}
        <div class="buttons">
          <button type="submit" class={`button ${isOnline ? "button-danger" : "button-main"}`} aria-disabled={isBusy}>
            {isOnline ? "Replace its computer…" : "Approve"}
          </button>
          <button
            type="button"
            class="button"
            aria-disabled={isBusy}
            onClick={() => void sendDecision("/v1/robots/deny", {})}
          >
            Deny
          </button>
        </div>
      </Form>
      {isReplacing && robot !== null ? (
        <FormDialog
          title={`Replace the computer of ${robot.name}?`}
          verb="Replace computer"
          isDangerous
          nameToType={robot.name}
          isBusy={isBusy}
          // The dialog covers the fields and their errors.
          errors={[...present(errors.of("name")), ...present(errors.of("region")), ...errors.rest]}
          submit={() => approve({ confirm_replace: true })}
          close={() => setReplacing(false)}
        >
          <p>
            <b>{robot.name}</b> is online. Its computer works until the new one has its credential; from then on every
            request of the old one is refused.
          </p>
        </FormDialog>
      ) : null}
    </Section>
  );
}

/** A robot may be in any region, but no model serves it in one without an endpoint. */
function regionHint(region: string, regions: readonly string[]): string {
  return region === "" || regions.length === 0 || regions.includes(region)
    ? "The cloud region nearest to the robot."
    : `No endpoint is in the region ${region}; they are in ${regions.join(", ")}.`;
}

/** The regions with endpoints; none where they are not known. */
function useRegions(): readonly string[] {
  const data = useData<{ readonly regions: readonly string[] }>("/v1/regions", ["models"]);
  return data.state === "ready" ? data.value.regions : [];
}
