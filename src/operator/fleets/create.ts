import * as z from "zod";

import { beyondSpec, operations } from "../../api/api.ts";
import type { FleetPreviewed } from "../../api/fleet-details.ts";
import { PEAK_ACTIVE_ROBOTS, READINESS_MODES, SELECTION_ROBOTS_COUNT } from "../../api/fleets.ts";
import type { ExitCode, Terminal } from "../../platform/terminal.ts";
import { FIT_STATES, fitGroups, fitText } from "../../views/fleets.ts";
import { bodyOf, flagPlaces, type Places } from "../body.ts";
import { makeChange } from "../change.ts";
import { choice, DRY_RUN, formedTexts, type Given, SELECTOR, text, texts, waiting, wholeNumber } from "../flags.ts";
import type { Service } from "../service.ts";
import { toned } from "../lists/shown.ts";
import { type Now, withRelativeTimes } from "../times.ts";
import { namesText, showFleet } from "./show.ts";
import { WAIT_SUMMARY, waitForFleet } from "./wait.ts";

/** As many robots as may be named may be active. */
const PEAK = { ...PEAK_ACTIVE_ROBOTS, maximum: SELECTION_ROBOTS_COUNT.maximum };

export const CREATE = {
  name: text("<name>", "name of the fleet", { required: true, place: "name" }),
  model: text("<model>", "model by its slug, or checkpoint by its id", {
    required: true,
    names: "models",
    place: "subject",
  }),
  robot: texts("<robot>", "member, by name or id; repeatable", {
    names: "robots",
    excludes: ["--site", "--region", "--type", "--label"],
    place: "selection.robots",
  }),
  ...SELECTOR,
  peak: wholeNumber(
    "<number>",
    "maximum number of robots that are active at the same time (default: the number of --robot)",
    PEAK,
    { place: "peak_active_robots" },
  ),
  mode: choice("<mode>", "when capacity is kept ready (default: always_ready)", READINESS_MODES, "readiness_mode"),
  window: formedTexts("<start/end>", "operating window, which implies the mode scheduled; repeatable", readWindow, {
    place: "operating_windows",
  }),
  ...waiting(WAIT_SUMMARY),
  ...DRY_RUN,
};

/** A date and time with its UTC offset, so that it does not depend on the reader's time zone. */
const moment = z.iso.datetime({ offset: true });

function readWindow(written: string) {
  const isMoment = (text: string) => moment.safeParse(text).success;
  const [starts_at = "", ends_at = "", ...more] = written.split("/");
  if (more.length === 0 && isMoment(starts_at) && isMoment(ends_at)) return { value: { starts_at, ends_at } };
  return { isNo: "is not START/END", fix: "write it as 2030-01-31T08:00:00+01:00/2030-01-31T17:00:00+01:00" };
}

/** Shows the future members, then creates the fleet. */
export async function createFleet(service: Service, flags: Given<typeof CREATE>): Promise<ExitCode> {
  const { terminal } = service;
  const body = bodyOf(CREATE, {
    ...flags,
    // All named robots may be active at once.
    peak: flags.peak ?? flags.robot?.length,
    mode: flags.mode ?? (flags.window === undefined ? "always_ready" : "scheduled"),
  });
  const places = flagPlaces(CREATE, { selection: SELECTING, "selection.selector": SELECTING });
  if (flags.dryRun !== true && service.flags.json !== true) {
    const refused = await preview(service, body, places);
    if (refused !== null) return refused;
  }
  return makeChange(service, {
    row: operations.createFleet,
    input: { body },
    places,
    begun: ({ name, id }) => terminal.note(`The fleet ${name} is created (${id}).`),
    wait: (created) => waitForFleet(service, created),
    show: (fleet) => showFleet(fleet, null, terminal, service.now()),
  });
}

const SELECTING = "--robot, or --site, --region, --type, --label";

/** Shows the future members. @returns an exit code where the service would refuse them; null also where the service has no preview. */
async function preview(
  service: Service,
  { selection, subject }: Readonly<Record<string, unknown>>,
  places: Places,
): Promise<ExitCode | null> {
  const body = Object.assign({}, selection, { subject });
  const result = await service.call(beyondSpec.previewFleet, { body });
  if (result.kind === "ok") {
    showMembersToBe(result.value.value, service.terminal, service.now());
    return null;
  }
  if (result.kind !== "refused" || result.status !== 422) return null;
  return service.failed(result, {
    body,
    places: (loc) => places(loc[1] === "subject" ? loc : ["body", "selection", ...loc.slice(1)]),
  });
}

function showMembersToBe({ robots }: FleetPreviewed, terminal: Terminal, now: Now): void {
  const groups = fitGroups(robots);
  terminal.note(`${fitText(groups)}: ${namesText(robots)}`);
  for (const { fit, reason, robots: alike } of groups) {
    if (reason === null) continue;
    const { word, tone } = FIT_STATES[fit];
    terminal.note(`${toned(word, tone, terminal)}: ${namesText(alike)}: ${withRelativeTimes(reason, now)}`);
  }
}
