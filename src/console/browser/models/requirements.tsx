import { axesInWords, textsIn } from "../../../api/words/requirements.ts";
import { Facts } from "../parts/page.tsx";

export function RequirementsView({ requirements }: { readonly requirements: Readonly<Record<string, unknown>> }) {
  return (
    <Facts
      facts={[
        ["Robot type", textsIn(requirements["robot_types"]).join(" or ") || "any"],
        ["Camera roles", textsIn(requirements["camera_roles"]).join(", ") || "none needed"],
        ["State axes", axesInWords(requirements["state_axes"])],
        ["Action axes", axesInWords(requirements["action_axes"])],
      ]}
    />
  );
}
