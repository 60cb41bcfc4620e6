/** The list of what decides how the robot behaves, in the order of its digest: SPEC section 2.6. */
import * as z from "zod";

import type { ListedHardware } from "../hardware/hardware.ts";
import type { Path } from "../documents/findings.ts";
import type { Doubt } from "../documents/read.ts";
import {
  formed,
  list,
  memberOf,
  OF_LIST,
  OF_MAPPING,
  pathProblem,
  refuse,
  refuseRepeated,
  text,
  textsAt,
} from "../documents/schemas.ts";
import { shown, shownPath } from "../documents/texts.ts";

export interface ConfigurationFileEntry {
  /** For people only; the path by default. */
  readonly label: string;
  /**
   * As written: absolute, or starting with `~/`. Of a pattern the last part has `*` or `?`. Of an interface it is the folder where the
   * kernel describes it.
   */
  readonly path: string;
  /** JSON Pointer to the path in the manifest. */
  readonly loc: string;
  /** Set for a device or interface: what the hardware is counts in place of the content of a file. */
  readonly hardware?: ListedHardware;
  /** The content may be sent to the service, and not only its hash. */
  readonly share?: true;
}

export const FILE_COUNT = { minimum: 0, maximum: 64 };
const LABEL_LIMIT = 128;
/** The key of the list. */
const KEY = "configuration_files";
/** What an entry can be; it has one of these keys. */
const KINDS = ["path", "device", "interface"] as const;
/** As the kernel has it (dev_valid_name in net/core/dev.c). */
const INTERFACE = /^(?!\.{1,2}$)[^/:\s]{1,15}$/;

function pathOf(problemOf: (path: string) => string | undefined, pattern: string) {
  const describe = (path: string) => {
    const problem = problemOf(path);
    return problem === undefined ? undefined : `${shownPath(path)}: ${problem}`;
  };
  return formed("config_path", describe, { maxLength: 4096, pattern });
}

const filePath = pathOf(configurationPathProblem, "^(?:/|~/)(?:[^$*?]*/)?[^$/]+$").describe(
  "Absolute path; ~/ stands for robot.home of the agent's configuration. With * or ? in its last part, all files with such names.",
);

const entry = z
  .object({
    label: text(LABEL_LIMIT).describe("For people only; different for each entry.").optional(),
    path: filePath.optional(),
    device: pathOf(devicePathProblem, "^/[^$*?]*[^$*?/]$")
      .describe("Path of a device as the robot's software opens it. What the device is counts.")
      .optional(),
    interface: formed(
      "interface_name",
      (name) => (INTERFACE.test(name) ? undefined : `${shown(name)} is not the name of an interface such as can0`),
      { pattern: INTERFACE.source },
    )
      .describe("Name of a network interface, such as can0. What its adapter is counts.")
      .optional(),
    by: z
      .enum(["serial", "port"])
      .describe("port: a device is known by the port that it hangs on, for those that share a serial number.")
      .optional(),
    share: z
      .boolean()
      .describe(
        "true: the service gets the content of the file, so that people see there what changed in it. UTF-8 of at most 256 KiB, without a secret.",
      )
      .optional(),
  })
  .superRefine(refuseKinds, OF_MAPPING);

/** The ordered list. */
export const configurationFiles = list(
  FILE_COUNT,
  z.union([filePath, entry], { error: () => "a path or {label, path}" }),
)
  .superRefine(refuseTwice, OF_LIST)
  .transform((entries) => entries.map(entryOf));

function entryOf(written: string | z.output<typeof entry>, index: number): ConfigurationFileEntry {
  const loc = `/${KEY}/${index}`;
  if (typeof written === "string") return { label: written, path: written, loc };
  const { path, device, interface: name, by = "serial", share } = written;
  const kind = KINDS.find((each) => written[each] !== undefined) ?? "path";
  const label = written.label ?? written[kind] ?? "";
  const place = { label, loc: `${loc}/${kind}` };
  if (device !== undefined) {
    const collapsed = collapse(device);
    return { ...place, path: collapsed, hardware: { request: { device: collapsed }, by } };
  }
  if (name === undefined) return { ...place, path: path ?? "", ...(share === true && { share }) };
  return { ...place, path: `/sys/class/net/${name}`, hardware: { request: { interface: name }, by } };
}

/** Refuses an entry that is none of the kinds, or several, and `by` and `share` where they mean nothing. */
function refuseKinds(
  written: Readonly<Partial<Record<(typeof KINDS)[number] | "by" | "share", unknown>>>,
  ctx: z.core.$RefinementCtx,
): void {
  const [kind, other] = KINDS.filter((each) => written[each] !== undefined);
  if (kind === undefined)
    refuse(ctx, { id: "missing", path: ["path"], message: "path is required, or device or interface" });
  if (other !== undefined) {
    refuse(ctx, { id: "not_allowed", path: [other], isKey: true, message: `${kind} and ${other} exclude each other` });
  }
  if (kind === "path" && written.by !== undefined) {
    refuse(ctx, { id: "not_allowed", path: ["by"], isKey: true, message: "by belongs to a device or interface" });
  }
  if ((kind === "device" || kind === "interface") && written.share !== undefined) {
    const message = `share belongs to a path; what a ${kind} is, is told to the service anyway`;
    refuse(ctx, { id: "not_allowed", path: ["share"], isKey: true, message });
  }
}

const LISTED = { id: "config_duplicate", done: "listed", compared: collapse };

/** Refuses entries and labels that are listed twice. */
function refuseTwice(files: unknown, ctx: z.core.$RefinementCtx): void {
  refuseRepeated(ctx, [...writtenPaths(files), ...textsAt(files, "device"), ...textsAt(files, "interface")], LISTED);
  refuseRepeated(ctx, textsAt(files, "label"));
}

/** What should not be on the list, or is missing there, of a manifest that may have errors. */
export function doubtsOfFiles(files: unknown): readonly Doubt[] {
  if (files === undefined || (Array.isArray(files) && files.length === 0)) {
    return [{ id: "no_config_files", path: [KEY], message: "no configuration files: the digest covers nothing" }];
  }
  return writtenPaths(files).flatMap(({ text, path }) => {
    const reason = unsuitability(text);
    if (reason === undefined) return [];
    const message = `${shownPath(text)} ${reason}; it should not be part of the digest`;
    return [{ id: "config_unsuitable", path: [KEY, ...path], message }];
  });
}

/** The valid paths of a list that may be wrong. */
function writtenPaths(files: unknown): readonly { readonly text: string; readonly path: Path }[] {
  if (!Array.isArray(files)) return [];
  return files.flatMap((file: unknown, index) => {
    const text = typeof file === "string" ? file : memberOf(file, "path");
    const path = typeof file === "string" ? [index] : [index, "path"];
    return typeof text === "string" && configurationPathProblem(text) === undefined ? [{ text, path }] : [];
  });
}

/** Kernel interfaces, not files: their content is not configuration. */
const KERNEL_FOLDERS = ["/proc/", "/sys/"];

/** Names of files that do not configure the robot's motion, or must not be read. */
const UNSUITABLE: readonly { readonly pattern: RegExp; readonly reason: string }[] = [
  { pattern: /\.log$/, reason: "is a log" },
  { pattern: /^cached_cloud_config_.*\.json$/s, reason: "is a cache that a server rewrites" },
  { pattern: /^(?:norm_stats|dataset_statistics)\.json$/, reason: "belongs to the checkpoint" },
  { pattern: /^(?:\.env|id_rsa|id_ed25519|id_ecdsa)$|\.(?:pem|key)$/, reason: "is a credential" },
];

/** Why a path is invalid in the list; undefined for a valid path. */
function configurationPathProblem(path: string): string | undefined {
  if (!path.startsWith("/") && !path.startsWith("~/")) return "not absolute; start it with / or ~/";
  if (path.includes("$")) return "$ has no meaning here; write the path out";
  if (/[*?].*\//.test(path)) return "* and ? may stand in the last part only; write the folders out";
  if (path.endsWith("/")) return `a folder, not a file; write ${path}* for all files in it`;
  if (collapse(path).startsWith("/dev/")) return `a device; write {device: ${path}}`;
  if (KERNEL_FOLDERS.some((folder) => collapse(path).startsWith(folder))) return "not a configuration file";
  return pathProblem(path);
}

/** Why a path cannot be that of a device; undefined for one that can. */
function devicePathProblem(path: string): string | undefined {
  if (!path.startsWith("/")) return "not absolute; start it with /";
  if (/[$*?]/.test(path)) return "$, * and ? have no meaning here; write the path out";
  return pathProblem(path);
}

/** The path with `//` and `/./` collapsed, to compare two spellings. */
function collapse(path: string): string {
  return path.replaceAll(/\/(?:\.?\/)+/g, "/");
}

/** Why a file should not be in the digest, judged by its name; undefined for a suitable file. */
function unsuitability(path: string): string | undefined {
  const name = path.slice(path.lastIndexOf("/") + 1);
  return UNSUITABLE.find(({ pattern }) => pattern.test(name))?.reason;
}
