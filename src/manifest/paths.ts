import { isPrintableAscii } from "./code-points.ts";

/** Linux takes no longer path (PATH_MAX, limits.h). */
const LONGEST_PATH_BYTES = 4096;

/** Kernel interfaces, not files: their content is not configuration. */
const KERNEL_FOLDERS = ["/dev/", "/proc/", "/sys/"];

/** File names whose content does not decide how a robot moves, or must not be read: SPEC section 2.6. */
const UNSUITABLE: readonly { readonly pattern: RegExp; readonly reason: string }[] = [
  { pattern: /\.log$/, reason: "is a log" },
  { pattern: /^cached_cloud_config_.*\.json$/s, reason: "is a cache that a server rewrites" },
  { pattern: /^(?:norm_stats|dataset_statistics)\.json$/, reason: "belongs to the checkpoint" },
  { pattern: /^(?:\.env|id_rsa|id_ed25519|id_ecdsa)$|\.(?:pem|key)$/, reason: "is a credential" },
];

/** Why a path of `configuration_files` cannot be one; undefined for a good path. */
export function configurationPathProblem(path: string): string | undefined {
  if (!path.startsWith("/") && !path.startsWith("~/")) return "not absolute; start it with / or ~/";
  if (/[$*?]/.test(path)) return "$, * and ? have no meaning here; write the path out";
  if (KERNEL_FOLDERS.some((folder) => collapse(path).startsWith(folder))) return "not a configuration file";
  return pathProblem(path);
}

/** Why a text cannot be the path of a file; undefined for a good path. The kind of its start is not looked at. */
export function pathProblem(path: string): string | undefined {
  if (Buffer.byteLength(path) > LONGEST_PATH_BYTES) return `longer than ${LONGEST_PATH_BYTES} bytes`;
  if (!isPrintableAscii(path) && !isVisible(path)) return "it holds invisible characters";
  if (path.split("/").includes("..")) return ".. is not allowed; write the path out";
  if (path.endsWith("/")) return "a folder, not a file";
  return undefined;
}

function isVisible(path: string): boolean {
  return path.isWellFormed() && !/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(path);
}

/** The path with `//` and `/./` collapsed: how two spellings of one path are compared. */
export function collapse(path: string): string {
  return path.replaceAll(/\/(?:\.?\/)+/g, "/");
}

/** What makes a file unfit for the digest, judged by its name; undefined for a fit one. */
export function unsuitability(path: string): string | undefined {
  const name = path.slice(path.lastIndexOf("/") + 1);
  return UNSUITABLE.find(({ pattern }) => pattern.test(name))?.reason;
}
