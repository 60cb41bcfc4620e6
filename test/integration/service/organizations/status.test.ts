import { expect, it } from "vitest";

import { runServiceCommand, storeFlags } from "../../../support/service/service-command.ts";
import { startService } from "../../../support/service/service.ts";
import { describeOnEachStore } from "../../../support/service/stores.ts";

describeOnEachStore("status", (newStore) => {
  it("shows what each organization has, also while the service runs", async () => {
    const location = await newStore();
    await using _service = await startService({ store: location });
    const status = (...flags: readonly string[]) => runServiceCommand("status", ...storeFlags(location), ...flags);
    const shown = expect.stringMatching(/^ORGANIZATION +ROBOTS +KEYS +ID *\ndefault +0 +1 +org_\w+\n$/);
    expect(await status()).toMatchObject({ code: 0, stdout: shown, stderr: "" });
    expect(JSON.parse((await status("--json")).stdout)).toMatchObject({
      organizations: [{ name: "default", robots: 0, api_keys: 1 }],
    });
  });
});
