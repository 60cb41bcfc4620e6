/**
 * The hosted service as far as its document says it, written after the document alone, without our schemas. What the document leaves open
 * is chosen differently from ours: the members of keys, deployments, models and usage, the types of errors, pages, and the states of models.
 */
import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

export interface HostedStub extends AsyncDisposable {
  readonly url: string;
  /** Titles of the keys, by their ids. */
  readonly keys: ReadonlyMap<string, string>;
}

export interface HostedStubOptions {
  /** The answer to a new key; by default the usual one. */
  readonly created?: (key: string, asked: object) => unknown;
  /** When everything was created. */
  readonly createdMs?: number;
  /** Robots at the start, all at the site hall-2. */
  readonly robots?: readonly string[];
  /** Answers once as a proxy does while the service restarts, then never again. */
  readonly restartsOnce?: boolean;
}

interface Answer {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

const ROBOTS_PER_PAGE = 2;
/** Looks at the list of fleets until a new model is ready. */
const LOOKS_UNTIL_READY = 2;

export async function startHostedStub({
  created = usualKey,
  createdMs = Date.parse("2026-03-04T05:06:07Z"),
  robots: names = [],
  restartsOnce = false,
}: HostedStubOptions = {}): Promise<HostedStub> {
  const createdAt = new Date(createdMs).toISOString();
  const keys = new Map<string, string>();
  const robots = new Map<string, Record<string, unknown>>();
  const fleets = new Map<string, Fleet>();
  let willRestart = restartsOnce;
  let keysCreated = 0;

  for (const name of names) setUp({ name, robot_type_id: "so101_follower", region: "us-west-2", site: "hall-2" });

  function setUp(body: Record<string, unknown>): object {
    const { name, robot_type_id, region, site, labels } = body;
    const id = robots.get(String(name))?.["id"] ?? `r-${robots.size + 1}`;
    // Members that are not given are left out, because the document does not say which are always present.
    const robot = JSON.parse(JSON.stringify({ id, name, robot_type_id, region, created_at: createdAt, site, labels }));
    robots.set(String(name), robot);
    return robot;
  }

  function listRobots(query: URLSearchParams): Answer {
    const page = Number(query.get("page") ?? 1);
    const all = [...robots.values()];
    const body = all.slice((page - 1) * ROBOTS_PER_PAGE, page * ROBOTS_PER_PAGE);
    const link = `<https://policy.example/v1/robots?page=${page + 1}>; rel="next"`;
    return page * ROBOTS_PER_PAGE < all.length ? { status: 200, body, headers: { link } } : { status: 200, body };
  }

  function createFleet(body: Record<string, unknown>): Answer {
    const { name, subject, selection, peak_active_robots, readiness_mode, operating_windows: _windows, ...more } = body;
    const [unknown] = Object.keys(more);
    if (unknown !== undefined) return invalid(["body", unknown], "Extra inputs are not permitted", "extra_forbidden");
    const { robots: named, selector } = Object(selection);
    const members =
      named ?? [...robots.values()].filter(({ site }) => site === selector.site).map((robot) => robot["name"]);
    const stranger = members.findIndex((member: string) => !robots.has(member));
    if (stranger >= 0)
      return invalid(["body", "selection", "robots", stranger], "unknown member", "fleet.member_unknown");
    const fleet = { id: `f-${fleets.size + 1}`, name, subject, readiness_mode, peak_active_robots };
    const made = {
      view: fleet,
      size: members.length,
      subject: String(subject),
      next: String(subject),
      looks: 0,
      generation: 1,
    };
    fleets.set(fleet.id, made);
    return { status: 200, body: viewOf(made) };
  }

  function updateModel(id: string, { subject }: Record<string, unknown>): Answer {
    const fleet = fleets.get(id);
    if (fleet === undefined) return { status: 404, body: { detail: "No such fleet" } };
    Object.assign(fleet, { next: String(subject), looks: 0, generation: fleet.generation + 1 });
    return { status: 200, body: viewOf(fleet) };
  }

  function listFleets(): Answer {
    const all = [...fleets.values()];
    for (const fleet of all) fleet.looks += 1;
    for (const fleet of all) if (fleet.looks >= LOOKS_UNTIL_READY) fleet.subject = fleet.next;
    return { status: 200, body: all.map(viewOf) };
  }

  function createKey(body: Record<string, unknown>): Answer {
    keysCreated += 1;
    const key = `sk_hosted_${String(keysCreated).padStart(24, "k")}`;
    keys.set(`k-${keysCreated}`, String(body["label"]));
    return { status: 201, body: created(key, { ...body, id: `k-${keysCreated}` }) };
  }

  function listKeys(): Answer {
    const all = [...keys].map(([key_id, title]) => ({
      key_id,
      title,
      valid_until: null,
      created_on: createdAt.slice(0, 10),
    }));
    return { status: 200, body: { keys: all, count: String(all.length) } };
  }

  function deploy({ model, robot }: Record<string, unknown>): Answer {
    if (!robots.has(String(robot))) return { status: 404, body: { detail: "Robot not found" } };
    return {
      status: 200,
      body: { deployment: "d-1", state: "STARTING", variant: { of: model, tag: "base" }, target: robot },
    };
  }

  async function answer(request: IncomingMessage): Promise<Answer> {
    const { pathname, searchParams } = new URL(request.url ?? "/", "http://hosted");
    const sent = await text(request);
    const body = sent === "" ? {} : JSON.parse(sent);
    const [, place = "", id = ""] = /^\/v1\/(me\/api-keys|models|fleets)\/([^/]+)(?:\/model)?$/.exec(pathname) ?? [];
    const path = id === "" ? pathname : pathname.replace(`/${id}`, "/ID");
    if (request.headers.authorization?.startsWith("Bearer sk_") !== true) {
      return { status: 401, body: { detail: "Not authenticated" } };
    }
    switch (`${request.method} ${path}`) {
      case "POST /v1/robots/setup": {
        const { length } = String(body.name);
        if (length <= 64) return { status: 200, body: { robot: setUp(body) } };
        return invalid(["body", "name"], "String should have at most 64 characters", "string_too_long");
      }
      case "GET /v1/robots":
        return listRobots(searchParams);
      case "POST /v1/fleets":
        return createFleet(body);
      case "GET /v1/fleets":
        if (!willRestart) return listFleets();
        willRestart = false;
        return { status: 502, body: "upstream connect error or disconnect/reset before headers" };
      case "POST /v1/fleets/ID/model":
        return updateModel(id, body);
      case "POST /v1/me/deployments":
        return deploy(body);
      case "POST /v1/me/api-keys":
        return createKey(body);
      case "GET /v1/me/api-keys":
        return listKeys();
      case "DELETE /v1/me/api-keys/ID":
        return keys.delete(decodeURIComponent(id)) ? { status: 200, body: { key_id: id, revoked: true } } : NOT_FOUND;
      case "GET /v1/models/ID":
        return place === "models" && id === "pi0.5"
          ? { status: 200, body: MODEL }
          : { status: 404, body: { detail: "Model not found" } };
      case "GET /v1/me/usage":
        return { status: 200, body: USAGE };
      default:
        return NOT_FOUND;
    }
  }

  const server = createServer((request, response) => {
    void answer(request).then(({ status, body, headers }) => {
      const isText = typeof body === "string" && status >= 500;
      response.writeHead(status, { "content-type": isText ? "text/plain" : "application/json", ...headers });
      response.end(isText ? body : JSON.stringify(body));
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    keys,
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
    },
  };
}

const NOT_FOUND: Answer = { status: 404, body: { detail: "Not Found" } };

/** As FastAPI does. */
function invalid(loc: readonly (string | number)[], msg: string, type: string): Answer {
  return { status: 422, body: { detail: [{ loc, msg, type, input: null, ctx: {} }] } };
}

interface Fleet {
  readonly view: object;
  /** Robots in it. */
  readonly size: number;
  subject: string;
  next: string;
  looks: number;
  generation: number;
}

/** The fleet is preparing until its model is ready, whatever the states of the models are called. */
function viewOf({ view, size, subject, next, looks, generation }: Fleet): object {
  const isReady = looks >= LOOKS_UNTIL_READY;
  const isUpdated = subject !== next;
  return {
    ...view,
    subject,
    status: isReady ? "ready" : "preparing",
    blocker: null,
    robots: { registered: size, ready: isReady ? size : 0, active: 0, waiting: isReady ? 0 : size, blocked: 0 },
    active_model: {
      subject,
      generation_id: String(isUpdated ? generation - 1 : generation),
      status: isReady || isUpdated ? "LIVE" : "WARMING_UP",
    },
    ...(isUpdated ? { update: { subject: next, generation_id: String(generation), status: "WARMING_UP" } } : {}),
  };
}

function usualKey(secret: string, { id, label }: { readonly id?: string; readonly label?: string }): object {
  return { key_id: id, secret, title: label, valid_until: null };
}

/** Numbers may be texts. */
const MODEL = {
  model_name: "pi0.5",
  maker: { name: "Physical Intelligence", country: "US" },
  variants: [
    { tag: "base", size_gb: "6.5", regions: ["us-west-2", "eu-central-1"] },
    { tag: "droid", size_gb: "6.5", regions: ["us-west-2"] },
  ],
};

const USAGE = {
  currency: "USD",
  rows: [
    { month: "2026-10", robot_name: "arm-1", gpu_seconds: "5400", cost: "1.35" },
    { month: "2026-10", robot_name: "arm-2", gpu_seconds: "60", cost: "0.02" },
  ],
};
