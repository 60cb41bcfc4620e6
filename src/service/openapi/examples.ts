import type { OperationName } from "../../api/api.ts";

/**
 * Example bodies. Sent in this order, they succeed on a new service with the example catalog, as
 * test/integration/service/openapi.test.ts checks.
 */
export const EXAMPLES: Readonly<Partial<Record<OperationName, unknown>>> = {
  setupRobot: {
    name: "packing-cell-4",
    robot_type_id: "yam.bimanual-joint-position.v1",
    region: "us-west-2",
    configuration_digest: "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    site: "plant-1",
    labels: { line: "4", cell: "packing" },
  },
  previewFleet: { selector: { site: "plant-1", labels: { cell: "packing" } }, subject: "pi0.5" },
  createFleet: {
    name: "packing",
    subject: "pi0.5",
    selection: { selector: { site: "plant-1", labels: { cell: "packing" } } },
    peak_active_robots: 1,
    readiness_mode: "always_ready",
  },
  updateFleetModel: { subject: "pi0.5" },
  createDeployment: { model: "pi0.5", robot: "packing-cell-4" },
  createApiKey: { label: "packing-cell-4", scopes: ["robots:setup"] },
  createWebhook: { url: "https://hooks.example.com/robots", events: ["robot.registered", "robot.frozen"] },
};
