/** The parts of a stream of Node, or of its terminal, that are needed here. */
export interface SecretSource {
  setEncoding(encoding: "utf8"): unknown;
  on(event: "data" | "end", listener: (chunk: string | Buffer) => void): unknown;
  off(event: "data" | "end", listener: (chunk: string | Buffer) => void): unknown;
  pause(): unknown;
  resume(): unknown;
  readonly isTTY?: boolean;
  setRawMode?(isRaw: boolean): unknown;
}

/** The part of the process that reading a secret needs. */
export interface SecretInput {
  readonly stdin: SecretSource;
  readonly stderr: { write(text: string): unknown };
  /** Called for Ctrl-C, which does not raise SIGINT in raw mode. */
  interrupt(): void;
  readonly signal: AbortSignal;
}

const ENTER = /[\r\n]/;
const INTERRUPT = "\u0003";
const END = "\u0004";
const BACKSPACE = /[\b\u007F]/;

/**
 * Reads a secret: a line without echo at a terminal, or all of a pipe.
 *
 * @param prompt shown at a terminal.
 * @returns null when the person aborted.
 */
export function readSecret(
  { stdin, stderr, interrupt, signal }: SecretInput,
  prompt: string,
  limitLength: number,
): Promise<string | "too-large" | null> {
  const isTerminal = stdin.isTTY === true;
  return new Promise((resolve) => {
    let text = "";
    const conclude = (result: string | "too-large" | null) => {
      stdin.off("data", onData);
      stdin.off("end", onEnd);
      signal.removeEventListener("abort", onAbort);
      stdin.pause();
      if (isTerminal) {
        stdin.setRawMode?.(false);
        stderr.write("\n");
      }
      resolve(result);
    };
    const onEnd = () => conclude(text);
    const onAbort = () => conclude(null);
    const onKey = (key: string): boolean => {
      if (ENTER.test(key)) conclude(text);
      else if (key === INTERRUPT) interrupt();
      else if (key === END) conclude(text === "" ? null : text);
      else if (BACKSPACE.test(key)) {
        text = text.slice(0, -1);
        return true;
      } else {
        text += key;
        return true;
      }
      return false;
    };
    const onData = (chunk: string | Buffer) => {
      if (!isTerminal) text += String(chunk);
      // Pasted text arrives as one chunk.
      else if (![...String(chunk)].every(onKey)) return;
      if (text.length > limitLength) conclude("too-large");
    };
    stdin.setEncoding("utf8");
    stdin.on("data", onData);
    stdin.on("end", onEnd);
    signal.addEventListener("abort", onAbort);
    if (signal.aborted) return conclude(null);
    if (!isTerminal) return;
    stdin.setRawMode?.(true);
    // Earlier questions paused the stream.
    stdin.resume();
    stderr.write(prompt);
  });
}
