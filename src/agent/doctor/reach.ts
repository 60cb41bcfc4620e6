import { chooseProxy, type Environment, type ProxyProblem } from "../../client/transport/proxy.ts";
import { isLoopback } from "../../client/transport/service-url.ts";
import { EXIT } from "../../platform/terminal.ts";
import type { AgentConfiguration } from "../configuration/configuration.ts";
import { type CheckId, examineHere, fail, ok, skip, skipAll, type Subject, type Verdict, warn } from "./check.ts";
import { checkDns, checkTcp, dnsLimit, firstHop, tcpLimit } from "./network.ts";
import { type Attempt, attemptConnection, connectionLimit, examineTls, judgeProxy, type Route } from "./tls.ts";

/** Checks name, TCP, proxy and TLS up to the point where a request can be sent. @returns false after a failure; the rest is skipped. */
export async function reach(subject: Subject, { service }: AgentConfiguration): Promise<boolean> {
  const { examination, context, shell } = subject;
  const limitMs = service.connect_timeout_s * 1000;
  const url = new URL(service.url);
  const choose = (environment: Environment) => chooseProxy({ ...service, environment }, url);
  const choice = choose(context.environment);
  if (choice.kind === "proxy-problem") {
    await examineHere(subject, "proxy", () => explainProxyProblem(choice));
    return ended(subject, ["dns", "tcp", "tls", "service"], "proxy");
  }
  const proxy = choice.kind === "proxy" ? choice : null;
  if (proxy === null)
    await examineHere(subject, "proxy", () => (choose(shell).kind === "direct" ? NO_PROXY : SHELL_PROXY));
  const through: readonly CheckId[] = proxy === null ? [] : ["proxy"];
  const hop = firstHop(url, proxy);
  const addresses = await examination.run("dns", dnsLimit(hop, limitMs), () => checkDns(hop));
  if (addresses === null) return ended(subject, ["tcp", ...through, "tls", "service"], "dns");
  const accepts = await examination.run("tcp", tcpLimit(hop, limitMs), (signal) => checkTcp(hop, addresses, signal));
  if (accepts === null) return ended(subject, [...through, "tls", "service"], "tcp");

  const route: Route = { url, proxy, caFile: service.ca_file };
  return url.protocol === "https:" ? reachSecurely(subject, route, limitMs) : reachPlainly(subject, route);
}

async function reachPlainly(subject: Subject, { url, proxy }: Route): Promise<boolean> {
  if (proxy !== null) await examineHere(subject, "proxy", () => ok(`requests for ${url.host} go to ${proxy.url.host}`));
  await examineHere(subject, "tls", () => judgePlainHttp(url));
  return true;
}

async function reachSecurely(subject: Subject, route: Route, limitMs: number): Promise<boolean> {
  const { examination, context } = subject;
  const { machine } = context;
  const { proxy } = route;
  const limit = connectionLimit(route, limitMs);
  let attempt: Attempt | null = null;
  if (proxy !== null) {
    // Behind a proxy, the single steps cannot be checked one by one.
    attempt = await examination.run("proxy", limit, async (signal) => {
      const attempted = await attemptConnection(route, context, signal);
      const verdict = judgeProxy(proxy, route.url, attempted);
      return { verdict, value: verdict.status === "fail" ? null : attempted };
    });
    if (attempt === null) return ended(subject, ["tls", "service"], "proxy");
  }
  const trusted = await examination.run("tls", limit, async (signal) =>
    examineTls(route, attempt ?? (await attemptConnection(route, context, signal)), machine.clock, signal),
  );
  return trusted === null ? ended(subject, ["service"], "tls") : true;
}

const NO_PROXY = ok("none is used for this service");
const SHELL_PROXY = warn(
  "the agent uses none: HTTPS_PROXY of this shell does not apply to it",
  "set service.proxy in the configuration; `proxy: none` disables proxies for every user",
);

function explainProxyProblem({ code, what }: ProxyProblem): Verdict {
  const remedy =
    code === "PROXY_INSECURE" ? "use https in service.url" : "write service.proxy or HTTPS_PROXY as http://HOST:PORT";
  return fail(EXIT.unreachable, what, remedy);
}

function judgePlainHttp(url: URL): Verdict {
  if (isLoopback(url.hostname)) return skip("not used: plain http that stays on this machine");
  return warn("not used: the API key travels unencrypted", "use https in service.url");
}

function ended(subject: Subject, ids: readonly CheckId[], needed: CheckId): false {
  skipAll(subject, ids, needed);
  return false;
}
