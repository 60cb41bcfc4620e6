import type { Random } from "../../../platform/random.ts";
import { createToken, isToken } from "./token.ts";

/** Prefix of the credentials of robots; secret scanners find leaked ones by it. */
export const ROBOT_TOKEN_PREFIX = "rps_robot_";

/** A new credential: `rps_robot_`, 128 random bits and their checksum. */
export function createRobotToken(random: Random): string {
  return createToken(ROBOT_TOKEN_PREFIX, random);
}

/** Whether shape and checksum of the text are those of a robot's credential. */
export function isRobotToken(text: string): boolean {
  return isToken(ROBOT_TOKEN_PREFIX, text);
}
