import type { Access } from "./disk.ts";
import type { Account } from "./accounts.ts";
import { CURRENT_LINK, SHIPPED_SUFFIX, UNITS_FOLDER, versionFolder } from "./layout.ts";
import type { Observation, Seen } from "./observation.ts";
import { ABSENT } from "./observation.ts";
import type { InstallRecord } from "./record.ts";
import type { Owner, Step } from "./step.ts";
import type { FileItem, Item, Wanted } from "./wanted.ts";

/** What was seen of the machine; all that the plan depends on. */
export interface Machine {
  readonly observation: Observation;
  /** Of the last installation; null where this is the first. */
  readonly record: InstallRecord | null;
  /** The service user, where there is one. */
  readonly account: Account | null;
}

export interface Plan {
  readonly steps: readonly Step[];
  readonly kept: readonly Kept[];
  /** Things of another kind than what belongs there: nothing is installed around them. */
  readonly in_the_way: readonly string[];
  /** What the record is to say once all steps are done. */
  readonly record: InstallRecord;
}

/** A person's, left as it is. */
export interface Kept {
  readonly path: string;
  /** Where ours lies, to compare. */
  readonly shipped: string | null;
}

/** The steps that turn what was seen into what is wanted. Pure. */
export function planFiles(wanted: Wanted, version: string, machine: Machine): Plan {
  const { record } = machine;
  const decisions = wanted.items.map((item) => decideItem(item, machine));
  const steps = decisions.flatMap((decision) => decision.steps);
  // The state is the agent's, and outlives the program.
  const made = steps.flatMap((step) => (step.kind === "make-directory" && step.owner === "root" ? [step.path] : []));
  const files = decisions.flatMap((decision) => decision.files);
  const links = decisions.flatMap((decision) => decision.links);
  const mentioned = new Set([...files, ...links].map(({ path }) => path));
  const current = machine.observation.get(CURRENT_LINK) ?? ABSENT;
  return {
    steps,
    kept: decisions.flatMap((decision) => decision.kept),
    in_the_way: decisions.flatMap((decision) => decision.in_the_way),
    record: {
      schema_version: 1,
      version,
      program: wanted.program,
      previous: previousProgram(wanted.program, current, record),
      // What is not wanted any more stays written down until it is taken away.
      files: [...files, ...(record?.files ?? []).filter(({ path }) => !mentioned.has(path))],
      links: [...links, ...(record?.links ?? []).filter(({ path }) => !mentioned.has(path))],
      directories: [...new Set([...(record?.directories ?? []), ...made])],
    },
  };
}

/** What earlier versions wrote and this one does not want: all but the files of the version before, which stay for the way back. */
export function outdatedFiles(record: InstallRecord, wanted: Wanted): readonly string[] {
  const wanted_paths = new Set(wanted.items.map(({ path }) => path));
  const previous = record.previous === null ? null : `${versionFolder(record.previous)}/`;
  return record.files
    .map(({ path }) => path)
    .filter((path) => {
      if (wanted_paths.has(path) || (previous !== null && path.startsWith(previous))) return false;
      return !(path.endsWith(SHIPPED_SUFFIX) && wanted_paths.has(path.slice(0, -SHIPPED_SUFFIX.length)));
    });
}

/** True when a restarted service would be another one. */
export function changesService(steps: readonly Step[], program: string): boolean {
  const folder = `${versionFolder(program)}/`;
  return steps.some((step) => {
    if (step.kind === "make-link") return step.path === CURRENT_LINK;
    return step.kind === "write-file" && (step.path.startsWith(folder) || step.path.startsWith(`${UNITS_FOLDER}/`));
  });
}

export function changesUnits(steps: readonly Step[]): boolean {
  return steps.some((step) => step.kind === "write-file" && step.path.startsWith(`${UNITS_FOLDER}/`));
}

interface Decision {
  readonly steps: readonly Step[];
  readonly kept: readonly Kept[];
  readonly in_the_way: readonly string[];
  readonly files: InstallRecord["files"];
  readonly links: InstallRecord["links"];
}

const NOTHING: Decision = { steps: [], kept: [], in_the_way: [], files: [], links: [] };

function decideItem(item: Item, machine: Machine): Decision {
  const seen = machine.observation.get(item.path) ?? ABSENT;
  switch (item.kind) {
    case "directory":
      return decideDirectory(item, seen);
    case "file":
      return item.keeping === "kept" ? decideEditable(item, seen, machine) : decideOwn(item, seen, machine);
    case "link":
      return decideLink(item, seen, machine);
  }
}

function decideDirectory({ path, mode, owner }: Extract<Item, { readonly kind: "directory" }>, seen: Seen): Decision {
  if (seen.kind === "directory") return NOTHING;
  if (seen.kind !== "absent") return { ...NOTHING, in_the_way: [path] };
  return { ...NOTHING, steps: [{ kind: "make-directory", path, mode, owner }] };
}

function decideOwn(item: FileItem, seen: Seen, machine: Machine): Decision {
  const { path, sha256 } = item;
  if (seen.kind === "directory" || seen.kind === "other") return { ...NOTHING, in_the_way: [path] };
  const files = item.is_unrecorded === true ? [] : [{ path, sha256 }];
  if (seen.kind !== "file" || seen.sha256 !== sha256) return { ...NOTHING, steps: [writing(item, seen)], files };
  return hasAccess(seen, item, machine.account)
    ? { ...NOTHING, files }
    : { ...NOTHING, steps: [grantingAccess(item, seen)], files };
}

/** What differs from what was shipped last is a person's, whoever was first. */
function decideEditable(item: FileItem, seen: Seen, machine: Machine): Decision {
  const { path, sha256 } = item;
  const shipped_before = machine.record?.files.find((file) => file.path === path)?.sha256;
  const files = [{ path, sha256 }];
  if (seen.kind === "absent") return { ...NOTHING, steps: [writing(item, seen)], files };
  if (seen.kind === "file" && seen.sha256 === sha256) return { ...NOTHING, files };
  if (seen.kind === "file" && seen.sha256 === shipped_before)
    return { ...NOTHING, steps: [writing(item, seen)], files };

  const shipped = path + SHIPPED_SUFFIX;
  const seen_shipped = machine.observation.get(shipped) ?? ABSENT;
  // Once compared and taken away, ours comes back with a new text only.
  const is_told = shipped_before === sha256 && seen_shipped.kind === "absent";
  if (is_told) return { ...NOTHING, kept: [{ path, shipped: null }], files };
  const beside = decideOwn({ ...item, path: shipped, keeping: "replaced" }, seen_shipped, machine);
  return { ...beside, kept: [{ path, shipped }], files: [...files, ...beside.files] };
}

function decideLink(
  { path, target, keeping }: Extract<Item, { readonly kind: "link" }>,
  seen: Seen,
  { record }: Machine,
): Decision {
  const links = [{ path, target }];
  if (seen.kind === "absent") return { ...NOTHING, steps: [{ kind: "make-link", path, target, was: null }], links };
  if (seen.kind === "link" && seen.target === target) return { ...NOTHING, links };
  const is_ours =
    seen.kind === "link" &&
    (keeping === "replaced" ||
      record?.links.some((link) => link.path === path && link.target === seen.target) === true);
  if (is_ours) return { ...NOTHING, steps: [{ kind: "make-link", path, target, was: seen.target }], links };
  return keeping === "kept" ? { ...NOTHING, kept: [{ path, shipped: null }] } : { ...NOTHING, in_the_way: [path] };
}

function writing(item: FileItem, seen: Seen): Step {
  const { path, content, sha256, size_bytes, mode, owner } = item;
  return { kind: "write-file", path, content, sha256, size_bytes, mode, owner, replaces: seen.kind !== "absent" };
}

function grantingAccess({ path, mode, owner }: FileItem, { mode: was_mode, user_id, group_id }: Access): Step {
  return { kind: "set-access", path, mode, owner, was: { mode: was_mode, user_id, group_id } };
}

function hasAccess(seen: Access, { mode, owner }: FileItem, account: Account | null): boolean {
  const wanted = ownerIds(owner, account);
  return seen.mode === mode && wanted?.user_id === seen.user_id && wanted.group_id === seen.group_id;
}

function ownerIds(owner: Owner, account: Account | null): Account | null {
  if (owner === "root") return { user_id: 0, group_id: 0 };
  return owner === "service" ? account : owner;
}

/** The way back leads to what was in force before this version. */
function previousProgram(program: string, current: Seen, record: InstallRecord | null): string | null {
  const in_force = current.kind === "link" ? current.target.replace(/^versions\//, "") : null;
  if (in_force === null || in_force === program) return record?.previous ?? null;
  // Only what we know to have written can be returned to, and is taken away one day.
  return record?.program === in_force ? in_force : (record?.previous ?? null);
}
