import { type Tone, toneOf, inWords } from "../../../views/view.ts";
import { Icon } from "./icon.tsx";
import { capitalized } from "./text.ts";

interface StatusBadgeProps {
  readonly status: string;
  readonly word?: string;
  readonly tone?: Tone | undefined;
}

/** A state as icon, word and colour, each sufficient alone. */
export function StatusBadge({ status, word = status, tone = toneOf(status) }: StatusBadgeProps) {
  return (
    <span class="badge" data-tone={tone}>
      <Icon name={tone} />
      {capitalized(inWords(word))}
    </span>
  );
}
