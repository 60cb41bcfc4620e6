import { beyondSpec } from "../../api/api.ts";
import type { OperatorCommand } from "../context.ts";
import { callIfOffered } from "../if-offered.ts";
import { withNamed } from "../operator.ts";
import { findFleet } from "./find.ts";
import { showFleet } from "./show-fleet.ts";

/** `fleets show FLEET`: one fleet, and why it is ready or not. `--json` prints the service's answer with `details` added. */
export const fleetsShow: OperatorCommand = (flags, context, name) =>
  withNamed(findFleet, flags, context, name, async (service, { value: fleet, document }) => {
    const { terminal } = service;
    const details = await callIfOffered(service, beyondSpec.getFleetDetails, { parameters: { fleet_id: fleet.id } });
    if (typeof details === "number") return details;
    return service.answer(Object.assign({}, document, { details: details?.document ?? null }), () => {
      showFleet(fleet, details?.value ?? null, terminal, service.nowMs());
      if (details === null) terminal.note("This service does not show members, windows and generations.");
    });
  });
