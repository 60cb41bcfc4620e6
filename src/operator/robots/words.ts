import type { RobotView } from "../../api/robot-views.ts";

/** The wording for robots in all commands. */

/** Enough to distinguish two digests. */
const DIGEST_SHOWN = "sha256:".length + 12;

export function shortDigest(digest: string | null | undefined): string {
  return digest?.slice(0, DIGEST_SHOWN) ?? "";
}

/** `line=4 shift=day`, as --label takes each. */
export function labelsInWords({ labels }: Pick<RobotView, "labels">): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}=${value}`)
    .join(" ");
}
