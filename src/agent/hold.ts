/**
 * A hold: somebody calibrates, and nothing is registered until that is done. It is a file in the runtime directory, which those may write who
 * may reload the agent. So it needs no running agent, survives a restart of the agent, and ends with a reboot. Its times are those of the
 * monotonic clock, which all processes share and which cannot be set.
 */
import { dirname, join } from "node:path";

import * as z from "zod";

import { createLook, type Found, type LookRequest } from "../look/look.ts";
import { type Clock, isoTime } from "../platform/clock.ts";
import { replaceDurably } from "../platform/files/durable-file.ts";
import type { Files } from "../platform/files/files.ts";
import type { Machine } from "../platform/machine.ts";
import { parseJson } from "../platform/text/parse-json.ts";
import { printable } from "../client/printable.ts";
import type { Folders } from "./configuration/folders.ts";
import type { LocatedFinding } from "./findings.ts";

export interface Hold {
  readonly heldBy: string;
  readonly reason: string | null;
  /** Monotonic milliseconds. */
  readonly sinceMs: number;
  readonly untilMs: number;
}

/** `ignored`: the file holds nothing; the finding says why. */
export type HoldReading =
  | { readonly kind: "none" }
  | { readonly kind: "held"; readonly hold: Hold }
  | { readonly kind: "ignored"; readonly finding: LocatedFinding };

/** A hold that somebody forgot ends by itself. */
export const LONGEST_HOLD_MS = 8 * 60 * 60_000;
/** Of the file; a reason and a name are short. */
const LIMIT_BYTES = 4096;
/** Of a reason, in UTF-16 code units. */
export const REASON_LIMIT = 200;
/** Of the name of who holds. */
export const HOLDER_LIMIT = 100;
const WRITABLE_BY_OTHERS = 0o002;

const holdSchema = z.object({
  schema_version: z.literal(1),
  held_by: z.string().min(1).max(HOLDER_LIMIT),
  reason: z.string().max(REASON_LIMIT).nullable(),
  since_monotonic_ms: z.number().nonnegative(),
  for_ms: z.number().positive(),
});

export function holdPath({ runtimeDirectory }: Pick<Folders, "runtimeDirectory">): string {
  return join(runtimeDirectory, "hold.json");
}

/** How to look at the file. */
export function holdRequest(path: string): LookRequest {
  return { path, limitBytes: LIMIT_BYTES, keep: true };
}

/** What a look at the file says. A file that is malformed, foreign or from the future holds nothing. */
export async function readHold(
  files: Files,
  path: string,
  found: Found | undefined,
  clock: Clock,
): Promise<HoldReading> {
  if (found === undefined || (found.kind === "failed" && found.code === "ENOENT")) return { kind: "none" };
  if (found.kind === "failed" && found.code === "ENOTDIR") return { kind: "none" };
  const ignored = (why: string): HoldReading => {
    const message = `${path} ${why}, so it holds nothing; remove it: robot-policy-agent release`;
    return {
      kind: "ignored",
      finding: { id: "hold_ignored", severity: "warning", loc: "", message, file: path, line: 1, column: 1 },
    };
  };
  if (found.kind === "failed") return ignored(`cannot be read (${found.code})`);
  if (found.kind !== "read") return ignored("is no small regular file");
  const folder = await files.stat(dirname(path)).catch(() => null);
  if (folder === null || (found.stat.mode & WRITABLE_BY_OTHERS) !== 0 || (folder.mode & WRITABLE_BY_OTHERS) !== 0)
    return ignored("or its folder can be written by every user");
  const { data } = holdSchema.safeParse(parseJson(Buffer.from(found.content ?? []).toString("utf8")));
  if (data === undefined) return ignored("is no hold of this program");
  const sinceMs = data.since_monotonic_ms;
  if (sinceMs > clock.monotonicMs()) return ignored("is from the future, perhaps of an earlier boot");
  const untilMs = sinceMs + Math.min(data.for_ms, LONGEST_HOLD_MS);
  if (untilMs <= clock.monotonicMs()) return { kind: "none" };
  const reason = data.reason === null ? null : printable(data.reason, REASON_LIMIT);
  return { kind: "held", hold: { heldBy: printable(data.held_by, HOLDER_LIMIT), reason, sinceMs, untilMs } };
}

/** For a command. */
export async function readHoldNow(
  folders: Pick<Folders, "runtimeDirectory">,
  { machine }: { readonly machine: Pick<Machine, "files" | "clock"> },
): Promise<HoldReading> {
  const path = holdPath(folders);
  const looked = await createLook(machine).at([holdRequest(path)], 0, { settle: false });
  return readHold(machine.files, path, looked.kind === "looked" ? looked.found.get(path) : undefined, machine.clock);
}

/** Writes the file. @throws Node system errors, such as EACCES; EPERM where another user's hold is in place. */
export async function writeHold(files: Files, path: string, { heldBy, reason, sinceMs, untilMs }: Hold): Promise<void> {
  const hold: z.infer<typeof holdSchema> = {
    schema_version: 1,
    held_by: heldBy,
    reason,
    since_monotonic_ms: sinceMs,
    for_ms: untilMs - sinceMs,
  };
  await replaceDurably(files, path, Buffer.from(`${JSON.stringify(hold)}\n`), 0o644);
}

/** The hold as documents for people show it. */
export interface HoldStatus {
  readonly held_by: string;
  readonly reason: string | null;
  /** ISO 8601, by this machine's clock. */
  readonly since: string;
  readonly until: string;
}

export function describeHold({ heldBy, reason, sinceMs, untilMs }: Hold, clock: Clock): HoldStatus {
  const aheadMs = clock.wallMs() - clock.monotonicMs();
  // In whole seconds, so that the two clocks give the same text each time.
  const wallOf = (monotonicMs: number) => isoTime(Math.round((monotonicMs + aheadMs) / 1000) * 1000);
  return { held_by: heldBy, reason, since: wallOf(sinceMs), until: wallOf(untilMs) };
}
