import { resolve } from "node:path";

import type { ServiceConfiguration } from "../../service.ts";

/** The configuration that systemd/robot-policy-service.service starts with. */
export const UNIT_CONFIGURATION = "/etc/robot-policy-service/config.yaml";
const WRITABLE = "/var/lib/robot-policy-service";
/** ProtectHome= and PrivateTmp= of the unit. */
const HIDDEN = ["/home", "/root", "/run/user", "/tmp", "/var/tmp"];

/** What the unit as shipped would not reach, a sentence each: as root every path is fine. */
export function beyondReachOfUnit({
  store,
  bootstrap_key_file: bootstrapKeyFile,
  tls,
  models_file: modelsFile,
}: ServiceConfiguration): readonly string[] {
  const written = [store.kind === "sqlite" ? store.data_directory : null, bootstrapKeyFile];
  const read = [tls?.certFile, tls?.keyFile, modelsFile];
  return [
    ...written.filter(isPath).flatMap((path) => (isBelow(WRITABLE, path) ? [] : [unwritable(path)])),
    ...read.filter(isPath).flatMap((path) => (HIDDEN.some((folder) => isBelow(folder, path)) ? [unseen(path)] : [])),
  ];
}

function unwritable(path: string): string {
  return `the unit as shipped writes below ${WRITABLE} alone, not to ${path}`;
}

function unseen(path: string): string {
  return `the unit as shipped sees no homes and a /tmp of its own, and so not ${path}; move it to /etc/robot-policy-service`;
}

function isPath(path: string | null | undefined): path is string {
  return typeof path === "string";
}

function isBelow(folder: string, path: string): boolean {
  return `${resolve(path)}/`.startsWith(`${folder}/`);
}
