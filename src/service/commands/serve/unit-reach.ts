import { dirname, resolve } from "node:path";

import { hidingSetting, isReadOnlyByUnit } from "../../../platform/systemd/unit-mounts.ts";
import { readOnlyForUnit } from "../../kernel/system-reason.ts";
import type { ServiceConfiguration } from "../../service.ts";

/** The configuration file of systemd/robot-policy-service.service. */
export const UNIT_CONFIGURATION = "/etc/robot-policy-service/config.yaml";
const WRITABLE = "/var/lib/robot-policy-service";
/** ProtectHome= and PrivateTmp= of the unit. */
const HIDDEN = ["/home", "/root", "/run/user", "/tmp", "/var/tmp"];

/** What the check found of the files. */
export interface FoundFiles {
  /** Whether the bootstrap key file is there: then it is read, not written. */
  readonly hasKey: boolean;
  /** The file with the URL of the database; null if none was read. */
  readonly urlFile: string | null;
}

/** What a unit lets the service do with paths. */
export interface Reach {
  isHidden(path: string): boolean;
  isReadOnly(path: string): boolean;
}

/** Of the shipped unit, for root, who runs the check by hand and can access every path. */
export const SHIPPED_UNIT: Reach = {
  isHidden: (path) => HIDDEN.some((folder) => isBelow(folder, path)),
  isReadOnly: (path) => !isBelow(WRITABLE, path),
};

/** Of the unit that this program runs in, with all its drop-ins. */
export function reachOfThisUnit(mountTable: string): Reach {
  return {
    isHidden: (path) => hidingSetting(mountTable, resolve(path)) !== null,
    isReadOnly: (path) => isReadOnlyByUnit(mountTable, resolve(path)),
  };
}

/** A sentence for each path that the service could not access in its unit. */
export function beyondReachOfUnit(
  { store, bootstrapKeyFile, tls, modelsFile }: ServiceConfiguration,
  { hasKey, urlFile }: FoundFiles,
  { isHidden, isReadOnly }: Reach,
): readonly string[] {
  const key = typeof bootstrapKeyFile === "string" && !hasKey ? dirname(bootstrapKeyFile) : null;
  const written = [...new Set([store.kind === "sqlite" ? store.dataDirectory : null, key])].filter(isPath);
  const read = [tls?.certFile, tls?.keyFile, modelsFile, urlFile, hasKey ? bootstrapKeyFile : null].filter(isPath);
  return [
    ...written.filter((path) => isReadOnly(path) && !isHidden(path)).map(unwritable),
    ...written.filter(isHidden).map((path) => `${unseen(path)} to ${WRITABLE}`),
    ...read.filter(isHidden).map((path) => `${unseen(path)} to /etc/robot-policy-service`),
  ];
}

function unwritable(path: string): string {
  const { what, fix } = readOnlyForUnit(path);
  return `${what}: ${path}; ${fix}`;
}

function unseen(path: string): string {
  return `the unit gives the service no access to home directories, and a /tmp of its own, so it cannot use ${path}; move it`;
}

function isPath(path: string | null | undefined): path is string {
  return typeof path === "string";
}

function isBelow(folder: string, path: string): boolean {
  return `${resolve(path)}/`.startsWith(`${folder}/`);
}
