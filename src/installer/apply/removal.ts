import { dirname } from "node:path";

import { removeEmptyDirectory, removeIfPresent } from "../disk/durable.ts";
import { ADMINISTRATOR_UNITS_FOLDER, SERVICE_USER } from "../layout.ts";
import type { Site } from "./apply.ts";

/** One step of `uninstall`. Each is idempotent. */
export type Removal =
  | { readonly kind: "stop" | "reset-failed" | "disable"; readonly unit: string }
  | { readonly kind: "file" | "link"; readonly path: string }
  /** Only if it is empty. */
  | { readonly kind: "directory"; readonly path: string }
  /** With everything in it. */
  | { readonly kind: "tree"; readonly path: string }
  | { readonly kind: "reload-units" }
  /** The file access that `grant` gave to the service user. */
  | { readonly kind: "grants" }
  | { readonly kind: "user" };

export function describeRemoval(removal: Removal): string {
  switch (removal.kind) {
    case "stop":
    case "reset-failed":
    case "disable":
      return `systemctl ${removal.kind} ${removal.unit}`;
    case "file":
    case "link":
      return `remove ${removal.path}`;
    case "directory":
      return `remove ${removal.path}/, if it is empty`;
    case "tree":
      return `remove ${removal.path}/ and everything in it`;
    case "reload-units":
      return "systemctl daemon-reload";
    case "grants":
      return "revoke the file access that was granted";
    case "user":
      return `remove the system user ${SERVICE_USER}`;
  }
}

export function removalForJson(removal: Removal): Readonly<Record<string, unknown>> {
  switch (removal.kind) {
    case "stop":
    case "reset-failed":
    case "disable":
      return { action: removal.kind, unit: removal.unit };
    case "file":
    case "link":
    case "directory":
    case "tree":
      return { action: `remove-${removal.kind}`, path: removal.path };
    case "reload-units":
      return { action: removal.kind };
    case "grants":
      return { action: "revoke-grants" };
    case "user":
      return { action: "remove-user", user: SERVICE_USER };
  }
}

/** @throws DiskError, ProgramFailed. */
export async function applyRemoval(removal: Removal, { disk, system }: Site): Promise<void> {
  switch (removal.kind) {
    case "stop":
      return system.stop(removal.unit);
    case "reset-failed":
      return system.resetFailed(removal.unit);
    case "disable":
      return system.disable(removal.unit);
    case "file":
    case "link":
      return removeIfPresent(disk, removal.path);
    case "directory":
      await removeEmptyDirectory(disk, removal.path);
      return;
    case "tree":
      await disk.removeTree(removal.path);
      // A power cut must not bring back a key that `--purge` has removed.
      return disk.syncDirectory(dirname(removal.path));
    case "reload-units":
      return system.reloadUnits();
    case "grants":
      return system.revokeGrants();
    case "user":
      return system.removeUser();
  }
}

export function dropInFolder(unit: string): string {
  return `${ADMINISTRATOR_UNITS_FOLDER}/${unit}.d`;
}
