import type { Catalog } from "../../manifest/catalog/catalog.ts";
import { NEIGHBOURS, TYPE_HINTS } from "../../manifest/catalog/hints.ts";

/** A type of the catalog, with its number in the list. */
interface Offer {
  readonly number: number;
  readonly id: string;
  readonly name: string;
}

/** The types to choose from, one line each. */
export function typeLines(catalog: Catalog): readonly string[] {
  return describeOffers(offersOf(catalog));
}

export type TypeChoice =
  | { readonly kind: "type"; readonly id: string }
  /** Words that match several types, or a robot close to one, or an unknown number. */
  | { readonly kind: "open"; readonly lines: readonly string[]; readonly closest?: string }
  /** Not in the catalog: perhaps the person's own id. */
  | { readonly kind: "unlisted" };

/** Interprets an answer: the number of a type, its id, or words to search for. */
export function chooseType(answer: string, catalog: Catalog): TypeChoice {
  if (catalog.has(answer)) return { kind: "type", id: answer };
  const offers = offersOf(catalog);
  if (/^\d+$/.test(answer)) {
    const offer = offers[Number(answer) - 1];
    if (offer !== undefined) return { kind: "type", id: offer.id };
    return { kind: "open", lines: [`There is no number ${answer}: 1 to ${offers.length}.`] };
  }
  const named = offers.find(({ id }) => TYPE_HINTS.get(id)?.names.some((name) => compact(name) === compact(answer)));
  if (named !== undefined) return { kind: "type", id: named.id };
  const words = answer.split(/\s+/).map(compact);
  const found = offers.filter(({ id, name }) => {
    const names = [id, name, ...(TYPE_HINTS.get(id)?.names ?? [])];
    const text = names
      .flatMap((each) => each.split(/[ .]/))
      .map(compact)
      .join(" ");
    return words.every((word) => text.includes(word));
  });
  const close = NEIGHBOURS.find(({ names }) => names.some((name) => compact(name) === compact(answer)));
  if (close !== undefined) {
    const nearest = describeOffers(offers.filter(({ id }) => id === close.nearest));
    const own = `with --type ${close.nearest} --extend: ${close.differs}`;
    const lines = [`The catalog has no type for ${answer}.`, `Closest, ${own}`, ...nearest];
    return { kind: "open", lines, closest: `closest, ${own}` };
  }
  const [first, ...more] = found;
  if (first === undefined) return { kind: "unlisted" };
  return more.length === 0
    ? { kind: "type", id: first.id }
    : {
        kind: "open",
        lines: describeOffers(found),
        closest: `did you mean ${found.map(({ id }) => id).join(" or ")}?`,
      };
}

/** Without what people write differently: SO-101, so_101, so101. */
function compact(text: string): string {
  return text.toLowerCase().replace(/[^a-z0-9]/g, "");
}

function offersOf(catalog: Catalog): readonly Offer[] {
  return [...catalog].map(([id, { display_name: displayName }], index) => ({
    number: index + 1,
    id,
    name: displayName,
  }));
}

function describeOffers(offers: readonly Offer[]): readonly string[] {
  const idWidth = Math.max(...offers.map(({ id }) => id.length));
  return offers.map(({ number, id, name }) => `${String(number).padStart(3)}  ${id.padEnd(idWidth)}  ${name}`);
}
