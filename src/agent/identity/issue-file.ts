import { removeIfPresent, replaceDurably } from "../../platform/files/durable-file.ts";
import { errorCode, type Files } from "../../platform/files/files.ts";
import type { IdentityStatus } from "../status.ts";

/** Shown by agetty above the login of a console, for robots without a logged-in user (agetty(8)). */
const ISSUE_FOLDER = "/etc/issue.d";
const ISSUE_PATH = `${ISSUE_FOLDER}/robot-policy-agent.issue`;

/** A notice with the code, which disposing removes. */
export function issueNotice(files: Files) {
  return {
    /** @returns why it cannot be shown; null when it is. */
    async show({
      user_code: code,
      key_fingerprint: fingerprint,
      code_expires_at: expiresAt,
    }: IdentityStatus): Promise<string | null> {
      // The end is shown because the file stays when the power fails.
      const text = `This robot waits for approval until ${expiresAt ?? "?"}: code ${code ?? "?"}, key ${fingerprint ?? "?"}\n`;
      try {
        await files.makeDirectory(ISSUE_FOLDER, 0o755);
        await replaceDurably(files, ISSUE_PATH, Buffer.from(text), 0o644);
        return null;
      } catch (error) {
        const why = errorCode(error);
        if (why === undefined) throw error;
        return `${ISSUE_PATH} cannot be written (${why}); run this as root`;
      }
    },
    async [Symbol.asyncDispose]() {
      await removeIfPresent(files, ISSUE_PATH).catch(() => {});
    },
  };
}
