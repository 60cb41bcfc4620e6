/** Fields hold local times; requests carry the instant with its time zone. */
import { describe, expect, it, onTestFinished, vi } from "vitest";

import { bodyOf } from "../../../src/console/browser/fleets/draft.ts";

describe.each([
  ["UTC", "2026-01-31T22:30:00.000Z", "2026-07-31T22:30:00.000Z"],
  ["Europe/Berlin", "2026-01-31T21:30:00.000Z", "2026-07-31T20:30:00.000Z"],
  ["America/St_Johns", "2026-02-01T02:00:00.000Z", "2026-08-01T01:00:00.000Z"],
])("in %s", (zone, winter, summer) => {
  function inZone(): void {
    vi.stubEnv("TZ", zone);
    onTestFinished(() => {
      vi.unstubAllEnvs();
    });
  }

  it("an operating window is sent in the person's time zone", () => {
    inZone();
    const body = bodyOf(formWith("scheduled", "2026-01-31 22:30 to 2026-07-31T22:30"));
    expect(body.operating_windows).toEqual([{ starts_at: winter, ends_at: summer }]);
  });
});

it("one window on each line; a line without two times is sent as it is, and the service refuses it", () => {
  const text = "2026-01-31T22:30 2026-02-01T22:30\n\nsoon\n";
  const windows = bodyOf(formWith("scheduled", text)).operating_windows;
  expect(windows).toHaveLength(2);
  expect(windows?.[1]).toEqual({ starts_at: "soon", ends_at: "soon" });
});

it("windows of a fleet that is not scheduled are not sent", () => {
  expect(bodyOf(formWith("on_demand", "2026-01-31T22:30 2026-07-31T22:30"))).not.toHaveProperty("operating_windows");
});

function formWith(readinessMode: string, windows: string): FormData {
  const data = new FormData();
  data.set("readiness_mode", readinessMode);
  data.set("operating_windows", windows);
  return data;
}
