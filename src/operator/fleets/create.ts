import { beyondSpec, operations } from "../../api/api.ts";
import type { FleetPreviewed } from "../../api/fleet-details.ts";
import { READINESS_MODES } from "../../api/fleets.ts";
import { fitGroups } from "../../api/words/fit-groups.ts";
import { EXIT, type ExitCode, type Terminal } from "../../platform/terminal.ts";
import type { OperatorCommand } from "../context.ts";
import { makeChange } from "../change.ts";
import { defined } from "../../platform/defined.ts";
import type { Sent } from "../failure.ts";
import { flagPlaces, type Places } from "../files/places.ts";
import { readWritten } from "../files/given-file.ts";
import { isMoment } from "../files/written-readers.ts";
import type { OperatorFlags } from "../flags.ts";
import { withService } from "../operator.ts";
import { refuseFlags, refuseIncomplete } from "../refuse.ts";
import type { Service } from "../service.ts";
import { waitTimeout } from "../wait.ts";
import { FLEET_HINTS, fleetFile, type WrittenFleet } from "./file.ts";
import { readSelection, selectorInFlags } from "./selection-flags.ts";
import { showFleet } from "./show.ts";
import { endOfCreation, waitForFleet } from "./wait.ts";
import { namesText, robotsText, withRelativeTimes } from "./words.ts";
import type { Now } from "../times.ts";

const FLAGS = flagPlaces({
  name: "--name",
  subject: "--model",
  "selection.robots": "--robot",
  "selection.selector": "the selector",
  "selection.selector.site": "--site",
  "selection.selector.region": "--region",
  "selection.selector.robot_type_id": "--type",
  "selection.selector.labels": "--label",
  peak_active_robots: "--peak",
  readiness_mode: "--mode",
  operating_windows: "--window",
});

/** `fleets create`: from flags, from a file, or from both: a flag replaces the file's member. */
export const fleetsCreate: OperatorCommand = async (flags, context) => {
  const { terminal } = context;
  const timeoutMs = waitTimeout(flags, terminal);
  const fromFlags = readFlags(flags, terminal);
  if (timeoutMs === null || fromFlags === null) return EXIT.usage;
  const rules = {
    subject: "fleet",
    schema: fleetFile(fromFlags),
    hints: FLEET_HINTS,
    json: flags.json === true,
  } as const;
  const file = flags.from === undefined ? null : await readWritten(flags.from, rules, context);
  if (file?.kind === "unusable") return file.exitCode;
  const written = { ...file?.value, ...fromFlags };
  const body = withDefaults(written);
  if (body === null) return refuseMissing(written, flags, terminal);
  const places: Places = (loc) => {
    const isFlag = file === null || Object.hasOwn(fromFlags, String(loc[1]));
    return isFlag ? FLAGS(loc) : file.places(loc);
  };
  const describe = describeUnmatched(fromFlags.selection);
  return withService(flags, context, async (service) => {
    if (flags.dryRun !== true && flags.json !== true) {
      const refused = await preview(service, body, places, describe);
      if (refused !== null) return refused;
    }
    return makeChange(service, {
      row: operations.createFleet,
      input: { body },
      places,
      describe,
      begun: ({ name, id }) => terminal.note(`The fleet ${name} is created (${id}).`),
      wait: (created) => waitForFleet(service, created, endOfCreation, timeoutMs),
      show: (fleet) => showFleet(fleet, null, terminal, service.now()),
    });
  });
};

/** @returns null after reporting what is wrong with the flags. */
function readFlags(flags: OperatorFlags, terminal: Terminal): WrittenFleet | null {
  const { name, model, peak, mode, window } = flags;
  const selection = readSelection(flags, terminal);
  if (selection === null) return null;
  if (peak !== undefined && !/^\d{1,9}$/.test(peak))
    return refuseFlags(`--peak '${peak}' is not a number`, "give a whole number", terminal);
  const operatingWindows = window?.map((text) => {
    const [starts_at = "", ends_at = "", ...more] = text.split("/");
    return more.length === 0 && isMoment(starts_at) && isMoment(ends_at) ? { starts_at, ends_at } : null;
  });
  const unread = operatingWindows?.indexOf(null) ?? -1;
  if (unread !== -1) {
    const fix = "write it as 2030-01-31T08:00:00+01:00/2030-01-31T17:00:00+01:00";
    return refuseFlags(`--window '${window?.[unread] ?? ""}' is not START/END`, fix, terminal);
  }
  return defined({
    name,
    subject: model,
    selection,
    peak_active_robots: peak === undefined ? undefined : Number(peak),
    readiness_mode: READINESS_MODES.find((each) => each === mode),
    operating_windows: operatingWindows?.filter((each) => each !== null),
  });
}

type FleetBody = WrittenFleet & Required<Pick<WrittenFleet, "name" | "subject" | "selection">>;

/** Defaults: with windows, `scheduled`; with named robots, all may be active at once. Null where a required member is missing. */
function withDefaults(written: WrittenFleet): FleetBody | null {
  const { name, subject, selection, operating_windows: operatingWindows = [] } = written;
  const peakActiveRobots = written.peak_active_robots ?? selection?.robots?.length;
  if (name === undefined || subject === undefined || selection === undefined || peakActiveRobots === undefined) {
    return null;
  }
  const readinessMode = written.readiness_mode ?? (operatingWindows.length === 0 ? "always_ready" : "scheduled");
  return { ...written, name, subject, selection, peak_active_robots: peakActiveRobots, readiness_mode: readinessMode };
}

function refuseMissing(written: WrittenFleet, { from }: OperatorFlags, terminal: Terminal): ExitCode {
  const members = [
    ["name", "--name", written.name],
    ["subject", "--model", written.subject],
    ["selection", "--robot, or --site, --region, --type, --label", written.selection],
    ["peak_active_robots", "--peak", written.peak_active_robots ?? written.selection?.robots],
  ] as const;
  return refuseIncomplete("fleet", from, members, terminal);
}

/** Reports a selector without a match as the flags that were typed, not as JSON. */
function describeUnmatched(selection: WrittenFleet["selection"]): NonNullable<Sent["describe"]> {
  return ({ loc, msg, type }) => {
    const selector = selection?.selector ?? null;
    if (selector === null || loc.at(-1) !== "selector" || !/no robot matches/i.test(msg)) return null;
    const fix = "leave one out, or list sites and labels: robot-policy robots list";
    return { code: type, what: `no robot matches ${selectorInFlags(selector)}`, fix };
  };
}

/** Shows the future members. @returns an exit code where the service would refuse them; null also where the service has no preview. */
async function preview(
  service: Service,
  { selection, subject }: FleetBody,
  places: Places,
  describe: NonNullable<Sent["describe"]>,
): Promise<ExitCode | null> {
  const body = { ...selection, subject };
  const result = await service.call(beyondSpec.previewFleet, { body });
  if (result.kind === "ok") {
    showMembersToBe(result.value.value, service.terminal, service.now());
    return null;
  }
  if (result.kind !== "refused" || result.status !== 422) return null;
  return service.failed(result, {
    body,
    describe,
    places: (loc) => places(loc[1] === "subject" ? loc : ["body", "selection", ...loc.slice(1)]),
  });
}

function showMembersToBe({ robots, total }: FleetPreviewed, terminal: Terminal, now: Now): void {
  terminal.note(`${robotsText(total)}: ${namesText(robots)}`);
  for (const { fit, reason, robots: alike } of fitGroups(robots)) {
    if (fit === "runs" || reason === null) continue;
    const others = alike.length > 1 ? ` and ${alike.length - 1} more` : "";
    const state = terminal.style("warn", fit === "lacks" ? "blocked" : "would wait");
    terminal.note(`${state}: ${alike[0]?.robot ?? ""}${others}: ${withRelativeTimes(reason, now)}`);
  }
}
