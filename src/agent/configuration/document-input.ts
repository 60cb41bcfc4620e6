import type { View } from "../../fingerprint/observations.ts";
import { createObservations, sameView, viewNow } from "../../fingerprint/observations.ts";
import type { Finding } from "../../manifest/finding.ts";
import type { Clock } from "../../platform/clock.ts";
import { readBounded } from "../../platform/files/durable-file.ts";
import type { Files } from "../../platform/files/files.ts";
import { errorCode } from "../../platform/files/files.ts";

/** What a reader made of a document's bytes. */
export interface Reading<T> {
  readonly findings: readonly Finding[];
  /** null when a finding is an error. */
  readonly value: T | null;
  /** Where in the document a JSON Pointer is written. */
  locate(loc: string): { readonly line: number; readonly column: number };
}

/** A file that a person edits and the agent keeps an eye on. */
export interface DocumentInput<T> {
  readonly path: string;
  /** The latest reading; of a file that cannot be read, a reading with that as its finding. */
  readonly reading: Reading<T>;
  /**
   * Reads the file again if it moved.
   *
   * @param settle whether an edit in progress is waited for.
   * @returns how many milliseconds to wait until the file can be trusted to hold still; 0 when `reading` is the truth.
   */
  refresh(settle: boolean): Promise<number>;
  /** Looks at the file: whether it still is what `reading` was made of. */
  isAsRead(): Promise<boolean>;
  /** One synchronous stat: true when the file is as it was read. Local filesystems only. */
  isUnchanged(): boolean;
  /** The next `refresh` reads the file, moved or not. */
  invalidate(): void;
}

export interface DocumentOptions<T> {
  readonly files: Files;
  readonly clock: Clock;
  readonly path: string;
  /** What to do when the file is not there. */
  readonly missingFix: string;
  read(bytes: Uint8Array): Reading<T> | Promise<Reading<T>>;
  settleMs(): number;
}

/** Readers refuse more than 1 MiB themselves, with a proper finding; this only bounds what is read to get there. */
const READ_LIMIT_BYTES = 1024 * 1024 + 4096;

export function createDocumentInput<T>(options: DocumentOptions<T>): DocumentInput<T> {
  const { files, path } = options;
  const observations = createObservations(options);
  // Nothing is wrong with a file that was not looked at yet.
  let reading: Reading<T> = { findings: [], value: null, locate: () => ({ line: 1, column: 1 }) };
  /** What `reading` was made of. */
  let made: View | null = null;
  /** The same, as long as a look can tell that it still is so. */
  let known: View | null = null;

  async function look(): Promise<View> {
    await observations.look([path], undefined);
    return observations.view(path) ?? { kind: "hidden", code: "UNKNOWN" };
  }

  async function readNow(view: View): Promise<{ readonly next: Reading<T>; readonly hasFailed: boolean }> {
    const told = (next: Reading<T>) => ({ next, hasFailed: false });
    if (view.kind === "hidden") return told(describeFailure(path, view.code, options.missingFix));
    if (view.stat.kind !== "file") return told(unreadable("file_not_regular", `${path} is not a regular file`));
    try {
      const bytes = await readBounded(files, path, READ_LIMIT_BYTES);
      if (bytes === "too-large")
        return told(unreadable("too_large", `${path} is ${view.stat.size_bytes} bytes; the limit is 1048576`));
      return told(await options.read(bytes));
    } catch (error) {
      const next = describeFailure(path, errorCode(error) ?? "UNKNOWN", options.missingFix);
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
        const waitMs = Math.ceil(options.settleMs() - observations.quietMs(path));
        if (waitMs > 0) return waitMs;
      }
      const isTrustworthy = observations.isTrustworthy(path);
      const { next, hasFailed } = await readNow(view);
      // Written while it was read: what was read may be half of it.
      if (!sameView(await look(), view)) {
        // Without waiting, there is nothing to show but why.
        if (!settle) reading = unreadable("file_unstable", `${path} is being written; try again`);
        return Math.max(1, options.settleMs());
      }
      made = view;
      reading = next;
      // A failure may pass (EIO, EMFILE): the same file is worth another look.
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

function describeFailure(path: string, code: string, missingFix: string): Reading<never> {
  switch (code) {
    case "ENOENT":
    case "ENOTDIR":
      return unreadable("file_missing", `${path} does not exist; ${missingFix}`);
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
