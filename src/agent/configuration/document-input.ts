import { danglingLink, hiddenByUnit, linkTarget } from "../../fingerprint/findings.ts";
import { createObservations, sameView, type View, viewNow } from "../../fingerprint/observations.ts";
import type { Finding } from "../../manifest/finding.ts";
import type { Clock } from "../../platform/clock.ts";
import { readBounded } from "../../platform/files/durable-file.ts";
import { errorCode, type Files } from "../../platform/files/files.ts";
import { hidingSetting } from "../../platform/systemd/unit-mounts.ts";

/** The result of reading a document. */
export interface Reading<T> {
  readonly findings: readonly Finding[];
  /** null when a finding is an error. */
  readonly value: T | null;
  /** The position of a JSON Pointer in the document. */
  locate(loc: string): { readonly line: number; readonly column: number };
}

/** A file that a person edits and the agent watches. */
export interface DocumentInput<T> {
  readonly path: string;
  /** The latest reading; for an unreadable file, one with that as a finding. */
  readonly reading: Reading<T>;
  /**
   * Reads the file again if it changed.
   *
   * @param settle true to wait for an edit in progress.
   * @returns milliseconds to wait until the file has settled; 0 when `reading` is current.
   */
  refresh(settle: boolean): Promise<number>;
  /** True when the file is still the one from which `reading` was made. */
  isAsRead(): Promise<boolean>;
  /** True when the file is as it was read. One synchronous stat, so for local filesystems only. */
  isUnchanged(): boolean;
  /** The next `refresh` reads the file, changed or not. */
  invalidate(): void;
}

export interface DocumentOptions<T> {
  readonly files: Files;
  readonly clock: Clock;
  readonly path: string;
  /** The remedy when the file does not exist. */
  readonly missingFix: string;
  read(bytes: Uint8Array): Reading<T> | Promise<Reading<T>>;
  settleMs(): number;
}

/** Bounds the read. The readers themselves refuse more than 1 MiB with a finding. */
const READ_LIMIT_BYTES = 1024 * 1024 + 4096;

export function createDocumentInput<T>(options: DocumentOptions<T>): DocumentInput<T> {
  const { files, path } = options;
  const observations = createObservations(options);
  // Before the first read there are no findings.
  let reading: Reading<T> = { findings: [], value: null, locate: () => ({ line: 1, column: 1 }) };
  /** The view of the file from which `reading` was made. */
  let made: View | null = null;
  /** The same, once every later change shows in the stat. */
  let known: View | null = null;

  async function look(): Promise<View> {
    await observations.look([path], undefined);
    return observations.view(path) ?? { kind: "hidden", code: "UNKNOWN" };
  }

  async function readNow(view: View): Promise<{ readonly next: Reading<T>; readonly hasFailed: boolean }> {
    const told = (next: Reading<T>) => ({ next, hasFailed: false });
    if (view.kind === "hidden") return told(await describeFailure(options, view.code));
    if (view.stat.kind !== "file") return told(unreadable("file_not_regular", `${path} is not a regular file`));
    try {
      const bytes = await readBounded(files, path, READ_LIMIT_BYTES);
      if (bytes === "too-large")
        return told(unreadable("too_large", `${path} is ${view.stat.sizeBytes} bytes; the limit is 1048576`));
      return told(await options.read(bytes));
    } catch (error) {
      const next = await describeFailure(options, errorCode(error) ?? "UNKNOWN");
      return { next, hasFailed: true };
    }
  }

  return {
    path,
    get reading() {
      return reading;
    },
    async refresh(settle) {
      const view = await look();
      if (known !== null && sameView(view, known)) return 0;
      if (settle) {
        const settleWaitMs = options.settleMs() - observations.quietMs(path);
        const waitMs = Math.ceil(Math.max(settleWaitMs, observations.goneWaitMs(path)));
        if (waitMs > 0) return waitMs;
      }
      const isTrustworthy = observations.isTrustworthy(path);
      const { next, hasFailed } = await readNow(view);
      // Written while it was read, so the content may be incomplete.
      if (!sameView(await look(), view)) {
        // Without waiting, the only result is this finding.
        if (!settle) reading = unreadable("file_unstable", `${path} is being written; try again`);
        return Math.max(1, options.settleMs());
      }
      made = view;
      reading = next;
      // The failure may be temporary (EIO, EMFILE), so the same file is read again next time.
      known = isTrustworthy && !hasFailed ? view : null;
      return 0;
    },
    isAsRead: async () => made !== null && sameView(await look(), made),
    isUnchanged: () => known !== null && sameView(viewNow(files, path), known),
    invalidate() {
      known = null;
    },
  };
}

async function describeFailure(
  { files, path, missingFix }: Pick<DocumentOptions<unknown>, "files" | "path" | "missingFix">,
  code: string,
): Promise<Reading<never>> {
  const setting = hidingSetting(files.mountsNow(), path);
  if (setting !== null) {
    const { what, remedy } = hiddenByUnit(path, setting);
    return unreadable("file_unreadable", `${what}; ${remedy}`);
  }
  switch (code) {
    case "ENOENT":
    case "ENOTDIR": {
      const target = await linkTarget(files, path);
      const what = target === undefined ? `does not exist; ${missingFix}` : `is ${danglingLink(target)}`;
      return unreadable("file_missing", `${path} ${what}`);
    }
    case "EACCES":
    case "EPERM":
      return unreadable("file_unreadable", `${path} may not be read by this user; give it read permission`);
    default:
      return unreadable("file_unreadable", `${path} cannot be read (${code})`);
  }
}

function unreadable(id: string, message: string): Reading<never> {
  return {
    findings: [{ id, severity: "error", loc: "", message, line: 1, column: 1 }],
    value: null,
    locate: () => ({ line: 1, column: 1 }),
  };
}
