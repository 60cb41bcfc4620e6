import { errorCode } from "../../platform/files/files.ts";

/** Plain words for errors of the system (errno(3)). */
const REASONS: ReadonlyMap<string, string> = new Map([
  ["EACCES", "this user has no permission"],
  ["EPERM", "this user has no permission"],
  ["EEXIST", "a file, or a link that leads nowhere, has that name already"],
  ["EINVAL", "it is not a regular file"],
  ["EISDIR", "it is a directory"],
  ["ELOOP", "its links lead in a circle"],
  ["ENAMETOOLONG", "the name is too long"],
  ["ENOENT", "there is no such file or directory"],
  ["ENOSPC", "the disk is full"],
  ["ENOTDIR", "what should be a directory on the way there is none"],
  ["EROFS", "the disk is read-only, or the unit lets the service only read there"],
]);

/** Why a file or directory could not be used, in plain words if known, else the message of the error. */
export function systemReason(error: Error): string {
  return REASONS.get(errorCode(error) ?? "") ?? error.message;
}

/** For a path that can only be read. The unit lets the service write below /var/lib/robot-policy-service alone (ProtectSystem=strict). */
export const MAKE_WRITABLE =
  "choose a folder below /var/lib/robot-policy-service, make its disk writable, or let the unit write there: systemctl edit robot-policy-service, then the lines [Service] and ReadWritePaths=FOLDER";

/** Whether the error is one of permissions. */
export function isPermissionDenied(error: unknown): boolean {
  const code = errorCode(error);
  return code === "EACCES" || code === "EPERM";
}
