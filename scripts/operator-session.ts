/**
 * Prints a session of robot-policy: every command with its output at 80 columns and as JSON, first with the complete service, then with one
 * that has only the documented operations. Values that differ between runs are replaced by names.
 */
import { runSession, steadyText } from "../test/support/operator/operator-session.ts";
import { readFlags } from "./support/flags.ts";

const USAGE = `Usage: node scripts/operator-session.ts [--raw]

Prints a session of robot-policy.

  --raw  as it is, without names in place of values that differ between runs`;

const options = readFlags(USAGE, { raw: { type: "boolean" } });

for (const which of ["whole", "eleven"] as const) {
  console.log(`\n═══ ${which === "whole" ? "the complete service" : "a service with only the documented operations"}`);
  for await (const entry of runSession(which)) {
    const { words, exitCode, out, err } = entry;
    console.log(
      options.raw === true
        ? `\n$ robot-policy ${words.join(" ")}\n${out}${err}→ ${exitCode}`
        : `\n${steadyText(entry)}`,
    );
  }
}
