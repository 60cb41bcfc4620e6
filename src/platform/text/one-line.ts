/** Makes line feeds and tabs spaces, so that a text of others cannot begin a line that looks like one of ours. */
export function oneLine(text: string): string {
  return text.replaceAll(/[\n\t]/g, " ");
}
