/** Finds a type of the catalog by the words that people use for it. */
import { type Catalog, NEIGHBOURS } from "../../manifest/catalog/ids.ts";

export interface TypeOffer {
  readonly id: string;
  readonly name: string;
  /** What differs, where the robot is only close to this type. */
  readonly differs: string | null;
}

/** The types that these words may mean: one when they are its id or a name of it, all without words. */
export function findTypes(words: string, catalog: Catalog): readonly TypeOffer[] {
  const isMeant = (name: string) => compact(name) === compact(words);
  const close = NEIGHBOURS.find(({ names }) => names.some(isMeant));
  const offers = [...catalog].map(([id, { display_name: name, names }]) => {
    return { id, name, names, differs: close?.nearest === id ? close.differs : null };
  });
  if (close !== undefined) return offers.filter(({ differs }) => differs !== null);
  const named = offers.find(({ id, names }) => isMeant(id) || names.some(isMeant));
  if (named !== undefined) return [named];
  const wanted = words.split(/[\s_]+/).map(compact);
  return offers.filter(({ id, name, names }) => {
    const parts = [id, name, ...names].flatMap((each) => each.split(/[ .]/));
    const text = parts.map(compact).join(" ");
    return wanted.every((word) => text.includes(word));
  });
}

/** What to say to somebody who wrote this in place of an id; null where nothing is close. */
export function suggestType(words: string, catalog: Catalog): string | null {
  const found = findTypes(words, catalog);
  const [first] = found;
  if (first === undefined) return null;
  if (first.differs !== null) return `closest, with --type ${first.id} --extend: ${first.differs}`;
  return `did you mean ${found.map(({ id }) => id).join(" or ")}?`;
}

/** Without what people write differently: SO-101, so_101, so101. */
function compact(text: string): string {
  return text.toLowerCase().replace(/[^a-z0-9]/g, "");
}
