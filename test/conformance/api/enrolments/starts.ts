import { describe, expect } from "vitest";

import { NO_DIGEST } from "../../../support/service/robot-computer.ts";
import { computerOf, start, startOf } from "./enrolling.ts";
import type { Tests } from "../tests.ts";

export function enrolmentStartsConformance({ itOnce }: Tests): void {
  describe("starts of enrolments", () => {
    const inference = { outcome: "verified", site: { aws_region: "us-west-2" } };
    itOnce.for<[what: string, members: object, locs: readonly (readonly (string | number)[])[]]>([
      ["no name", { requested_name: undefined }, [["body", "requested_name"]]],
      ["an empty name", { requested_name: "" }, [["body", "requested_name"]]],
      ["a name of 65 characters", { requested_name: "x".repeat(65) }, [["body", "requested_name"]]],
      ["a key of 31 characters", { public_key: "A".repeat(31) }, [["body", "public_key"]]],
      ["a key of 31 bytes", { public_key: Buffer.alloc(31).toString("base64url") }, [["body", "public_key"]]],
      ["a key of 33 bytes", { public_key: Buffer.alloc(33).toString("base64url") }, [["body", "public_key"]]],
      ["a key in PEM", { public_key: `-----BEGIN PUBLIC KEY-----${"A".repeat(60)}` }, [["body", "public_key"]]],
      ["a digest in capitals", { configuration_digest: NO_DIGEST.toUpperCase() }, [["body", "configuration_digest"]]],
      ["both region and site_inference", { site_inference: inference }, [["body"]]],
      [
        "an unknown outcome",
        { region: null, site_inference: { ...inference, outcome: "x" } },
        [["body", "site_inference", "outcome"]],
      ],
      [
        "an unknown cloud region",
        { region: null, site_inference: { ...inference, site: { aws_region: "moon-1" } } },
        [["body", "site_inference", "site", "aws_region"]],
      ],
      [
        "an inference of more than 16 KiB",
        { region: null, site_inference: { ...inference, x: "y".repeat(16_384) } },
        [["body", "site_inference"]],
      ],
      ["a site of 129 characters", { site: "x".repeat(129) }, [["body", "site"]]],
      [
        "33 labels",
        { labels: Object.fromEntries(Array.from({ length: 33 }, (_, index) => [`l${index}`, ""])) },
        [["body", "labels"]],
      ],
      ["an empty organization", { organization_id: "" }, [["body", "organization_id"]]],
      ["an empty proof", { policy_proof: "" }, [["body", "policy_proof"]]],
      ["a contract that is a list", { contract: [] }, [["body", "contract"]]],
    ])("start with %s → 422", async ([, members, locs], { client }) => {
      await client.as(null).invalid(locs, "startEnrolment", startOf(computerOf(client), members));
    });

    itOnce("start with empty, null and unknown members → accepted", async ({ client }) => {
      const members = {
        site: "",
        labels: {},
        policy_proof: "proof",
        robot_type_id: "so101",
        contract: null,
        organization_id: null,
        site_inference: null,
        other: { x: 1 },
      };
      const started = await start(client, computerOf(client), members);
      expect(await client.call("getEnrolment", { path: { user_code: started.user_code } })).toMatchObject({
        site: null,
        robot_type_id: "so101",
      });
    });

    itOnce("start with a body of more than 32 KiB → 413", async ({ client }) => {
      const sent = startOf(computerOf(client), { policy_proof: "x".repeat(33_000) });
      await client.as(null).refused("PayloadTooLarge", "startEnrolment", sent);
    });

    itOnce("approve with a code of 17 characters → 422", async ({ client }) => {
      await client.invalid([["body", "user_code"]], "approveEnrolment", { body: { user_code: "A".repeat(17) } });
    });
  });
}
