/**
 * Look: what is on the disk. The one memory of files, for configuration, manifest, key, certificates and the robot's configuration files.
 *
 * A look is a consistent cut: at one moment every file held exactly the bytes that were hashed. It waits for files that are being written,
 * and does not read unchanged files again. `snapshot.ts` makes the configuration digest of it; `watch.ts` says when to look.
 */
import type { ListedHardware } from "../hardware/hardware.ts";
import type { Clock } from "../platform/clock.ts";
import { errorCode, type Files, type FileStat, sameStat } from "../platform/files/files.ts";
import { isCheckable, isComplete } from "./complete.ts";
import { createDeviceFiles, type LookFiles } from "./devices.ts";
import { hashFile } from "./hash.ts";

export interface LookRequest {
  readonly path: string;
  /** A larger file is not read. */
  readonly limitBytes: number;
  /** Give the content instead of its hash: for documents. A start with unchanged files hashes nothing, and saves 6 ms. */
  readonly keep?: boolean;
  /** Wait for content that looks half-written, and hash it also with `keep`: for files that other programs write. */
  readonly complete?: boolean;
  /** What is there is a device or interface: its content is the line that says what it is. */
  readonly hardware?: ListedHardware | undefined;
}

export interface LookOptions {
  /** False to read the files now, without waiting for writers to finish. The cut is consistent either way. */
  readonly settle: boolean;
  readonly signal?: AbortSignal | undefined;
  /** Called after each chunk. */
  readonly onProgress?: ((doneBytes: number, totalBytes: number) => void) | undefined;
}

/** What a look found at a path. */
export type Found =
  | ReadFile
  /** The system refused, for example with `ENOENT` or `EACCES`. */
  | { readonly kind: "failed"; readonly code: string }
  /** No regular file, or larger than the limit. */
  | { readonly kind: "unsuitable"; readonly stat: FileStat }
  /** It kept changing for the whole grace. */
  | { readonly kind: "restless" };

export interface ReadFile {
  readonly kind: "read";
  /** The stat of the file when it was read. */
  readonly stat: FileStat;
  /** 64 lower-case hex digits; null for requests with `keep` alone. */
  readonly sha256: string | null;
  /** Bytes that were read. Files under /proc have more than their stat says. */
  readonly bytes: number;
  /** For requests with `keep`. */
  readonly content: Uint8Array | null;
  /** Not valid in the format of its file name: perhaps half-written. */
  readonly isHalf: boolean;
  /** Of a device, the content: what the hardware is. */
  readonly line: string | null;
}

/** Files are being written: look again after `waitMs`. */
export interface Unsettled {
  readonly kind: "unsettled";
  readonly waitMs: number;
  readonly paths: readonly string[];
}

export interface Looked {
  readonly kind: "looked";
  readonly found: ReadonlyMap<string, Found>;
  /** Bytes that were read; 0 when the stat of every file was known. */
  readonly readBytes: number;
}

export type Look = ReturnType<typeof createLook>;

/** The result of a stat: the stat or the error code. */
export type View =
  | { readonly kind: "seen"; readonly stat: FileStat }
  | { readonly kind: "hidden"; readonly code: string };

interface Entry {
  readonly view: View;
  /** Monotonic time of the first look that showed this view. */
  readonly sinceMs: number;
  /** Since when the file holds still for sure: at the first look at a path by its timestamps, from then on as `sinceMs`. */
  readonly stillSinceMs: number;
  /** From an earlier process; this one has not looked yet. */
  isRemembered: boolean;
  /** A look showed another view before, so the file may be back soon. */
  readonly wasOther: boolean;
  /** When the file was first seen to change, while it has not held still since. */
  changingSinceMs: number | null;
  /** Since when every look found the content half-written. */
  halfSinceMs: number | null;
  /** What was read with this view. */
  read: Read | null;
  /** The content that was taken last, which is not waited for again, and whether the file ever had any. */
  taken: { readonly sha256: string | null; readonly hadContent: boolean } | null;
}

/**
 * How far a hash counts while the stat stays. `recent`: the file may change without a new stat, because timestamps have a resolution of up to
 * two seconds; it is read again with each look. `inherited`: from an earlier process, enough to see that nothing changed, not enough to
 * register a new digest.
 */
interface Read extends Omit<ReadFile, "line"> {
  readonly trust: "inherited" | "recent" | "settled";
}

/** A file that was seen with one stat for this long on the monotonic clock has no later change with the same timestamps. */
const RECENT_MS = 2000;
/** How long a file that keeps changing or looks half-written is waited for, beyond the settle time. */
const GRACE_MS = 10_000;
/** The same for a file that had content and is empty. Calibration programs empty their file, and write it once a person has moved the robot. */
const EMPTIED_MS = 60_000;
/** How long a file may be gone before that counts: updates of packages and switches of branches remove files and write them again. */
const GONE_MS = 5000;
/** How often a device that is gone is looked at meanwhile: another one may be plugged in. */
const REPLACED_MS = 500;
/** How often a look reads what changed meanwhile, before files count as restless. */
const MAX_ROUNDS = 8;
/** How fast `verify` reads, 8 MiB/s: low load for the robot, and a gigabyte takes two minutes. */
const VERIFY_BYTES_PER_MS = (8 * 1024 * 1024) / 1000;

export function createLook(machine: { readonly files: Files; readonly clock: Clock }) {
  const { clock } = machine;
  const devices = createDeviceFiles(machine);
  const files = devices.disk;
  const entries = new Map<string, Entry>();

  async function statAll(paths: readonly string[], signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted();
    await Promise.all(
      paths.map(async (path) => {
        const view = await viewOf(files, path);
        const before = entries.get(path);
        if (before === undefined) entries.set(path, firstEntry(view, null));
        else if (sameView(before.view, view)) before.isRemembered = false;
        else entries.set(path, before.isRemembered ? firstEntry(view, before.taken) : nextEntry(before, view));
      }),
    );
    signal?.throwIfAborted();
  }

  function firstEntry(view: View, taken: Entry["taken"]): Entry {
    const sinceMs = clock.monotonicMs();
    const ageMs = view.kind === "seen" ? clock.wallMs() - changedMs(view.stat) : 0;
    const stillSinceMs = sinceMs + coarsenessMs(view) - Math.max(0, ageMs);
    const isFirst = { isRemembered: false, wasOther: false, changingSinceMs: null, halfSinceMs: null };
    return { ...isFirst, view, sinceMs, stillSinceMs, read: null, taken };
  }

  function nextEntry(before: Entry, view: View): Entry {
    const sinceMs = clock.monotonicMs();
    return { ...before, view, sinceMs, stillSinceMs: sinceMs + coarsenessMs(view), wasOther: true, read: null };
  }

  function entryOf(path: string): Entry {
    const entry = entries.get(path);
    if (entry === undefined) throw new Error(`${path} was not looked at`);
    return entry;
  }

  /** Milliseconds until a file that changed has held still; 0 when it has, and when its grace is over. */
  function settleWaitMs(entry: Entry, request: LookRequest, settleMs: number): number {
    const { view, read, wasOther, stillSinceMs } = entry;
    if (read !== null || (view.kind === "seen" && !isSuitable(view.stat, request))) return 0;
    const nowMs = clock.monotonicMs();
    const neededMs = view.kind === "hidden" && wasOther ? Math.max(GONE_MS, settleMs) : settleMs;
    const leftMs = neededMs - (nowMs - stillSinceMs);
    if (leftMs <= 0) {
      entry.changingSinceMs = null;
      return 0;
    }
    entry.changingSinceMs ??= nowMs;
    if (view.kind === "hidden") return request.hardware === undefined ? leftMs : Math.min(leftMs, REPLACED_MS);
    return Math.max(0, Math.min(leftMs, graceLeftMs(entry, settleMs)));
  }

  function graceLeftMs({ changingSinceMs }: Entry, settleMs: number): number {
    return changingSinceMs === null ? Infinity : changingSinceMs + settleMs + GRACE_MS - clock.monotonicMs();
  }

  /** Milliseconds until content that looks half-written, or is empty, may be complete; 0 when it is, and when its grace is over. */
  function completeWaitMs(entry: Entry, settleMs: number): number {
    const { read, taken, stillSinceMs } = entry;
    if (read === null || (read.bytes > 0 && !read.isHalf) || read.sha256 === taken?.sha256) {
      entry.halfSinceMs = null;
      return 0;
    }
    const nowMs = clock.monotonicMs();
    entry.halfSinceMs ??= nowMs;
    const graceMs = isEmptied(entry) ? EMPTIED_MS : settleMs + GRACE_MS;
    const leftMs = Math.min(graceMs - (nowMs - stillSinceMs), EMPTIED_MS - (nowMs - entry.halfSinceMs));
    // Ask again in short steps, in case no event reports the end of the writing; the last step ends with the grace.
    return Math.max(0, leftMs < 2 * settleMs ? leftMs : settleMs);
  }

  /** Reads what is not known. A file that changes meanwhile stays without a hash. @returns the bytes that were read. */
  async function readAll(
    requests: readonly LookRequest[],
    failures: Map<string, Found>,
    { signal, onProgress }: LookOptions,
  ): Promise<number> {
    const totalBytes = requests.reduce((total, { path }) => total + sizeOf(entryOf(path)), 0);
    let doneBytes = 0;
    const onBytes = (count: number) => {
      doneBytes += count;
      onProgress?.(Math.min(doneBytes, totalBytes), totalBytes);
    };
    for (const request of requests) {
      const { path, limitBytes } = request;
      const entry = entryOf(path);
      if (entry.view.kind !== "seen") continue;
      const { stat: expected } = entry.view;
      const startedMs = clock.monotonicMs();
      const isChecked = request.complete === true && isCheckable(path, expected.sizeBytes);
      // A file whose stat says 0 may be of any size.
      const keep = request.keep === true || (isChecked && expected.sizeBytes > 0);
      const wanted = { path, expected, hash: isHashed(request), keep, limitBytes };
      const result = await hashFile(files, wanted, { signal, onBytes });
      entry.read = null;
      switch (result.kind) {
        case "read": {
          const { sha256, bytes } = result;
          const trust = startedMs - entry.sinceMs >= RECENT_MS ? "settled" : "recent";
          const isSized = bytes === expected.sizeBytes;
          const isHalf = isChecked && isSized && !isComplete(path, result.content ?? new Uint8Array());
          const content = request.keep === true ? result.content : null;
          entry.read = { kind: "read", stat: expected, sha256, bytes, content, isHalf, trust };
          break;
        }
        case "too-large":
          failures.set(path, { kind: "unsuitable", stat: { ...expected, sizeBytes: limitBytes + 1 } });
          break;
        case "failed":
          failures.set(path, result);
          break;
        case "moved":
      }
    }
    return doneBytes;
  }

  /** Files that are waited for; null when all have settled or their grace is over. */
  function unsettled(requests: readonly LookRequest[], waitMs: (entry: Entry, request: LookRequest) => number) {
    const waits = requests
      .map((request) => ({ path: request.path, waitMs: Math.ceil(waitMs(entryOf(request.path), request)) }))
      .filter((wait) => wait.waitMs > 0);
    if (waits.length === 0) return null;
    const longestMs = Math.max(...waits.map((wait) => wait.waitMs));
    return { kind: "unsettled", waitMs: longestMs, paths: waits.map(({ path }) => path) } as const;
  }

  function conclude(request: LookRequest, failures: ReadonlyMap<string, Found>): Found {
    const { path } = request;
    const failure = failures.get(path);
    if (failure !== undefined) return failure;
    const entry = entryOf(path);
    const { view, read } = entry;
    if (view.kind === "hidden") return { kind: "failed", code: view.code };
    if (!isSuitable(view.stat, request)) return { kind: "unsuitable", stat: view.stat };
    if (read === null) return { kind: "restless" };
    const isHalf = read.isHalf || isEmptied(entry);
    entry.taken = { sha256: read.sha256, hadContent: read.bytes > 0 || isHalf };
    return { ...read, isHalf, line: devices.lineOf(path) };
  }

  return {
    /**
     * Takes one consistent cut of the files and reads only what changed. Do not call it again before it resolves.
     *
     * @param settleMs how long a file must hold still before it is read.
     * @throws `options.signal.reason` when the signal aborts.
     */
    async at(given: readonly LookRequest[], settleMs: number, options: LookOptions): Promise<Looked | Unsettled> {
      const { settle, signal } = options;
      const requests = onePerPath(given);
      for (const { path, hardware } of requests) devices.list(path, hardware);
      const paths = requests.map(({ path }) => path);
      const failures = new Map<string, Found>();
      const readNow = new Set<string>();
      let readBytes = 0;
      for (let round = 0; ; round += 1) {
        await statAll(paths, signal);
        // A digest never mixes in what another process read, perhaps from another disk.
        if (requests.some((request) => isUnread(entryOf(request.path), request))) {
          for (const path of paths) dropInherited(entryOf(path));
        }
        const changing = settle
          ? unsettled(requests, (entry, request) => settleWaitMs(entry, request, settleMs))
          : null;
        if (changing !== null) return changing;
        const isRestless = (entry: Entry) => settle && graceLeftMs(entry, settleMs) <= 0;
        const missing = requests.filter((request) => {
          const entry = entryOf(request.path);
          if (failures.has(request.path) || isRestless(entry)) return false;
          return isUnread(entry, request) || (entry.read?.trust === "recent" && !readNow.has(request.path));
        });
        if (missing.length > 0 && round < MAX_ROUNDS) {
          readBytes += await readAll(missing, failures, options);
          for (const { path } of missing) readNow.add(path);
          continue;
        }
        // Every hash is older than the last stats. As they are the same, all files had the hashed content at that moment.
        const checked = requests.filter(({ path, complete }) => complete === true && !failures.has(path));
        const half = settle ? unsettled(checked, (entry) => completeWaitMs(entry, settleMs)) : null;
        if (half !== null) return half;
        break;
      }
      const found = new Map(requests.map((request) => [request.path, conclude(request, failures)] as const));
      // The next change begins a new grace.
      for (const path of paths) entryOf(path).changingSinceMs = null;
      return { kind: "looked", found, readBytes };
    },

    /** True when every file is as it was found last. Costs one stat per file. */
    async isUnchanged(paths: readonly string[]): Promise<boolean> {
      const areSame = await Promise.all(
        paths.map(async (path) => {
          const entry = entries.get(path);
          if (entry === undefined || (entry.view.kind === "seen" && isUnsure(entry))) return false;
          return sameView(entry.view, await viewOf(files, path));
        }),
      );
      return areSame.every(Boolean);
    },

    /** Monotonic time at which recent hashes should be confirmed by another look. */
    confirmDueMs(): number {
      const recent = [...entries.values()].filter(({ read }) => read?.trust === "recent");
      return Math.min(Infinity, ...recent.map(({ sinceMs }) => sinceMs + RECENT_MS));
    },

    /** Adopts what an earlier process read. @param trust `settled` for one that ran a short time ago. */
    remember(known: readonly Remembered[], trust: "inherited" | "settled" = "inherited") {
      for (const { path, stat, sha256, bytes, suspect } of known) {
        const read: Read = { kind: "read", stat, sha256, bytes, content: null, isHalf: suspect, trust };
        const taken = { sha256, hadContent: bytes > 0 || suspect };
        entries.set(path, { ...firstEntry({ kind: "seen", stat }, taken), read, isRemembered: true });
      }
    },

    /** Forgets all other paths. */
    retain(paths: readonly string[]) {
      const kept = new Set(paths);
      for (const path of entries.keys()) if (!kept.has(path)) entries.delete(path);
    },

    /** Forgets all hashes, so that the next look reads every file. */
    invalidate() {
      for (const entry of entries.values()) entry.read = null;
    },

    /**
     * Reads files again although their stat did not change, slowly and one after the other, beside other looks. The next look reads those
     * whose content changed: a read-only image is swapped for one with equal lengths and timestamps, a write through a memory mapping updates
     * the timestamps late (mmap(2)), a disk fails.
     *
     * @param limitBytes how much to read: of the smallest files.
     * @returns the paths of the files whose content changed although their stat did not.
     * @throws `signal.reason` when the signal aborts.
     */
    async verify(limitBytes: number, signal: AbortSignal): Promise<readonly string[]> {
      const changed: string[] = [];
      // Of a device each look asks anew.
      const ofFiles = [...entries].filter(([path]) => !devices.isListed(path));
      const reads = ofFiles.flatMap(([path, { read }]) => (read === null ? [] : [{ path, read }]));
      const onBytes = (count: number) => clock.sleep(count / VERIFY_BYTES_PER_MS, signal);
      let totalBytes = 0;
      for (const { path, read } of reads.toSorted((one, other) => one.read.bytes - other.read.bytes)) {
        const { stat: expected, sha256, bytes } = read;
        totalBytes += bytes;
        // A recent hash is confirmed by the next look.
        if (read.trust === "recent" || totalBytes > limitBytes) continue;
        const wanted = { path, expected, hash: sha256 !== null, keep: sha256 === null, limitBytes: bytes };
        const result = await hashFile(files, wanted, { signal, onBytes });
        const entry = entries.get(path);
        // A look has read it meanwhile, or will see that its stat changed.
        if (entry?.read !== read || result.kind === "moved") continue;
        if (result.kind === "read" && isSameContent(result, read)) entry.read = { ...read, trust: "settled" };
        else {
          entry.read = null;
          changed.push(path);
        }
      }
      return changed;
    },
  };
}

interface Remembered extends Pick<Read, "stat" | "sha256" | "bytes"> {
  readonly path: string;
  readonly suspect: boolean;
}

async function viewOf(files: LookFiles, path: string): Promise<View> {
  try {
    return { kind: "seen", stat: await files.stat(path) };
  } catch (error) {
    const code = errorCode(error);
    if (code === undefined) throw error;
    return { kind: "hidden", code };
  }
}

function sameView(one: View, other: View): boolean {
  if (one.kind === "seen") return other.kind === "seen" && sameStat(one.stat, other.stat);
  return other.kind === "hidden" && one.code === other.code;
}

/** Wall time of the last change that the timestamps show. */
function changedMs(stat: FileStat): number {
  return Number(changedNs(stat) / 1000n) / 1000;
}

function changedNs({ mtimeNs, ctimeNs }: FileStat): bigint {
  return mtimeNs > ctimeNs ? mtimeNs : ctimeNs;
}

/** Whether a file may have changed a moment before, so that another change may hide behind the same timestamps. */
export function isRecent(stat: FileStat, wallMs: number): boolean {
  return wallMs - changedMs(stat) < 2 * RECENT_MS;
}

/** For how long a change may hide behind a timestamp. File systems such as FAT and ext3 keep whole or even seconds. */
function coarsenessMs(view: View): number {
  return view.kind === "seen" && changedNs(view.stat) % 1_000_000_000n === 0n ? RECENT_MS : 0;
}

function isSuitable({ kind, sizeBytes }: FileStat, { limitBytes }: LookRequest): boolean {
  return kind === "file" && sizeBytes <= limitBytes;
}

/** A path that is asked for twice, as a manifest that lists itself, is looked at once. */
function onePerPath(requests: readonly LookRequest[]): readonly LookRequest[] {
  const byPath = new Map<string, LookRequest>();
  for (const request of requests) {
    const same = byPath.get(request.path) ?? request;
    byPath.set(request.path, { ...same, ...request, limitBytes: Math.min(same.limitBytes, request.limitBytes) });
  }
  return [...byPath.values()];
}

function isUnread({ view, read }: Entry, request: LookRequest): boolean {
  if (view.kind === "hidden" || !isSuitable(view.stat, request)) return false;
  if (read === null || (request.keep === true && read.content === null)) return true;
  return isHashed(request) && read.sha256 === null;
}

function isHashed({ keep, complete }: LookRequest): boolean {
  return keep !== true || complete === true;
}

/** True when two reads of a file gave the same content. */
export function isSameContent(one: Content, other: Content): boolean {
  if (one.sha256 !== null && other.sha256 !== null) return one.sha256 === other.sha256;
  return one.content !== null && other.content !== null && Buffer.compare(one.content, other.content) === 0;
}

type Content = Pick<ReadFile, "sha256" | "content">;

function isUnsure({ read, view }: Entry): boolean {
  return read === null ? view.kind === "seen" && view.stat.kind === "file" : read.trust === "recent";
}

/** True for a file that had content and is empty now. */
function isEmptied({ read, taken }: Entry): boolean {
  return read?.bytes === 0 && taken?.hadContent === true;
}

function sizeOf({ view }: Entry): number {
  return view.kind === "seen" ? view.stat.sizeBytes : 0;
}

function dropInherited(entry: Entry): void {
  if (entry.read?.trust === "inherited") entry.read = null;
}
