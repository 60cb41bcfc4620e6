import { createIdentityClient } from "../../client/identity-client.ts";
import { loadCredential } from "../../client/load-credential.ts";
import { errorCode } from "../../platform/files/files.ts";
import { createIdentityLoop, type Identity } from "./identity.ts";
import { createIdentityFiles, identityCredentialPath } from "./identity-files.ts";
import { isOtherMachine } from "../registration/state-file.ts";
import type { IdentityPartOptions } from "./part.ts";

/** Reads the files of the identity. Those of another computer, as in a copied image, are set aside and never used. @throws Node system errors. */
export async function openIdentity(options: IdentityPartOptions): Promise<Identity> {
  const { machine, log, stateDirectory } = options;
  const files = createIdentityFiles(machine.files, stateDirectory);
  let stored = await files.load(true);
  for (const path of stored.setAside) log.warn("identity-file-set-aside", { path });
  if (stored.key !== null && isOtherMachine(stored.key, await machine.identity.machine())) {
    await files.setAsideForeign();
    log.warn("identity-of-other-machine", { directory: stateDirectory });
    stored = { key: null, enrolment: null, credential: null, setAside: [] };
  }
  return createIdentityLoop({
    ...options,
    files,
    stored,
    credentialPath: identityCredentialPath(stateDirectory),
    service() {
      const { access, userId } = options.connection();
      const { heartbeat_s: heartbeatS, enrolment_key_file: keyFile } = options.configuration().service;
      return {
        url: options.connection().serviceUrl,
        client: createIdentityClient(access),
        heartbeatMs: heartbeatS * 1000,
        async bulkKey() {
          if (keyFile === null) return null;
          const found = await loadCredential({ keyFile, serviceUserId: userId }, machine.files);
          // Removed after an earlier enrolment: an operator approves this one.
          return found.kind === "credential-problem" && found.code === "key-missing" ? null : found;
        },
        async discardBulkKey() {
          if (keyFile === null) return;
          try {
            // First, because unlink(2) of a missing file fails with EROFS on a read-only file system.
            await machine.files.linkStat(keyFile);
            await machine.files.remove(keyFile);
            log.info("enrolment-key-removed", { path: keyFile });
          } catch (error) {
            const code = errorCode(error);
            if (code === undefined) throw error;
            if (code !== "ENOENT") log.warn("enrolment-key-not-removed", { path: keyFile, code });
          }
        },
      };
    },
  });
}
