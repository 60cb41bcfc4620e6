import { resolve } from "node:path";

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

/** A sentence for each path that the service of the shipped unit could not access. Root, who runs the check, can access every path. */
export function beyondReachOfUnit(
  { store, bootstrapKeyFile, tls, modelsFile }: ServiceConfiguration,
  { hasKey, urlFile }: FoundFiles,
): readonly string[] {
  const written = [store.kind === "sqlite" ? store.dataDirectory : null, hasKey ? null : bootstrapKeyFile];
  const read = [tls?.certFile, tls?.keyFile, modelsFile, urlFile, hasKey ? bootstrapKeyFile : null];
  return [
    ...written.filter(isPath).flatMap((path) => (isBelow(WRITABLE, path) ? [] : [unwritable(path)])),
    ...read.filter(isPath).flatMap((path) => (HIDDEN.some((folder) => isBelow(folder, path)) ? [unseen(path)] : [])),
  ];
}

function unwritable(path: string): string {
  return `the shipped unit may write only below ${WRITABLE}, not to ${path}`;
}

function unseen(path: string): string {
  return `the shipped unit has no access to home directories and has its own /tmp, so it cannot read ${path}; move the file to /etc/robot-policy-service`;
}

function isPath(path: string | null | undefined): path is string {
  return typeof path === "string";
}

function isBelow(folder: string, path: string): boolean {
  return `${resolve(path)}/`.startsWith(`${folder}/`);
}
