import type { Questions } from "../platform/terminal.ts";

/** The part of the process that questions need. */
export interface AskedProcess {
  readonly stdin: NodeJS.ReadableStream & { readonly isTTY?: boolean };
  readonly stderr: NodeJS.WritableStream & { readonly isTTY?: boolean };
  /** Called for Ctrl-C, which does not raise SIGINT while a line is edited. */
  interrupt(): void;
  readonly signal: AbortSignal;
}

/** Asks at the terminal, on stderr because stdout is for results; null when stdin is not a terminal. */
export function openQuestions(own: AskedProcess): Questions | null {
  if (own.stdin.isTTY !== true || own.stderr.isTTY !== true) return null;
  let session: Promise<Questions> | null = null;
  return {
    async ask(question) {
      session ??= openSession(own);
      return (await session).ask(question);
    },
    close() {
      void session?.then((opened) => opened.close());
    },
  };
}

/** Reads a line at the terminal without echo. @returns null when the person aborted. */
export async function readSecret(
  own: AskedProcess,
  prompt: string,
  limitLength: number,
): Promise<string | "too-large" | null> {
  const { Writable } = await import("node:stream");
  const unseen = new Writable({ write: (_chunk, _encoding, done) => done() });
  const session = await openSession(own, unseen);
  own.stderr.write(prompt);
  const text = await session.ask("");
  session.close();
  if (text === null) return null;
  // The Enter was not echoed.
  own.stderr.write("\n");
  return text.length > limitLength ? "too-large" : text;
}

async function openSession(
  { stdin, stderr, interrupt, signal }: AskedProcess,
  output: NodeJS.WritableStream = stderr,
): Promise<Questions> {
  const { createInterface } = await import("node:readline");
  const input = createInterface({ input: stdin, output, terminal: true });
  // The iterator keeps lines that were pasted before their question.
  const lines = input[Symbol.asyncIterator]();
  let isClosed = false;
  const close = () => input.close();
  input.on("close", () => {
    isClosed = true;
  });
  input.on("SIGINT", interrupt);
  signal.addEventListener("abort", close, { once: true });
  return {
    async ask(question) {
      if (signal.aborted) return null;
      // Ctrl-D ends the input; earlier lines are still returned.
      if (!isClosed) {
        input.setPrompt(question);
        input.prompt();
      }
      const line = await lines.next();
      if (line.done !== true) return line.value;
      stderr.write("\n");
      return null;
    },
    close,
  };
}
