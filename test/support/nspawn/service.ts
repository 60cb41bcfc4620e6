import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";

import * as z from "zod";

import { eventually } from "../eventually.ts";
import { endWithTest } from "../programs/children.ts";
import { SERVICE_PROGRAM } from "../programs/programs-built.ts";
import { isAboutParts } from "../service/fault-proxy.ts";
import type { LoggedRequest } from "../service/service.ts";
import { childrenOf, SERVICE_HOSTNAME, type Site, SITE_ADDRESS } from "./site.ts";

/** `robot-policy-service serve` as a process of a site, with TLS from a private CA. */
export interface SiteService extends AsyncDisposable {
  readonly url: string;
  readonly key: string;
  /** Certificate of the CA, PEM. */
  readonly ca: string;
  /** Answered requests of robots, oldest first, but for those about parts of a registration. */
  readonly requests: readonly LoggedRequest[];
  /**
   * Resolves when `requests` contains every request answered before this call. Requests arrive through the log, shortly after their
   * answers.
   */
  readonly allLogged: () => Promise<void>;
  /** Robots in the store. */
  robots(): Promise<{ name: string; configuration_digest: string }[]>;
  /** Sends one request with the first key. */
  send(method: string, path: string, body?: unknown): Promise<{ readonly body: Readonly<Record<string, unknown>> }>;
  /** Stops the process: connections are accepted, but nothing answers. */
  hang(): void;
  goOn(): void;
  /** Output of the process so far. */
  log(): string;
}

const FOLDER = "/run/service";
/** The CA certificate, for programs in the site. */
export const SITE_CA_FILE = `${FOLDER}/ca.pem`;
/** The service's first key, likewise. */
export const SITE_KEY_FILE = `${FOLDER}/bootstrap-key`;
/** Marks a position in the log, which is in the order of answers: a method that no robot uses. */
const MARK = "HEAD";

const requestSchema = z.object({ event: z.literal("request"), method: z.string(), path: z.string(), status: z.int() });

/** Starts the service of a site, with its files in the site. */
export async function startSiteService(site: Site): Promise<SiteService> {
  await site.run(["sh", "-ec", MAKE_CERTIFICATES]);
  const folder = site.path(FOLDER);
  await writeFile(
    join(folder, "config.yaml"),
    [
      `listen: ${SITE_ADDRESS}:443`,
      `tls: { cert_file: ${FOLDER}/cert.pem, key_file: ${FOLDER}/key.pem }`,
      `data: ${FOLDER}/data`,
      `bootstrap_key_file: ${SITE_KEY_FILE}`,
      "log: { level: info, requests: true }",
      "",
    ].join("\n"),
  );
  // The first computer's cable brings up the listening address.
  await site.run(["ip", "address", "add", SITE_ADDRESS, "dev", "lo"]);
  const [program = "", ...args] = site.inside([
    process.execPath,
    SERVICE_PROGRAM,
    "serve",
    "--config",
    join(FOLDER, "config.yaml"),
  ]);
  const child = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"] });
  endWithTest(child);
  const ended = once(child, "close");
  const requests: LoggedRequest[] = [];
  let marks = 0;
  let log = "";
  createInterface({ input: child.stderr }).on("line", (line) => {
    log += `${line}\n`;
    const request = requestSchema.safeParse(parsed(line));
    if (!request.success) return;
    if (request.data.method === MARK) marks += 1;
    else if (!isAboutParts(request.data.path)) requests.push(request.data);
  });
  const listening = await Promise.race([once(child.stdout, "data"), ended.then(() => null)]);
  if (listening === null) throw new Error(`The service did not start: ${log}`);
  // The child of nsenter(1).
  const [processId = 0] = childrenOf(child.pid ?? 0);
  const goOn = () => {
    // nsenter stops together with its child and would miss its exit.
    child.kill("SIGCONT");
    process.kill(processId, "SIGCONT");
  };
  const ask = startAsker(site);
  const send = (request: SentRequest) => ask({ ...request, key });
  const url = `https://${SERVICE_HOSTNAME}`;
  const key = (await readFile(join(folder, "bootstrap-key"), "utf8")).trim();
  const ca = await readFile(join(folder, "ca.pem"), "utf8");
  return {
    url,
    key,
    ca,
    requests,
    async allLogged() {
      const earlier = marks;
      await send({ method: MARK, path: "/v1/robots" });
      await eventually(async () => marks > earlier || undefined, "the log to contain all earlier requests");
    },
    robots: async () => storedRobotsSchema.parse(await ask(null)),
    send: async (method, path, body) => answerSchema.parse(await send({ method, path, body })),
    hang: () => void process.kill(processId, "SIGSTOP"),
    goOn,
    log: () => log,
    async [Symbol.asyncDispose]() {
      if (child.exitCode === null) {
        goOn();
        process.kill(processId, "SIGKILL");
      }
      await ended;
    },
  };
}

const MAKE_CERTIFICATES = `mkdir -p ${FOLDER}/data; cd ${FOLDER}
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 -subj "/CN=CA of the site" -keyout ca-key.pem -out ca.pem
openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=${SERVICE_HOSTNAME}" -keyout key.pem -out request.pem
printf 'subjectAltName=DNS:${SERVICE_HOSTNAME},IP:${SITE_ADDRESS}' >names
openssl x509 -req -in request.pem -CA ca.pem -CAkey ca-key.pem -days 30 -extfile names -out cert.pem`;

const storedRobotsSchema = z.array(z.object({ name: z.string(), configuration_digest: z.string() }));

const answerSchema = z.object({ body: z.record(z.string(), z.unknown()) });

interface SentRequest {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
}

/** Answers each input line in order: a request with the service's answer, null with the robots in the store. */
const ANSWER_LINES = `const { DatabaseSync } = require("node:sqlite");
const database = new DatabaseSync("${FOLDER}/data/service.db", { readOnly: true });
const robots = database.prepare("SELECT name, configuration_digest FROM robots ORDER BY id");
async function send({ method, path, body, key }) {
  // A new connection each time, because the service may be stopped between two requests.
  const headers = { authorization: "Bearer " + key, "content-type": "application/json", connection: "close" };
  const answer = await fetch("https://${SITE_ADDRESS}" + path, { method, headers, body: JSON.stringify(body) });
  return { body: method === "${MARK}" ? {} : await answer.json() };
}
async function answerLines() {
  for await (const line of require("node:readline").createInterface({ input: process.stdin })) {
    const request = JSON.parse(line);
    console.log(JSON.stringify(request === null ? robots.all() : await send(request)));
  }
}
void answerLines();`;

/** One process for all queries. It runs in the site: from outside, SQLite would resolve the /proc link to a path of the host. */
function startAsker(site: Site): (question: (SentRequest & { readonly key: string }) | null) => Promise<unknown> {
  const [program = "", ...args] = site.inside([process.execPath, "-e", ANSWER_LINES]);
  const env = { ...process.env, NODE_EXTRA_CA_CERTS: SITE_CA_FILE };
  const child = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"], env });
  endWithTest(child);
  const answers = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return async (question) => {
    child.stdin.write(`${JSON.stringify(question)}\n`);
    const { value } = await answers.next();
    if (value === undefined) throw new Error("The process that asks the service and its store has ended");
    return JSON.parse(value);
  };
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return null;
  }
}
