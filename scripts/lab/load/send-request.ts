import http from "node:http";

export interface Answer {
  readonly status: number;
  readonly text: string;
  /** The header Link. */
  readonly link: string;
}

interface AskOptions {
  readonly agent: http.Agent;
  readonly method: string;
  /** Null for a request without one. */
  readonly key: string | null;
  /** JSON. */
  readonly body: string | null;
  readonly timeoutMs?: number;
}

/** Sends one request, with less work for this process than `fetch` has. Rejects if there is no answer. */
export function sendRequest(url: URL, { agent, method, key, body, timeoutMs = 0 }: AskOptions): Promise<Answer> {
  const headers = {
    ...(key === null ? {} : { authorization: `Bearer ${key}` }),
    ...(body === null ? {} : { "content-type": "application/json", "content-length": Buffer.byteLength(body) }),
  };
  return new Promise((resolve, reject) => {
    const request = http.request(url, { method, headers, agent }, (answer) => {
      const parts: Buffer[] = [];
      answer.on("data", (part: Buffer) => void parts.push(part));
      answer.once("error", reject);
      answer.once("end", () => {
        const text = Buffer.concat(parts).toString();
        resolve({ status: answer.statusCode ?? 0, text, link: String(answer.headers["link"]) });
      });
    });
    request.setTimeout(timeoutMs, () => request.destroy());
    request.once("error", reject);
    request.end(body ?? undefined);
  });
}
