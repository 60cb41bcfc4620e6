import { describeLocation } from "../kernel/store/store-problem.ts";
import type { StoreFlags } from "./store/locate-store.ts";

/** A command for a person to paste: these words, on the store that these flags name. A password in a URL is not shown. */
export function commandLine(words: string, { config, data, database }: StoreFlags): string {
  const flags = [
    ...(config === undefined ? [] : ["--config", quoted(config)]),
    ...(data === undefined ? [] : ["--data", quoted(data)]),
    ...(database === undefined ? [] : ["--database", quoted(withoutPassword(database))]),
  ];
  return ["robot-policy-service", words, ...flags].join(" ");
}

function withoutPassword(url: string): string {
  if (!URL.canParse(url) || new URL(url).password === "") return url;
  const shown = describeLocation({ kind: "postgres", url });
  return shown.replace("@", ":PASSWORD@");
}

/** As a POSIX shell takes it for one word. */
function quoted(word: string): string {
  return /^[\w./:@%+,=-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
}
