import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { type Enrolling, openEnrolling, steady } from "../../support/operator/enrolling.ts";
import { endedWith, openSiteAtOneTime, type OperatorSite } from "../../support/operator/operator.ts";
import { RobotComputer } from "../../support/service/robot-computer.ts";

let site: OperatorSite;
let start: Enrolling["start"];
let enrollOnline: Enrolling["enrollOnline"];
beforeAll(async () => {
  site = await openSiteAtOneTime();
  ({ start, enrollOnline } = openEnrolling(site));
});
afterAll(() => site[Symbol.asyncDispose]());

describe("robots pending", () => {
  it("no pending enrolment → the command that a technician runs on the robot", async () => {
    await using empty = await openSiteAtOneTime();
    expect(await empty.run("robots", "pending")).toEqual({
      exitCode: 0,
      out: "",
      err:
        "No robot waits for approval. If the service has several organizations, the list has only computers that name yours; " +
        "approve others by their code. A technician starts an enrolment on the robot: sudo robot-policy-agent enroll\n",
    });
  });

  it("each enrolment: code, whether its robot exists, and key; a narrow terminal still shows the code", async () => {
    await using freshSite = await openSiteAtOneTime();
    const { start: startFresh } = openEnrolling(freshSite);
    await freshSite.register("arm-20");
    await startFresh("arm-20", { site: "plant-1", robot_type_id: "lerobot.so101-follower.v1" });
    await startFresh("arm-21", { region: null });
    const { out } = await freshSite.run("robots", "pending");
    expect(steady(out)).toMatchInlineSnapshot(`
      "CODE       NAME    ROBOT                  SITE     FROM       REGION     TYPE                       STARTED               EXPIRES               KEY
      WXYZ-2345  arm-21  new                             127.0.0.1                                        TIME  TIME  SHA256:FINGERPRINT
      WXYZ-2345  arm-20  exists, not monitored  plant-1  127.0.0.1  us-west-2  lerobot.so101-follower.v1  TIME  TIME  SHA256:FINGERPRINT
      "
    `);
    const environment = { ROBOT_POLICY_URL: freshSite.urls.whole, ROBOT_POLICY_API_KEY: freshSite.service.key };
    const narrow = await freshSite.runWith({ environment, columns: 80 }, "robots", "pending");
    expect(steady(narrow.out + narrow.err)).toMatchInlineSnapshot(`
      "CODE       NAME    ROBOT                  SITE     FROM       STARTED
      WXYZ-2345  arm-21  new                             127.0.0.1  now
      WXYZ-2345  arm-20  exists, not monitored  plant-1  127.0.0.1  now
      4 columns hidden: region, type, expires, key; --columns shows them
      "
    `);
    const { items } = await freshSite.json("robots", "pending");
    expect(items).toMatchObject([{ requested_name: "arm-21" }, { requested_name: "arm-20", site: "plant-1" }]);
  });
});

describe("robots approve", () => {
  it("new robot → shows the computer, asks once, and the computer gets its credential", async () => {
    const { code, poll } = await start("Arm-1", { site: "plant-1", labels: { cell: "4" } });
    const { exitCode, out, err } = await site.runWith({ answers: ["y"] }, "robots", "approve", code.toLowerCase());
    expect(exitCode).toBe(0);
    expect(steady(err + out)).toMatchInlineSnapshot(`
      "code      WXYZ-2345
      key       SHA256:FINGERPRINT
      from      127.0.0.1
      asks for  Arm-1
      region    us-west-2
      site      plant-1
      labels    cell=4
      started   TIME
      expires   TIME
      This adds the robot arm-1.
      Compare the code and the key with what the robot shows.
      Approve it? [y/N] 
      arm-1 is approved, in us-west-2.
      "
    `);
    expect(await poll()).toBe("approved");
    expect(await site.json("robots", "show", "arm-1")).toMatchObject({ site: "plant-1", labels: { cell: "4" } });
  });

  it("existing robot → shows what changes in its registration, and keeps its id", async () => {
    await site.register("arm-2", { site: "lab", labels: { team: "a" }, region: "us-west-2" });
    const { id } = await site.json("robots", "show", "arm-2");
    const { code, poll } = await start("arm-2", {
      site: "plant-1",
      labels: { cell: "4" },
      configuration_digest: `sha256:${"7".repeat(64)}`,
    });
    const { exitCode, err } = await site.runWith({ answers: ["yes"] }, "robots", "approve", code, "--region", "moon-1");
    expect([exitCode, await poll()]).toEqual([0, "approved"]);
    expect(err).toMatch(/^warning: no endpoint is in the region moon-1\.$/m);
    expect(steady(err.slice(err.indexOf("The robot")))).toMatchInlineSnapshot(`
      "The robot arm-2 exists (rob_ID); it is not monitored: no computer is enrolled.
      What the new computer says differs from its registration:
        region    us-west-2 → moon-1
        site      lab → plant-1
        labels    team=a → cell=4
        digest    sha256:000000000000 → sha256:777777777777
      Compare the code and the key with what the robot shows.
      Approve it? [y/N] 
      "
    `);
    expect(await site.json("robots", "show", "arm-2")).toMatchObject({ id, region: "moon-1", site: "plant-1" });
  });

  it("line feeds in the computer's texts → do not start a new line in the question", async () => {
    await site.register("arm-8");
    const { code } = await start("arm-9\nkey  A", {
      region: "moon-1\nkey  B",
      site: "a\nkey  C",
      labels: { d: "\nkey  D" },
    });
    for (const name of [[], ["--name", "arm-8"]]) {
      const { err } = await site.runWith({ answers: ["n"] }, "robots", "approve", code, ...name);
      expect(steady(err).match(/^key.*$/gm)).toEqual(["key       SHA256:FINGERPRINT"]);
    }
    await site.run("robots", "deny", code);
  });

  it.each([["n"], [""], ["arm"]])("answer %j → not approved", async (answer) => {
    const { code, poll } = await start("arm-3");
    expect(await site.runWith({ answers: [answer] }, "robots", "approve", code)).toMatchObject(
      endedWith(1, "nothing was changed [not-confirmed]"),
    );
    expect(await poll()).toBe("pending");
  });

  it("--name and --region take precedence over the computer's request", async () => {
    const { code } = await start("wrong name!", { region: null });
    expect(await site.run("robots", "approve", code, "--name", "arm-4")).toMatchObject(
      endedWith(2, "the computer did not say its region [usage]\n  → give the region nearest to it: --region REGION"),
    );
    expect(await site.run("robots", "approve", code, "--region", "us-west-2")).toMatchObject(
      endedWith(6, "error: --name"),
    );
    expect(await site.json("robots", "approve", code, "--name", "arm-4", "--region", "us-west-2")).toMatchObject({
      status: "approved",
      requested_name: "arm-4",
      region: "us-west-2",
    });
  });

  it("--site and --label → beside what the computer says, and shown in what changes", async () => {
    await site.register("arm-42", { site: "lab" });
    const { code, poll } = await start("arm-42", { site: null, labels: { cell: "2" } });
    const given = ["--site", "plant-1", "--label", "line=4"];
    const { exitCode, err } = await site.runWith({ answers: ["y"] }, "robots", "approve", code, ...given);
    expect([exitCode, await poll()]).toEqual([0, "approved"]);
    expect(err).toMatch(/site +lab → plant-1\n +labels +\S.* → cell=2 line=4\n/);
    expect(await site.json("robots", "show", "arm-42")).toMatchObject({
      site: "plant-1",
      labels: { cell: "2", line: "4" },
    });
    expect(await site.run("robots", "approve", code, "--label", "line")).toMatchObject(
      endedWith(2, "--label 'line' is not name=value"),
    );
  });

  it("unknown or malformed code → exit 6, with the command that lists the codes", async () => {
    expect(await site.run("robots", "approve", "AAAA-2222")).toMatchObject(
      endedWith(6, /^error: No enrolment waits with this code.*\[not-found\]\n {2}→ robot-policy robots pending lists/),
    );
    expect(await site.run("robots", "approve", "far-too-long-for-a-code")).toMatchObject(endedWith(6, "CODE"));
  });

  it("the same approval again → succeeds; a different approval of the code → conflict with a remedy", async () => {
    const { code } = await start("arm-5");
    expect(await site.run("robots", "approve", code)).toMatchObject({ exitCode: 0 });
    expect(await site.run("robots", "approve", code)).toMatchObject({ exitCode: 0 });
    expect(await site.run("robots", "approve", code, "--name", "arm-6")).toMatchObject(
      endedWith(7, /as arm-5 in us-west-2.*\[already-approved\]\n {2}→ robot-policy robots deny CODE ends it/),
    );
  });

  it("--dry-run → shows the request; the enrolment stays pending", async () => {
    const { code, poll } = await start("arm-7");
    const shown = await site.json("robots", "approve", code, "--replace", "arm-7", "--dry-run");
    expect(shown).toMatchObject({ method: "POST", body: { user_code: code, confirm_replace: true } });
    expect(await poll()).toBe("pending");
  });

  it("key without robots:write → refused", async () => {
    const { api_key: apiKey } = await site.json("keys", "create", "reader", "--scope", "robots:read");
    const environment = { ROBOT_POLICY_URL: site.urls.whole, ROBOT_POLICY_API_KEY: String(apiKey) };
    expect(await site.runWith({ environment }, "robots", "approve", "AAAA-2222")).toMatchObject(
      endedWith(5, "[forbidden]"),
    );
  });
});

describe("robots approve, several", () => {
  it("codes: shows the key of each, asks once, and leaves out what needs its own consent", async () => {
    const [first, second] = [await start("batch-1"), await start("batch-2", { site: "plant-1" })];
    const { code: online } = await enrollOnline("batch-3");
    const codes = [first.code, second.code, online];
    const declined = await site.runWith({ answers: ["n"] }, "robots", "approve", ...codes);
    expect([declined.exitCode, declined.out, await first.poll()]).toEqual([1, "", "pending"]);
    const { exitCode, out, err } = await site.runWith(
      { answers: ["y"] },
      "robots",
      "approve",
      ...codes,
      "--label",
      "a=b",
    );
    expect(exitCode).toBe(7);
    expect(steady(err + out)).toMatchInlineSnapshot(`
      "WXYZ-2345 is left out, because batch-3 is online on another computer: robot-policy robots approve WXYZ-2345
      WXYZ-2345  batch-1 (new, from 127.0.0.1)
                 SHA256:FINGERPRINT
      WXYZ-2345  batch-2 (new, plant-1, from 127.0.0.1)
                 SHA256:FINGERPRINT
      Compare each code and key with what its robot shows.
      Approve all 2? [y/N] 
      batch-1 is approved, in us-west-2.
      batch-2 is approved, in us-west-2.
      "
    `);
    expect([await first.poll(), await second.poll()]).toEqual(["approved", "approved"]);
    expect(await site.json("robots", "show", "batch-2")).toMatchObject({ site: "plant-1", labels: { a: "b" } });
  });

  it("--all --site: those that say the site; one that is refused does not hold up the rest", async () => {
    await start("elsewhere");
    for (const [name, site] of [
      ["hall-a", "hall-1"],
      ["no name!", "hall-1"],
      ["hall-b", "hall-1"],
    ] as const)
      await start(name, { site });
    const all = ["robots", "approve", "--all", "--site", "hall-1"];
    const { bodies } = await site.json(...all, "--dry-run");
    expect(bodies).toHaveLength(3);
    const { exitCode, out, err } = await site.run(...all);
    expect([exitCode, out.match(/^hall-\w is approved/gm)?.length]).toEqual([6, 2]);
    expect(err).toMatch(/^no name! \(\S+\) is not approved:\nerror: /m);
    expect((await site.json("robots", "pending")).items).toContainEqual(
      expect.objectContaining({ requested_name: "elsewhere" }),
    );
    expect(await site.run(...all.slice(0, 3), "--site", "nowhere")).toMatchObject(
      endedWith(0, "No robot waits for approval at this site."),
    );
  });

  it.each([
    [[], "no code is given"],
    [["--all", "WXYZ-2345"], "--all takes no codes"],
    [["WXYZ-2345", "WXYZ-2346", "--name", "a"], "--name and --replace are for one code"],
    [["--all", "--replace", "a"], "--all and --replace exclude each other"],
  ])("%j → exit 2", async (args, message) => {
    expect(await site.run("robots", "approve", ...args)).toMatchObject(endedWith(2, message));
  });
});

describe("robots approve, for a robot that is online", () => {
  it("requires the robot's name, typed or as --replace", async () => {
    const { code, poll: pollOld, computer } = await enrollOnline("arm-30");
    expect(await site.run("robots", "approve", code, "--yes")).toMatchObject(
      endedWith(
        7,
        "error: the robot arm-30 is online on another computer [robot-online]\n  → make sure that the new one is to replace it, then add --replace arm-30\n",
      ),
    );
    expect(await site.run("robots", "approve", code, "--replace", "arm-3")).toMatchObject(
      endedWith(2, "--replace names arm-3, but the code is for the robot arm-30 [usage]"),
    );
    for (const answer of ["y", "arm-3", ""]) {
      expect(await site.runWith({ answers: [answer] }, "robots", "approve", code)).toMatchObject(
        endedWith(1, "nothing was changed [not-confirmed]\n  → type arm-30 to go on"),
      );
    }
    expect((await computer.heartbeat()).status).toBe(200);
    const { exitCode, err } = await site.runWith({ answers: ["arm-30"] }, "robots", "approve", code);
    expect(exitCode).toBe(0);
    expect(steady(err.slice(err.indexOf("The robot")))).toMatchInlineSnapshot(`
      "The robot arm-30 exists (rob_ID); it is online.
      Compare the code and the key with what the robot shows.
      Another computer is online as this robot. It loses its credential as soon as the new computer has its own.
      Type the robot's name to replace its computer: 
      "
    `);
    expect(await pollOld()).toBe("consumed");
  });

  it("--replace with the name in another case → approved without a question", async () => {
    const { computer: old } = await enrollOnline("arm-31");
    const { code, poll } = await start("arm-31");
    expect(await site.run("robots", "approve", code, "--replace", "ARM-31")).toMatchObject({ exitCode: 0 });
    expect(await poll()).toBe("approved");
    expect((await old.heartbeat()).status).toBe(401);
  });

  it("--name of another robot that is online → requires that robot's name", async () => {
    await enrollOnline("arm-32");
    const { code } = await start("arm-33");
    expect(await site.run("robots", "approve", code, "--name", "arm-32")).toMatchObject(
      endedWith(7, "error: the robot arm-32 is online on another computer"),
    );
  });
});

describe("robots deny", () => {
  it("shows the computer, asks once, and the computer's next poll says denied", async () => {
    const { code, poll } = await start("arm-40");
    const declined = await site.runWith({ answers: ["n"] }, "robots", "deny", code);
    expect([declined.exitCode, await poll()]).toEqual([1, "pending"]);
    const { exitCode, out, err } = await site.runWith({ answers: ["y"] }, "robots", "deny", code);
    expect([exitCode, steady(out)]).toEqual([
      0,
      "WXYZ-2345 is denied: the computer that asked to be arm-40 is told so.\n",
    ]);
    expect(err).toContain("asks for  arm-40\n");
    expect(await poll()).toBe("denied");
    expect(await site.run("robots", "deny", code)).toMatchObject(endedWith(6, "[not-found]"));
  });

  it("approved, but the computer has not polled yet → can still be denied", async () => {
    const { code, poll } = await start("arm-41");
    await site.run("robots", "approve", code);
    expect(await site.json("robots", "deny", code)).toMatchObject({ status: "denied", requested_name: "arm-41" });
    expect(await poll()).toBe("denied");
  });
});

describe("keys create --enroll", () => {
  it("a robot enrolls with the key without an approval; keys list shows the remaining uses", async () => {
    const { out } = await site.run(
      ...`keys create july --enroll --uses 2 --expires 7d --site plant-1 --region us-west-2 --label image=july`.split(
        " ",
      ),
    );
    const computer = new RobotComputer(() => site.urls.whole);
    const started = await computer.start({ requested_name: "arm-60", region: null }, out.trim());
    expect([started.approval_required, (await computer.poll(started)).status]).toEqual([false, "approved"]);
    expect(await site.json("robots", "show", "arm-60")).toMatchObject({ site: "plant-1", labels: { image: "july" } });
    const listed = await site.run("keys", "list", "--columns", "label,scopes,uses");
    expect(listed.out).toMatch(/^july +robots:enroll +1 of 2 left$/m);
  });

  it.each([
    [["--enroll", "--expires", "7d"], "--enroll needs --uses"],
    [["--enroll", "--uses", "many", "--expires", "7d"], "--uses 'many' is not a number from 1 to 100000"],
    [["--enroll", "--uses", "100001", "--expires", "7d"], "--uses '100001' is not a number from 1"],
    [["--enroll", "--uses", "5"], "--enroll needs --expires"],
    [["--enroll", "--uses", "5", "--expires", "7d", "--scope", "robots:read"], "--enroll and --scope exclude"],
    [["--uses", "5"], "--uses needs --enroll"],
    [["--scope", "robots:enroll"], "--scope 'robots:enroll' is not a scope"],
  ])("%j → exit 2", async (args, message) => {
    expect(await site.run("keys", "create", "x", ...args)).toMatchObject(endedWith(2, message));
  });

  it("the service refuses a value → the error names its flag", async () => {
    const args = ["--enroll", "--uses", "5", "--expires", "91d"];
    expect(await site.run("keys", "create", "x", ...args)).toMatchObject(endedWith(6, "--expires"));
  });
});
