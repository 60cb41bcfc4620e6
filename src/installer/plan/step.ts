import { octal } from "../../platform/text/octal.ts";
import type { Measured } from "../disk/content.ts";
import type { Access } from "../disk/disk.ts";
import { SERVICE_USER } from "../layout.ts";

/** Symbolic, because the service user has no number before it is created. */
export type Owner = "root" | "service";

/** One atomic change. */
export type Step =
  | { readonly kind: "make-directory"; readonly path: string; readonly mode: number; readonly owner: Owner }
  | (Measured & {
      readonly kind: "write-file";
      readonly path: string;
      readonly mode: number;
      readonly owner: Owner;
      /** A file exists there. */
      readonly replaces: boolean;
    })
  | {
      readonly kind: "set-access";
      readonly path: string;
      readonly mode: number;
      readonly owner: Owner;
      readonly was: Access;
    }
  /** `was`: the target of the existing link. */
  | { readonly kind: "make-link"; readonly path: string; readonly target: string; readonly was: string | null }
  /** A file, a link, or a version's folder with everything in it. */
  | { readonly kind: "remove"; readonly path: string }
  | { readonly kind: "add-user" }
  | { readonly kind: "reload-units" }
  | { readonly kind: "enable"; readonly unit: string }
  /** Only if the configuration is valid then. */
  | { readonly kind: "start"; readonly unit: string }
  /** `wasWell`: the service was active before, so if it does not start, the previous version is restored. */
  | { readonly kind: "restart"; readonly unit: string; readonly wasWell: boolean };

/** For people, in the imperative: `write /usr/local/… (0644, 3.2 kB)`. */
export function describeStep(step: Step): string {
  switch (step.kind) {
    case "make-directory":
      return `create ${step.path}/ (${accessText(step)})`;
    case "write-file":
      return `${step.replaces ? "replace" : "write"} ${step.path} (${accessText(step)}, ${sizeText(step.sizeBytes)})`;
    case "set-access":
      return `set mode and owner of ${step.path} (${accessText(step)}, was ${octal(step.was.mode)} ${step.was.userId}:${step.was.groupId})`;
    case "make-link":
      return `link ${step.path} → ${step.target}${step.was === null ? "" : ` (was ${step.was})`}`;
    case "remove":
      return `remove ${step.path}`;
    case "add-user":
      return `add the system user ${SERVICE_USER}`;
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

const NOTABLE: ReadonlySet<Step["kind"]> = new Set(["add-user", "enable", "start", "restart"]);

/** For people, during the installation: only steps that change what the machine does. `--dry-run` lists the files. Null for other steps. */
export function describeNotable(step: Step): string | null {
  return NOTABLE.has(step.kind) ? describeStep(step) : null;
}

/** For `--json`: without content, so never with a key. */
export function stepForJson(step: Step): Readonly<Record<string, unknown>> {
  const action = step.kind;
  switch (step.kind) {
    case "make-directory":
    case "set-access":
      return { action, path: step.path, ...accessForJson(step) };
    case "write-file": {
      const { path, replaces, sizeBytes } = step;
      return { action, path, ...accessForJson(step), size_bytes: sizeBytes, replaces };
    }
    case "make-link":
      return { action, path: step.path, target: step.target };
    case "remove":
      return { action, path: step.path };
    case "add-user":
      return { action, user: SERVICE_USER };
    case "reload-units":
      return { action };
    case "enable":
    case "start":
    case "restart":
      return { action, unit: step.unit };
  }
}

function accessForJson({ mode, owner }: { readonly mode: number; readonly owner: Owner }) {
  return { mode: octal(mode), owner: ownerText(owner) };
}

function accessText({ mode, owner }: { readonly mode: number; readonly owner: Owner }): string {
  return owner === "root" ? octal(mode) : `${octal(mode)} ${ownerText(owner)}`;
}

function ownerText(owner: Owner): string {
  return owner === "root" ? owner : SERVICE_USER;
}

const SIZE_UNITS = ["B", "kB", "MB"] as const;

function sizeText(sizeBytes: number): string {
  let value = sizeBytes;
  let unit = 0;
  while (value >= 1000 && unit < SIZE_UNITS.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${unit === 0 ? value : value.toFixed(1)} ${SIZE_UNITS[unit] ?? ""}`;
}
