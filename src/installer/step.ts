import type { Account } from "./accounts.ts";
import { ACCOUNT_PATHS } from "./accounts.ts";
import type { Measured } from "./content.ts";
import type { Access } from "./disk.ts";
import { SERVICE_USER } from "./layout.ts";

/** The service user has no number before it is added. */
export type Owner = "root" | "service" | Account;

/** One change. Each alone happens wholly or not at all. */
export type Step =
  | { readonly kind: "make-directory"; readonly path: string; readonly mode: number; readonly owner: Owner }
  | (Measured & {
      readonly kind: "write-file";
      readonly path: string;
      readonly mode: number;
      readonly owner: Owner;
      /** Something is there, which is kept until everything is done. */
      readonly replaces: boolean;
    })
  | {
      readonly kind: "set-access";
      readonly path: string;
      readonly mode: number;
      readonly owner: Owner;
      readonly was: Access;
    }
  /** `was` is the target of the link that is there. */
  | { readonly kind: "make-link"; readonly path: string; readonly target: string; readonly was: string | null }
  | { readonly kind: "add-user" }
  | { readonly kind: "reload-units" }
  | { readonly kind: "enable"; readonly unit: string }
  /** Where the configuration is found valid by then. */
  | { readonly kind: "start"; readonly unit: string }
  /** `was_well`: it ran before, so that a version that does not come up is a step back. */
  | { readonly kind: "restart"; readonly unit: string; readonly was_well: boolean };

const USER_ADDED = `add the system user ${SERVICE_USER}`;
/** Of an image; nothing but that user is changed in them. */
const ACCOUNT_FILES: ReadonlySet<string> = new Set(Object.values(ACCOUNT_PATHS));

/** For people, in the imperative: `write /usr/local/… (0644, 3.2 kB)`. */
export function describeStep(step: Step): string {
  switch (step.kind) {
    case "make-directory":
      return `create ${step.path}/ (${accessText(step)})`;
    case "write-file":
      if (ACCOUNT_FILES.has(step.path)) return `${USER_ADDED}, in ${step.path}`;
      return `${step.replaces ? "replace" : "write"} ${step.path} (${accessText(step)}, ${sizeText(step.size_bytes)})`;
    case "set-access":
      return `set mode and owner of ${step.path} (${accessText(step)}, was ${octal(step.was.mode)} ${step.was.user_id}:${step.was.group_id})`;
    case "make-link":
      return `link ${step.path} → ${step.target}${step.was === null ? "" : ` (was ${step.was})`}`;
    case "add-user":
      return USER_ADDED;
    case "reload-units":
      return "systemctl daemon-reload";
    case "enable":
      return `systemctl enable ${step.unit}`;
    case "start":
      return `systemctl start ${step.unit}, if the configuration is valid`;
    case "restart":
      return `systemctl restart ${step.unit}`;
  }
}

/**
 * While it is done, for people: what the machine does differently from now on. Files are listed by `--dry-run`.
 *
 * @returns null for everything else.
 */
export function describeNotable(step: Step): string | null {
  switch (step.kind) {
    case "add-user":
    case "enable":
    case "start":
    case "restart":
      return describeStep(step);
    case "write-file":
      return step.path === ACCOUNT_PATHS.passwd ? USER_ADDED : null;
    case "make-directory":
    case "set-access":
    case "make-link":
    case "reload-units":
      return null;
  }
}

/** For scripts: no content, and never a key. */
export function stepForJson(step: Step): Readonly<Record<string, unknown>> {
  switch (step.kind) {
    case "make-directory":
      return { action: step.kind, path: step.path, mode: octal(step.mode), owner: ownerText(step.owner) };
    case "write-file": {
      const { path, replaces, size_bytes } = step;
      return { action: step.kind, path, mode: octal(step.mode), owner: ownerText(step.owner), size_bytes, replaces };
    }
    case "set-access":
      return { action: step.kind, path: step.path, mode: octal(step.mode), owner: ownerText(step.owner) };
    case "make-link":
      return { action: step.kind, path: step.path, target: step.target };
    case "add-user":
      return { action: step.kind, user: SERVICE_USER };
    case "reload-units":
      return { action: step.kind };
    case "enable":
    case "start":
    case "restart":
      return { action: step.kind, unit: step.unit };
  }
}

function accessText({ mode, owner }: { readonly mode: number; readonly owner: Owner }): string {
  return owner === "root" ? octal(mode) : `${octal(mode)} ${ownerText(owner)}`;
}

function ownerText(owner: Owner): string {
  if (owner === "root") return owner;
  return owner === "service" ? SERVICE_USER : `${owner.user_id}:${owner.group_id}`;
}

function octal(mode: number): string {
  return mode.toString(8).padStart(4, "0");
}

const SIZE_UNITS = ["B", "kB", "MB"] as const;

function sizeText(size_bytes: number): string {
  let value = size_bytes;
  let unit = 0;
  while (value >= 1000 && unit < SIZE_UNITS.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${unit === 0 ? value : value.toFixed(1)} ${SIZE_UNITS[unit] ?? ""}`;
}
