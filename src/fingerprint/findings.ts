import type { FileStat, Files } from "../platform/files/files.ts";

export interface FileFinding {
  readonly id:
    | "file_missing"
    | "file_unreadable"
    | "file_not_regular"
    | "file_too_large"
    | "file_unstable"
    | "file_restless"
    | "file_held_open"
    | "file_unparseable";
  readonly severity: "error" | "warning";
  readonly path: string;
  /** Place in the list, from 0. */
  readonly index: number;
  /** What is wrong and what to do. */
  readonly message: string;
}

/** A finding before it is known where in the list the file stands. */
export type Trouble = Omit<FileFinding, "index">;

/** The system said no to stat, open or read. */
export async function systemTrouble(files: Files, path: string, code: string): Promise<Trouble> {
  switch (code) {
    case "ENOENT":
      return missing(files, path);
    case "ENOTDIR":
      return error(
        "file_missing",
        path,
        `Cannot find ${path}: a part of its path is not a directory; correct the path in the manifest`,
      );
    case "EACCES":
    case "EPERM":
      return error(
        "file_unreadable",
        path,
        `Cannot read ${path}: permission denied; on a robot, sudo robot-policy-agent grant --dry-run shows the right that the agent lacks`,
      );
    case "ELOOP":
      return error(
        "file_unreadable",
        path,
        `Cannot read ${path}: its symbolic links lead in a circle; replace the link by one to a file`,
      );
    case "EMFILE":
    case "ENFILE":
      return error(
        "file_unreadable",
        path,
        `Cannot read ${path}: too many files are open (${code}); raise LimitNOFILE or close other programs`,
      );
    default:
      return error(
        "file_unreadable",
        path,
        `Cannot read ${path}: ${code}; check the disk or the network drive that holds it`,
      );
  }
}

/** A path that is there but cannot be hashed as it is; undefined for a regular file within the limit. */
export function unsuitable(path: string, stat: FileStat, limitBytes: number): Trouble | undefined {
  switch (stat.kind) {
    case "directory":
      return error(
        "file_not_regular",
        path,
        `Cannot hash ${path}: it is a directory; list the files in it that matter, one by one`,
      );
    case "link":
    case "other":
      return error(
        "file_not_regular",
        path,
        `Cannot hash ${path}: it is a FIFO, socket or device; list a regular file`,
      );
    case "file":
      break;
  }
  return stat.size_bytes <= limitBytes ? undefined : tooLarge(path, `${stat.size_bytes} bytes`, limitBytes);
}

export function tooLarge(path: string, size: string, limitBytes: number): Trouble {
  const remedy = "list only files that configure the robot, or raise the limit in the agent's configuration";
  return error("file_too_large", path, `Cannot hash ${path}: ${size}, the limit is ${limitBytes}; ${remedy}`);
}

export function unstable(path: string): Trouble {
  return error(
    "file_unstable",
    path,
    `Cannot hash ${path}: it kept changing while it was read; stop the program that writes it, or take it off the manifest's list`,
  );
}

/** A file that is written all the time and was taken in the end, so that changes of the others are registered. */
export function restless(path: string): Trouble {
  return {
    id: "file_restless",
    severity: "warning",
    path,
    message: `${path} never holds still and was hashed as it was at one moment, so that each look finds another digest; stop the program that writes it, or list a file that only a calibration changes`,
  };
}

/** A file that rests, and that a program has had open for writing for longer than it was waited for. */
export function heldOpen(path: string, processId: number): Trouble {
  return {
    id: "file_held_open",
    severity: "warning",
    path,
    message: `${path} was hashed as it is while process ${processId} has it open for writing, perhaps before it finished; let that program close the file, or list a file that only a calibration changes`,
  };
}

export function unparseable(path: string, isEmpty: boolean): Trouble {
  const what = isEmpty ? "is empty" : "does not parse as what its name says";
  return {
    id: "file_unparseable",
    severity: "warning",
    path,
    message: `${path} ${what} and was hashed as it is; check that the program that writes it finished`,
  };
}

async function missing(files: Files, path: string): Promise<Trouble> {
  const target = await linkTarget(files, path);
  const message =
    target === undefined
      ? `Cannot find ${path}: create it, or correct the path in the manifest`
      : `Cannot find ${path}: it is a symbolic link to ${target}, which is not there; create that file or correct the link`;
  return error("file_missing", path, message);
}

async function linkTarget(files: Files, path: string): Promise<string | undefined> {
  try {
    return await files.readLink(path);
  } catch {
    // No link, or gone as well: the plain message is right.
    return undefined;
  }
}

function error(id: Trouble["id"], path: string, message: string): Trouble {
  return { id, severity: "error", path, message };
}
