/** A minimal manifest of a custom robot type, for tests that edit it. */
export function customManifest(paths: readonly string[] = ["/etc/bench.yaml"]): string {
  return `robot_type_id: acme.bench.v1
topology: single_arm
action_semantics: joint_position
control_rate_hz: 20
groups:
  - name: arm
    kind: arm
    elements: [shoulder, elbow]
    unit: deg
    zero: urdf
    limits: {position: [[-90, 90], [-45, 120]], velocity: 60}
  - {name: gripper, kind: gripper, unit: mm, aperture: {closed: 0, open: 80}}
cameras:
  - {role: front, mount: exterior, width: 640, height: 480, fps: 30}
configuration_files: [${paths.join(", ")}]
`;
}
