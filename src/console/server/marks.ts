import { isoTime } from "../../platform/clock.ts";
import {
  type AuditedChange,
  countChangesSince,
  deploymentsMark,
  endpointsMark,
  enrolmentsMark,
  fleetsMark,
  NEWEST_CHANGES_MAXIMUM,
  newestChanges,
  presenceMark,
  type Reader,
  type Store,
  usageMark,
  webhooksMark,
} from "../../service/console-door.ts";
import { type Topic, TOPICS } from "../topics.ts";
import { topicsOfAction } from "./change-topics.ts";

/** The result of one poll, to compare with the next. A mark is a text that differs when the data behind it differs. */
export interface Marks {
  readonly version: string;
  /** The newest audited changes. */
  readonly changes: readonly AuditedChange[];
  /** Audited changes since the poll before; null if there are too many to tell. */
  readonly done: readonly Omit<AuditedChange, "id">[] | null;
  readonly endpoints: string;
  readonly organizations: ReadonlyMap<string, OrganizationMarks>;
  /** When the next operating window opens or closes, or the next robot goes offline, in milliseconds since the epoch. */
  readonly nextEdgeMs: number;
}

/** Data that the service's tasks change, or that changes with time: none of it is audited. */
const MARKS = ["enrolments", "presence", "fleets", "deployments", "usage", "webhooks"] as const;
type OrganizationMarks = Readonly<Record<(typeof MARKS)[number], string>>;

/** The topics that it affects. */
const TOPICS_BY_MARK: Readonly<Record<keyof OrganizationMarks, readonly Topic[]>> = {
  enrolments: ["enrolments"],
  presence: ["robots", "fleets"],
  fleets: ["fleets"],
  deployments: ["deployments", "fleets", "usage"],
  usage: ["usage"],
  webhooks: ["webhooks"],
};
const TOPICS_OF_ENDPOINTS: readonly Topic[] = ["models", "fleets", "deployments"];

/** Reads the marks of these organizations. Returns `before` if nothing can have changed since. */
export async function readMarks(
  { reader, version: readVersion }: Pick<Store, "reader" | "version">,
  organizationIds: ReadonlySet<string>,
  before: Marks | null,
  { nowMs, onlineWindowMs }: { readonly nowMs: number; readonly onlineWindowMs: number },
): Promise<Marks> {
  // The version comes first: a commit during the reads below then shows up in the next poll too.
  const version = await readVersion();
  if (before !== null && isStillTrue(before, version, organizationIds, nowMs)) return before;
  const organizations = new Map<string, OrganizationMarks>();
  let nextEdgeMs = Number.POSITIVE_INFINITY;
  for (const organizationId of organizationIds) {
    const fleets = await fleetsMark(reader, organizationId, nowMs);
    const presence = await presenceMark(reader, organizationId, isoTime(nowMs - onlineWindowMs));
    nextEdgeMs = Math.min(nextEdgeMs, fleets.nextEdgeMs);
    const { firstSeenAt } = presence;
    if (firstSeenAt !== null) nextEdgeMs = Math.min(nextEdgeMs, Date.parse(firstSeenAt) + onlineWindowMs + 1);
    organizations.set(organizationId, {
      enrolments: await enrolmentsMark(reader, organizationId),
      presence: presence.mark,
      fleets: fleets.mark,
      deployments: await deploymentsMark(reader, organizationId),
      usage: await usageMark(reader, organizationId),
      webhooks: await webhooksMark(reader, organizationId),
    });
  }
  const changes = await newestChanges(reader);
  const done = before === null ? [] : await doneSince(reader, before.changes, changes);
  return { version, changes, done, endpoints: await endpointsMark(reader), organizations, nextEdgeMs };
}

/** What changed in an organization between two looks, in the order of `TOPICS`; nothing where it was not looked at before. */
export function changedTopics(before: Marks, now: Marks, organizationId: string): readonly Topic[] {
  const [was, is] = [before.organizations.get(organizationId), now.organizations.get(organizationId)];
  if (before === now || was === undefined || is === undefined) return [];
  if (now.done === null) return TOPICS;
  const own = now.done.filter((each) => each.organization_id === null || each.organization_id === organizationId);
  const changed = new Set<Topic>([
    ...own.flatMap(({ action }) => topicsOfAction(action)),
    ...(now.endpoints === before.endpoints ? [] : TOPICS_OF_ENDPOINTS),
    ...MARKS.flatMap((mark) => (is[mark] === was[mark] ? [] : TOPICS_BY_MARK[mark])),
  ]);
  return TOPICS.filter((topic) => changed.has(topic));
}

async function doneSince(
  reader: Reader,
  before: readonly AuditedChange[],
  now: readonly AuditedChange[],
): Promise<Marks["done"]> {
  const known = new Set(before.map(({ id }) => id));
  const done = now.filter(({ id }) => !known.has(id));
  if (done.length < NEWEST_CHANGES_MAXIMUM) return done;
  // More changes than were read, perhaps all by one organization: count them, so that the others hear of none. A replica may commit a
  // change with a slightly older id than others, so the count starts at the oldest known change and leaves out the known ones.
  const [oldest, ...others] = before.toReversed();
  const counts = await countChangesSince(reader, oldest?.id ?? "");
  if (counts === null) return null;
  return counts.filter(({ organization_id: organizationId, action, count }) => {
    const old = others.filter((each) => each.organization_id === organizationId && each.action === action);
    return count > old.length;
  });
}

function isStillTrue(
  { version, organizations, nextEdgeMs }: Marks,
  versionNow: string,
  organizationIds: ReadonlySet<string>,
  nowMs: number,
): boolean {
  return version === versionNow && nowMs < nextEdgeMs && [...organizationIds].every((id) => organizations.has(id));
}
