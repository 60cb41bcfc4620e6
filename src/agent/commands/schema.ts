import { EXIT, type ExitCode } from "../../platform/terminal.ts";
import type { CommandContext, CommonOptions } from "./context.ts";

/** `schema manifest|config`: prints a JSON Schema for editors. */
export async function schema(
  _options: CommonOptions,
  { terminal }: CommandContext,
  document: string | undefined,
): Promise<ExitCode> {
  if (document === "manifest") {
    const { manifestSchema } = await import("../../manifest/custom/keys.ts");
    terminal.json(manifestSchema());
  } else {
    const { configurationSchema } = await import("../configuration/configuration.ts");
    terminal.json(configurationSchema());
  }
  return EXIT.ok;
}
