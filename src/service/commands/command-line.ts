import { shellWord } from "../../platform/text/shell-word.ts";
import { hasPassword } from "../kernel/store/store-problem.ts";
import type { StoreFlags } from "./store/locate-store.ts";

/** A command to copy into a shell: these words, on the store that these flags name. A password in a URL is not shown. */
export function commandLine(words: string, { config, data, database }: StoreFlags): string {
  const flags = [
    ...(config === undefined ? [] : ["--config", shellWord(config)]),
    ...(data === undefined ? [] : ["--data", shellWord(data)]),
    ...(database === undefined ? [] : ["--database", shellWord(withoutPassword(database))]),
  ];
  return ["robot-policy-service", words, ...flags].join(" ");
}

function withoutPassword(url: string): string {
  const shown = URL.parse(url);
  if (shown === null || !hasPassword(shown)) return url;
  if (shown.password !== "") shown.password = "PASSWORD";
  if (shown.searchParams.has("password")) shown.searchParams.set("password", "PASSWORD");
  return shown.href;
}
