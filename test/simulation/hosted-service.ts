import type { HttpAnswer, HttpRequest } from "../../src/client/transport.ts";
import type { HeldRegistration } from "../../src/client/held-registration.ts";
import type { RobotSetup } from "../../src/api/robots.ts";
import type { RobotView } from "../../src/api/robot-views.ts";
import { robotSetupSchema } from "../../src/api/robots.ts";
import { answerOf } from "./weather.ts";

/** The hosted service of a simulated world: what it knows outlives every robot's trouble. */
export interface HostedService {
  /** By name, as the last accepted registration left them. */
  readonly robots: ReadonlyMap<string, HostedRobot>;
  /** The key that is accepted now. */
  key: string;
  /** @throws nothing: a body that is not a registration is refused like any other. */
  setup(text: string, wall_ms: number): RobotView | null;
  /** What it holds of a robot, by name. */
  registration(name: string): HeldRegistration | null;
  /** Holds no robot, or another registration of it, although its robot was told otherwise. */
  readonly has_lost: boolean;
  /** Somebody removes the robot. */
  remove(name: string): void;
  /** Keeps a backup as it now is, in place of the last one. */
  backUp(): void;
  /** Goes back to the backup, which is empty before there is one. */
  restore(): void;
  /** Another computer registers something else under the name. */
  usurp(name: string, wall_ms: number): void;
  /** Answers a request that arrived. */
  serve(request: HttpRequest, wall_ms: number): HttpAnswer;
}

export interface HostedRobot {
  readonly view: RobotView;
  readonly request: RobotSetup;
  /** Registrations accepted. */
  readonly setups: number;
  /** ISO 8601. */
  readonly registered_at: string;
}

export function createHostedService(key: string): HostedService {
  let robots = new Map<string, HostedRobot>();
  let backup: ReadonlyMap<string, HostedRobot> = new Map();
  let robots_made = 0;
  let has_lost = false;
  const service: HostedService = {
    get robots() {
      return robots;
    },
    get has_lost() {
      return has_lost;
    },
    key,
    setup(text, wall_ms) {
      const parsed = robotSetupSchema.safeParse(JSON.parse(text));
      if (!parsed.success) return null;
      const request = parsed.data;
      const known = robots.get(request.name);
      const view: RobotView = {
        id: known?.view.id ?? `rob_${(robots_made += 1)}`,
        name: request.name,
        robot_type_id: request.robot_type_id,
        region: request.region,
        created_at: known?.view.created_at ?? new Date(wall_ms).toISOString(),
        site: request.site ?? null,
        labels: request.labels ?? {},
      };
      const registered_at = new Date(wall_ms).toISOString();
      has_lost = false;
      robots.set(request.name, { view, request, setups: (known?.setups ?? 0) + 1, registered_at });
      return view;
    },
    registration(name) {
      const known = robots.get(name);
      if (known === undefined) return null;
      const { view, request, registered_at } = known;
      return {
        robot_id: view.id,
        robot: name,
        configuration_digest: request.configuration_digest,
        registered_at,
        robot_type_id: request.robot_type_id,
        region: request.region,
        site: view.site,
        labels: view.labels,
        contract: request.contract ?? null,
        contested_since: null,
      };
    },
    remove(name) {
      has_lost ||= robots.delete(name);
    },
    backUp() {
      backup = new Map(robots);
    },
    restore() {
      has_lost = true;
      robots = new Map(backup);
    },
    usurp(name, wall_ms) {
      const known = robots.get(name);
      if (known === undefined) return;
      has_lost = true;
      const request = { ...known.request, configuration_digest: `sha256:${"0".repeat(64)}` };
      robots.set(name, { ...known, request, registered_at: new Date(wall_ms).toISOString() });
    },
    serve(request, wall_ms) {
      const json = { "content-type": "application/json", date: new Date(wall_ms).toUTCString() };
      if (request.headers["authorization"] !== `Bearer ${service.key}`) {
        return answerOf(401, json, '{"detail":"Not authenticated"}');
      }
      if (request.method === "GET") {
        const [, name = ""] = /\/v1\/robots\/([^/]+)\/registration$/.exec(new URL(request.url).pathname) ?? [];
        const registration = service.registration(decodeURIComponent(name));
        if (registration !== null) return answerOf(200, json, JSON.stringify(registration));
        return answerOf(404, json, '{"detail":"Robot not found"}');
      }
      const robot = service.setup(request.body ?? "", wall_ms);
      if (robot === null) return answerOf(422, json, '{"detail":[{"loc":["body"],"msg":"Bad","type":"value_error"}]}');
      return answerOf(200, json, JSON.stringify({ robot }));
    },
  };
  return service;
}
