import type { RobotSetup } from "../../src/api/robots.ts";
import type { RobotView } from "../../src/api/robot-views.ts";
import { robotSetupSchema } from "../../src/api/robots.ts";

/** The hosted service of a simulated world: what it knows outlives every robot's trouble. */
export interface HostedService {
  /** By name, as the last accepted registration left them. */
  readonly robots: ReadonlyMap<string, HostedRobot>;
  /** The key that is accepted now. */
  key: string;
  /** @throws nothing: a body that is not a registration is refused like any other. */
  setup(text: string, wall_ms: number): RobotView | null;
}

export interface HostedRobot {
  readonly view: RobotView;
  readonly request: RobotSetup;
  /** Registrations accepted. */
  readonly setups: number;
}

export function createHostedService(key: string): HostedService {
  const robots = new Map<string, HostedRobot>();
  return {
    robots,
    key,
    setup(text, wall_ms) {
      const parsed = robotSetupSchema.safeParse(JSON.parse(text));
      if (!parsed.success) return null;
      const request = parsed.data;
      const known = robots.get(request.name);
      const view: RobotView = {
        id: known?.view.id ?? `rob_${robots.size + 1}`,
        name: request.name,
        robot_type_id: request.robot_type_id,
        region: request.region,
        created_at: known?.view.created_at ?? new Date(wall_ms).toISOString(),
        site: request.site ?? null,
        labels: request.labels ?? {},
      };
      robots.set(request.name, { view, request, setups: (known?.setups ?? 0) + 1 });
      return view;
    },
  };
}
