import { once } from "node:events";
import { request as sendRequest } from "node:http";

/** A request whose body is held back: the service has its headers and waits. */
export interface SlowRequest {
  /** Sends the body; resolves with the status and the body of the answer. */
  finish(): Promise<{ readonly status: number | undefined; readonly body: string }>;
}

/** Resolves once the service has the headers and waits for the body. */
export async function startSlowRequest(url: string, token: string, body: object): Promise<SlowRequest> {
  const request = sendRequest(url, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json", expect: "100-continue" },
  });
  const answered = once(request, "response");
  request.flushHeaders();
  await once(request, "continue");
  return {
    async finish() {
      request.end(JSON.stringify(body));
      const [response] = await answered;
      let text = "";
      for await (const part of response.setEncoding("utf8")) text += part;
      return { status: response.statusCode, body: text };
    },
  };
}
