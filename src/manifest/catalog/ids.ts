/** The catalog's types by id, for the check of a manifest. */
export type Catalog = ReadonlyMap<string, CatalogType>;

export interface CatalogType {
  readonly display_name: string;
  /** The service is known to have the type: a robot of exactly this type registers by id alone. */
  readonly hosted: boolean;
}

/** The part of the catalog that the check of a manifest by id needs. rows.ts has the whole catalog, but takes longer to load. */
export const READY_CATALOG: Catalog = new Map([
  ["lerobot.so101-follower.v1", { display_name: "SO-101 follower arm (LeRobot)", hosted: true }],
  ["lerobot.bi-so101-follower.v1", { display_name: "Two SO-101 follower arms (LeRobot)", hosted: false }],
  ["lerobot.lekiwi.v1", { display_name: "LeKiwi mobile manipulator (LeRobot)", hosted: false }],
  ["trossen.aloha-bimanual.v1", { display_name: "ALOHA stationary, two ViperX arms", hosted: true }],
  ["droid.franka-panda.v1", { display_name: "Franka Panda with Robotiq 2F-85 (DROID)", hosted: true }],
  ["yam.bimanual-joint-position.v1", { display_name: "Two YAM arms", hosted: true }],
  ["unitree.g1-dex3.v1", { display_name: "Unitree G1 upper body with Dex3-1 hands", hosted: false }],
  ["unitree.g1-dex1.v1", { display_name: "Unitree G1 upper body with Dex1-1 grippers", hosted: false }],
  [
    "bridge.widowx-250.v1",
    { display_name: "WidowX 250 with delta end-effector control (BridgeData V2)", hosted: false },
  ],
  ["ur.ur5e-2f85.v1", { display_name: "UR5e with Robotiq 2F-85", hosted: false }],
]);
