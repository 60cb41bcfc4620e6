import { expect, onTestFinished, test, vi } from "vitest";

import { goToProgram } from "../../../src/console/browser/logins/callback.ts";

const CALLBACK = "http://127.0.0.1:4321/done";

test.each([
  ["the waiting program", `${CALLBACK}?code=c`, CALLBACK, true],
  ["another path of the program", "http://127.0.0.1:4321/else?code=c", CALLBACK, true],
  ["another port", "http://127.0.0.1:4322/done?code=c", CALLBACK, false],
  ["another host", "http://login.example:4321/done?code=c", CALLBACK, false],
  ["another scheme", "javascript:alert(1)", CALLBACK, false],
  ["a program that does not listen", "http://127.0.0.1:9/done?code=c", "http://127.0.0.1:9/done", false],
  ["no address at all", "nowhere", "nowhere", false],
])("after a login: redirect to %s (%s, expected %s) → followed: %s", (_what, redirectUrl, callbackUrl, goes) => {
  const assign = vi.fn();
  vi.stubGlobal("location", { assign });
  onTestFinished(() => void vi.unstubAllGlobals());
  goToProgram(redirectUrl, callbackUrl);
  expect(assign.mock.calls).toEqual(goes ? [[redirectUrl]] : []);
});
