import { test as base } from "vitest";

import { createScene } from "./scene.ts";

/** A `test` with fixtures of a scene: a test receives those that its parameters name. */
export const test = base
  .extend("scene", async ({ onTestFinished }) => {
    const scene = await createScene();
    onTestFinished(() => scene[Symbol.asyncDispose]());
    return scene;
  })
  .extend("service", ({ scene }) => scene.service)
  .extend("proxy", ({ scene }) => scene.proxy)
  .extend("robot", ({ scene }) => scene.robot);
