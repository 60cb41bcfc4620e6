import { test as base } from "vitest";

import { createScene } from "./scene.ts";

/** Defines tests with a scene of their own: a test is given what it names of it. */
export const test = base
  .extend("scene", async ({ onTestFinished }) => {
    const scene = await createScene();
    onTestFinished(() => scene[Symbol.asyncDispose]());
    return scene;
  })
  .extend("service", ({ scene }) => scene.service)
  .extend("proxy", ({ scene }) => scene.proxy)
  .extend("robot", ({ scene }) => scene.robot);
