import type { RobotView } from "../../src/api/robot-views.ts";
import { type RobotSetup, robotSetupSchema } from "../../src/api/robots.ts";
import type { HeldRegistration } from "../../src/client/client.ts";
import type { HttpAnswer, HttpRequest } from "../../src/client/transport/transport.ts";
import { answerOf } from "./weather.ts";

/** The hosted service of a simulated world. Its data survives all faults of the robots. */
export interface HostedService {
  /** Robots by name, as last registered. */
  readonly robots: ReadonlyMap<string, HostedRobot>;
  /** The currently valid key. */
  key: string;
  /** @throws nothing: an invalid registration is refused. */
  setup(text: string, wallMs: number): RobotView | null;
  /** The registration of a robot, by name. */
  registration(name: string): HeldRegistration | null;
  /** Loses the robot or restores another registration of it, although the robot got a success. */
  readonly hasLost: boolean;
  /** Removes the robot. */
  remove(name: string): void;
  /** Replaces the backup by the current data. */
  backUp(): void;
  /** Restores the backup, which is initially empty. */
  restore(): void;
  /** Another computer registers different data under the name. */
  usurp(name: string, wallMs: number): void;
  serve(request: HttpRequest, wallMs: number): HttpAnswer;
}

export interface HostedRobot {
  readonly view: RobotView;
  readonly request: RobotSetup;
  /** Number of accepted registrations. */
  readonly setups: number;
  /** ISO 8601. */
  readonly registered_at: string;
}

export function createHostedService(key: string): HostedService {
  let robots = new Map<string, HostedRobot>();
  let backup: ReadonlyMap<string, HostedRobot> = new Map();
  let robotsMade = 0;
  let hasLost = false;
  const service: HostedService = {
    get robots() {
      return robots;
    },
    get hasLost() {
      return hasLost;
    },
    key,
    setup(text, wallMs) {
      const parsed = robotSetupSchema.safeParse(JSON.parse(text));
      if (!parsed.success) return null;
      const request = parsed.data;
      const known = robots.get(request.name);
      const view: RobotView = {
        id: known?.view.id ?? `rob_${(robotsMade += 1)}`,
        name: request.name,
        robot_type_id: request.robot_type_id,
        region: request.region,
        created_at: known?.view.created_at ?? new Date(wallMs).toISOString(),
        site: request.site ?? null,
        labels: request.labels ?? {},
      };
      const registeredAt = new Date(wallMs).toISOString();
      hasLost = false;
      robots.set(request.name, { view, request, setups: (known?.setups ?? 0) + 1, registered_at: registeredAt });
      return view;
    },
    registration(name) {
      const known = robots.get(name);
      if (known === undefined) return null;
      const { view, request, registered_at: registeredAt } = known;
      return {
        robot_id: view.id,
        robot: name,
        configuration_digest: request.configuration_digest,
        registered_at: registeredAt,
        robot_type_id: request.robot_type_id,
        region: request.region,
        site: view.site,
        labels: view.labels,
        contract: request.contract ?? null,
        contested_since: null,
      };
    },
    remove(name) {
      hasLost ||= robots.delete(name);
    },
    backUp() {
      backup = new Map(robots);
    },
    restore() {
      hasLost = true;
      robots = new Map(backup);
    },
    usurp(name, wallMs) {
      const known = robots.get(name);
      if (known === undefined) return;
      hasLost = true;
      const request = { ...known.request, configuration_digest: `sha256:${"0".repeat(64)}` };
      robots.set(name, { ...known, request, registered_at: new Date(wallMs).toISOString() });
    },
    serve(request, wallMs) {
      const json = { "content-type": "application/json", date: new Date(wallMs).toUTCString() };
      if (request.headers["authorization"] !== `Bearer ${service.key}`) {
        return answerOf(401, json, '{"detail":"Not authenticated"}');
      }
      // It has no such operations.
      if (request.method === "PUT") return answerOf(404, json, '{"detail":"Not Found"}');
      if (request.method === "GET") {
        const [, name = ""] = /\/v1\/robots\/([^/]+)\/registration$/.exec(new URL(request.url).pathname) ?? [];
        const registration = service.registration(decodeURIComponent(name));
        if (registration !== null) return answerOf(200, json, JSON.stringify(registration));
        return answerOf(404, json, '{"detail":"Robot not found"}');
      }
      const robot = service.setup(request.body ?? "", wallMs);
      if (robot === null) return answerOf(422, json, '{"detail":[{"loc":["body"],"msg":"Bad","type":"value_error"}]}');
      return answerOf(200, json, JSON.stringify({ robot }));
    },
  };
  return service;
}
