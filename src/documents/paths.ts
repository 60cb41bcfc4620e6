import { isPrintableAscii } from "./code-points.ts";

/** PATH_MAX of Linux (limits.h). */
const LONGEST_PATH_BYTES = 4096;

/** Kernel interfaces, not files: their content is not configuration. */
const KERNEL_FOLDERS = ["/dev/", "/proc/", "/sys/"];

/** Names of files that do not configure the robot's motion, or must not be read: SPEC section 2.6. */
const UNSUITABLE: readonly { readonly pattern: RegExp; readonly reason: string }[] = [
  { pattern: /\.log$/, reason: "is a log" },
  { pattern: /^cached_cloud_config_.*\.json$/s, reason: "is a cache that a server rewrites" },
  { pattern: /^(?:norm_stats|dataset_statistics)\.json$/, reason: "belongs to the checkpoint" },
  { pattern: /^(?:\.env|id_rsa|id_ed25519|id_ecdsa)$|\.(?:pem|key)$/, reason: "is a credential" },
];

/** Why a path is invalid in `configuration_files`; undefined for a valid path. */
export function configurationPathProblem(path: string): string | undefined {
  if (!path.startsWith("/") && !path.startsWith("~/")) return "not absolute; start it with / or ~/";
  if (/[$*?]/.test(path)) return "$, * and ? have no meaning here; write the path out";
  if (path.endsWith("/")) return "a folder, not a file";
  if (KERNEL_FOLDERS.some((folder) => collapse(path).startsWith(folder))) return "not a configuration file";
  return pathProblem(path);
}

/** Why a text cannot be the path of a file; undefined for a valid path. Does not check whether it is absolute. */
export function pathProblem(path: string): string | undefined {
  if (Buffer.byteLength(path) > LONGEST_PATH_BYTES) return `longer than ${LONGEST_PATH_BYTES} bytes`;
  if (!isPrintableAscii(path) && !isVisible(path)) return "it holds invisible characters";
  if (path.split("/").includes("..")) return ".. is not allowed; write the path out";
  if (path.endsWith("/")) return "leave out the / at its end";
  return undefined;
}

function isVisible(path: string): boolean {
  return path.isWellFormed() && !/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(path);
}

/** The path with `//` and `/./` collapsed, to compare two spellings. */
export function collapse(path: string): string {
  return path.replaceAll(/\/(?:\.?\/)+/g, "/");
}

/** Why a file should not be in the digest, judged by its name; undefined for a suitable file. */
export function unsuitability(path: string): string | undefined {
  const name = path.slice(path.lastIndexOf("/") + 1);
  return UNSUITABLE.find(({ pattern }) => pattern.test(name))?.reason;
}
