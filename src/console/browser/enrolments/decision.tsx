import { useState } from "preact/hooks";

import type { EnrolmentView } from "../../../api/enrolments.ts";
import { enrolledName, enrolmentDifferences } from "../../../views/enrolments.ts";
import { invalidate, useData } from "../data/query.ts";
import { mayDo } from "../data/session.ts";
import { entered, FieldError, type FieldSpec } from "../parts/form/fields.tsx";
import { type ChangeRequest, Fields, Form, useForm } from "../parts/form/form.tsx";
import { FormDialog } from "../parts/form/form-dialog.tsx";
import { Notice } from "../parts/notice.tsx";
import { Section } from "../parts/page.tsx";
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
  const { requested_name: requestedName, region: ownRegion, site: ownSite } = enrolment;
  const form = useForm<Decided>({
    name: enrolledName(requestedName),
    region: ownRegion ?? "",
    site: ownSite ?? "",
  });
  const { data, isBusy } = form;
  const [isReplacing, setReplacing] = useState(false);
  const regions = useRegions();
  const name = enrolledName(entered(data, "name"));
  const [region, site] = [entered(data, "region").toLowerCase(), entered(data, "site")];
  const target = useTarget(name);
  if (!mayDo("robots:write"))
    return (
      <Notice tone="blocked" title="Your key cannot approve this.">
        <p>It lacks the scope robots:write.</p>
      </Notice>
    );
  const requestOf = (path: string, body: object) =>
    ({ method: "POST", path, body: { user_code: enrolment.user_code, ...body } }) as const;
  const approval = (more = {}) =>
    requestOf("/v1/robots/approve", {
      name: entered(data, "name"),
      region: entered(data, "region"),
      site,
      ...more,
    });
  const end = (decided: Decided) => {
    invalidate(APPROVAL_TOPICS);
    decide(decided);
  };
  const send = async (request: ChangeRequest) => {
    const decided = await form.send(request, data);
    if (decided === null) target.retry();
    else end(decided);
  };
  const robot = target.robot === "hidden" ? null : (target.robot ?? null);
  const isOnline = robot?.status === "online";
  const submit = () => {
    if (isBusy) return;
    if (isOnline) setReplacing(true);
    else void send(approval());
  };
  const fields = fieldsFor(regionHint(region, regions));
  const errors = form.errorsOf(fields.map((field) => field.name));
  return (
    <Section title="Approve as">
      <Form form={form} submit={submit}>
        <Fields form={form} fields={fields} errors={errors} />
        <TargetNotice
          target={target}
          name={name}
          differences={
            robot === null
              ? []
              : enrolmentDifferences({ ...enrolment, site: site || ownSite }, robot, region, target.digest)
          }
        />
        {errors.rest.map((text) => (
          <FieldError key={text} text={text} />
        ))}
        <div class="buttons">
          <button type="submit" class={`button ${isOnline ? "button-danger" : "button-main"}`} aria-disabled={isBusy}>
            {isOnline ? "Replace its computer…" : "Approve"}
          </button>
          <button
            type="button"
            class="button"
            aria-disabled={isBusy}
            onClick={() => void send(requestOf("/v1/robots/deny", {}))}
          >
            Deny
          </button>
        </div>
      </Form>
      {isReplacing && robot !== null ? (
        <FormDialog<Decided>
          title={`Replace the computer of ${robot.name}?`}
          verb="Replace computer"
          isDangerous
          nameToType={robot.name}
          requestOf={() => approval({ confirm_replace: true })}
          topics={APPROVAL_TOPICS}
          done={end}
          refused={target.retry}
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

/** What an approval changes. */
export const APPROVAL_TOPICS = ["enrolments", "robots", "fleets"] as const;

function fieldsFor(hint: string): readonly FieldSpec[] {
  return [
    {
      name: "name",
      label: "Name of the robot",
      hint: "Lower-case letters, digits and hyphens.",
      input: { required: true, maxLength: 64 },
    },
    { name: "region", label: "Region", hint, input: { required: true } },
    {
      name: "site",
      label: "Site",
      hint: "Fleets select robots by it. A site in the robot's own configuration counts more.",
      input: { maxLength: 128 },
    },
  ];
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
