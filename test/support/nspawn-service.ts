import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";

import * as z from "zod";

import { endWithTest } from "./children.ts";
import { eventually } from "./eventually.ts";
import { childrenOf, SERVICE_HOSTNAME, SITE_ADDRESS } from "./nspawn-site.ts";
import type { Site } from "./nspawn-site.ts";
import { SERVICE_PROGRAM } from "./programs-built.ts";
import type { LoggedRequest } from "./service.ts";

/** `robot-policy-service serve` as a process of a site, with TLS by a CA that nobody else knows. */
export interface SiteService extends AsyncDisposable {
  readonly url: string;
  readonly key: string;
  /** The certificate of its CA, PEM. */
  readonly ca: string;
  /** Requests of robots answered so far, oldest first. */
  readonly requests: readonly LoggedRequest[];
  /** Resolves when `requests` has all that were answered until now: each comes there by the log, a moment after its answer. */
  readonly allLogged: () => Promise<void>;
  /** What is in its store. */
  robots(): Promise<{ name: string; configuration_digest: string }[]>;
  /** One request with its first key. */
  send(method: string, path: string, body?: unknown): Promise<{ readonly body: Readonly<Record<string, unknown>> }>;
  /** Connections are taken, and nothing answers. */
  hang(): void;
  goOn(): void;
  /** Everything it wrote. */
  log(): string;
}

const FOLDER = "/run/service";
/** A method that no robot uses: the log is in the order of the answers. */
const MARK = "HEAD";

const requestSchema = z.object({ event: z.literal("request"), method: z.string(), path: z.string(), status: z.int() });

/** One for a site. Its files are in the site. */
export async function startSiteService(site: Site): Promise<SiteService> {
  await site.run(["sh", "-ec", MAKE_CERTIFICATES]);
  const folder = site.path(FOLDER);
  await writeFile(
    join(folder, "config.yaml"),
    [
      `listen: ${SITE_ADDRESS}:443`,
      `tls: { cert_file: ${FOLDER}/cert.pem, key_file: ${FOLDER}/key.pem }`,
      `data: ${FOLDER}/data`,
      `bootstrap_key_file: ${FOLDER}/bootstrap-key`,
      "log: { level: info, requests: true }",
      "",
    ].join("\n"),
  );
  // Its address is there only with the first computer's cable.
  await site.run(["ip", "address", "add", SITE_ADDRESS, "dev", "lo"]);
  const [program = "", ...args] = site.inside([
    process.execPath,
    SERVICE_PROGRAM,
    "serve",
    "--config",
    join(FOLDER, "config.yaml"),
  ]);
  // A group of its own: who stops and continues the tests (scripts/flake) would wake it where it is to hang.
  const child = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"], detached: true });
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
    else requests.push(request.data);
  });
  const listening = await Promise.race([once(child.stdout, "data"), ended.then(() => null)]);
  if (listening === null) throw new Error(`The service did not start: ${log}`);
  // nsenter(1) stands between.
  const [process_id = 0] = childrenOf(child.pid ?? 0);
  const goOn = () => {
    // It stops with what it started, and would not see its end.
    child.kill("SIGCONT");
    process.kill(process_id, "SIGCONT");
  };
  const robots = startRobotsReader(site);
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
      await site.run(["openssl", "s_client", "-quiet", "-connect", `${SITE_ADDRESS}:443`], {
        input: `${MARK} /v1/robots HTTP/1.0\r\n\r\n`,
      });
      await eventually(async () => marks > earlier || undefined, "the log to come to this moment");
    },
    robots,
    async send(method, path, body) {
      const { stdout } = await site.run([process.execPath, "--input-type=module", "-"], {
        input: SEND,
        environment: {
          NODE_EXTRA_CA_CERTS: `${FOLDER}/ca.pem`,
          REQUEST: JSON.stringify({ url: `https://${SITE_ADDRESS}${path}`, method, key, body }),
        },
      });
      return answerSchema.parse(JSON.parse(stdout));
    },
    hang: () => void process.kill(process_id, "SIGSTOP"),
    goOn,
    log: () => log,
    async [Symbol.asyncDispose]() {
      if (child.exitCode === null) {
        goOn();
        process.kill(process_id, "SIGKILL");
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

/** Answers each line that it reads with what is in the store at that moment. */
const READ_ROBOTS = `const { DatabaseSync } = require("node:sqlite");
const database = new DatabaseSync("${FOLDER}/data/service.db", { readOnly: true });
const robots = database.prepare("SELECT name, configuration_digest FROM robots ORDER BY id");
require("node:readline").createInterface({ input: process.stdin }).on("line", () => console.log(JSON.stringify(robots.all())));`;

/** One process for all looks. It runs in the site: from outside, SQLite resolves the link that leads into the site to a path of this machine. */
function startRobotsReader(site: Site): SiteService["robots"] {
  const [program = "", ...args] = site.inside([process.execPath, "-e", READ_ROBOTS]);
  const child = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"] });
  endWithTest(child);
  const answers = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return async () => {
    child.stdin.write("\n");
    const { value } = await answers.next();
    if (value === undefined) throw new Error("The reader of the service's store ended");
    return storedRobotsSchema.parse(JSON.parse(value));
  };
}

const SEND = `const { url, method, key, body } = JSON.parse(process.env.REQUEST);
const headers = { authorization: "Bearer " + key, ...(body === undefined ? {} : { "content-type": "application/json" }) };
const answer = await fetch(url, { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) });
console.log(JSON.stringify({ status: answer.status, body: await answer.json() }));`;

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return null;
  }
}
