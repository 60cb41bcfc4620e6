import type { EnrolmentStart, SiteInference } from "../../api/enrolments.ts";
import { readPublicKey } from "../../platform/ed25519.ts";
import { type Answer, refuseInvalid } from "../kernel/http/answers.ts";
import { printJson } from "../kernel/json/print-json.ts";
import { ruleBroken } from "../kernel/validation/finding.ts";
import { type EnrolmentRow, regionOf } from "./rules.ts";

/** What a computer says of itself and its robot. */
export type StartedEnrolment = Pick<
  EnrolmentRow,
  | "public_key"
  | "requested_name"
  | "region"
  | "site_inference"
  | "site"
  | "labels"
  | "configuration_digest"
  | "robot_type_id"
  | "contract"
  | "wanted_organization_id"
>;

/** What a start says, as it is stored; its name and region are judged when it is approved. */
export function readStart(body: EnrolmentStart): StartedEnrolment | Answer {
  const publicKey = readPublicKey(body.public_key);
  if (publicKey === null) {
    const fault = ruleBroken("not an Ed25519 public key: 32 raw bytes in base64url, 43 characters");
    return refuseInvalid([{ ...fault, loc: ["body", "public_key"], input: null }]);
  }
  const { site_inference: inference = null, robot_type_id: robotTypeId = null, contract = null } = body;
  return {
    public_key: publicKey,
    requested_name: body.requested_name,
    region: regionOf(body.region) ?? regionOf(inference?.site.aws_region),
    site_inference: inference === null ? null : printJson(withoutAddress(inference)),
    site: body.site === undefined || body.site === "" ? null : body.site,
    labels: printJson(body.labels ?? {}),
    configuration_digest: body.configuration_digest,
    robot_type_id: robotTypeId,
    // A contract describes a type, so that without one it says nothing.
    contract: contract === null || robotTypeId === null ? null : printJson(contract),
    wanted_organization_id: body.organization_id ?? null,
  };
}

/** The inference as it was sent, but for the address that it was made from, which is nobody's business but the computer's. */
function withoutAddress(inference: SiteInference): unknown {
  const { geolocation } = inference;
  if (typeof geolocation !== "object" || geolocation === null || Array.isArray(geolocation)) return inference;
  const shown = Object.entries(geolocation).filter(([name]) => name !== "ip");
  return { ...inference, geolocation: new Map(shown) };
}
