/** The mistakes that scripts/lab/mistakes/mutate.ts plants: each kind is one that a person makes, found in the syntax tree. */
import { type CallExpression, type Expression, type Node, parseSync, type Program, visitorKeys } from "oxc-parser";

/** One mistake in one place of a file. */
export interface Mutation {
  readonly kind: MutationKind;
  /** Offsets of the text that it replaces, in UTF-16 units. */
  readonly start: number;
  readonly end: number;
  readonly replacement: string;
}

export const MUTATION_KINDS = [
  "dropped-await",
  "dropped-fsync",
  "dropped-organization",
  "dropped-where",
  "dropped-lock",
  "dropped-snapshot",
  "dropped-call",
  "dropped-scope",
  "swapped-arguments",
  "off-by-one",
  "wrong-constant",
  "wrong-unit",
  "wrong-status",
  "stale-cache",
  "uncleared-timer",
  "missing-escape",
  "negated-condition",
  "dropped-operand",
] as const;

export type MutationKind = (typeof MUTATION_KINDS)[number];

interface Place {
  readonly node: Node;
  readonly parent: Node | null;
  readonly text: (node: Node) => string;
}

type Replacement = readonly [start: number, end: number, replacement: string];
type Planter = (place: Place) => readonly Replacement[];

/** Every mutation of a source file, in the order of its text. @param path decides about TypeScript and JSX. */
export function mutationsOf(path: string, source: string, kinds: readonly MutationKind[]): readonly Mutation[] {
  const { program, errors } = parseSync(path, source);
  if (errors.length > 0) throw new Error(`${path}: ${errors[0]?.message}`);
  const mutations: Mutation[] = [];
  visit(program, (node, parent) => {
    const place = { node, parent, text: ({ start, end }: Node) => source.slice(start, end) };
    for (const kind of kinds) {
      for (const [start, end, replacement] of PLANTERS[kind](place)) mutations.push({ kind, start, end, replacement });
    }
  });
  return mutations.toSorted((one, other) => one.start - other.start);
}

const PLANTERS: Readonly<Record<MutationKind, Planter>> = {
  "dropped-await": ({ node, text }) =>
    node.type === "AwaitExpression" ? [[node.start, node.end, `(${text(node.argument)})`]] : [],

  "dropped-fsync": (place) => dropCalls(place, /^(?:sync|syncDirectory|fsync|fsyncSync|fdatasync|datasync)$/),

  "dropped-organization": ({ node, text }) => {
    const column = node.type === "CallExpression" && calledName(node) === "where" ? node.arguments[0] : undefined;
    if (node.type !== "CallExpression" || node.callee.type !== "MemberExpression") return [];
    if (column?.type !== "Literal" || !String(column.value).endsWith("organization_id")) return [];
    return [[node.start, node.end, text(node.callee.object)]];
  },

  "dropped-where": ({ node, text }) => {
    if (node.type !== "CallExpression" || node.callee.type !== "MemberExpression") return [];
    const [column] = node.arguments;
    const isOrganization = column?.type === "Literal" && String(column.value).endsWith("organization_id");
    // `on` with two arguments listens to an event.
    const isFilter =
      node.arguments.length === 3 ? isQueryTerm(node) : calledName(node) === "where" && node.arguments.length === 1;
    return isFilter && !isOrganization ? [[node.start, node.end, text(node.callee.object)]] : [];
  },

  "dropped-lock": ({ node, text }) => {
    if (node.type !== "CallExpression" || node.callee.type !== "MemberExpression") return [];
    return /^(?:forUpdate|skipLocked)$/.test(calledName(node))
      ? [[node.start, node.end, text(node.callee.object)]]
      : [];
  },

  "dropped-snapshot": ({ node, text }) => {
    if (node.type !== "CallExpression" || calledName(node) !== "readSnapshot") return [];
    const [reader, read] = node.arguments;
    return reader === undefined || read === undefined
      ? []
      : [[node.start, node.end, `(${text(read)})(${text(reader)})`]];
  },

  // Logging and metrics have their own kind. The call in an arrow function mostly is the value that it returns.
  "dropped-call": (place) =>
    place.node.type !== "ExpressionStatement"
      ? []
      : dropCalls(
          place,
          /^(?!(?:sync|syncDirectory|fsync|fsyncSync|fdatasync|datasync|delete|clear|forget|invalidate.*|retain|clearTimeout|clearInterval|removeEventListener|abort|debug|info|warn|error|push|note|problem)$)/,
        ),

  "dropped-scope": ({ node, text }) => {
    if (node.type === "Property" && text(node.key) === "scopes" && node.value.type === "ArrayExpression") {
      return [[node.value.start, node.value.end, '"any"']];
    }
    const isCheck = node.type === "CallExpression" && /^(?:mayDo|hasScope|allows)$/.test(calledName(node));
    return isCheck ? [[node.start, node.end, "true"]] : [];
  },

  "swapped-arguments": ({ node, text }) => {
    if (node.type !== "CallExpression" || isQueryTerm(node)) return [];
    return node.arguments.slice(1).flatMap((second, index): readonly Replacement[] => {
      const first = node.arguments[index];
      if (first === undefined || !isSimple(first) || !isSimple(second) || text(first) === text(second)) return [];
      return [[first.start, second.end, `${text(second)}, ${text(first)}`]];
    });
  },

  "off-by-one": ({ node, text }) => {
    if (node.type !== "BinaryExpression") return [];
    const other = { "<": "<=", "<=": "<", ">": ">=", ">=": ">" }[node.operator as string];
    if (other !== undefined) return [[node.start, node.end, `${text(node.left)} ${other} ${text(node.right)}`]];
    const isOne = node.right.type === "Literal" && node.right.value === 1;
    return isOne && (node.operator === "+" || node.operator === "-") ? [[node.start, node.end, text(node.left)]] : [];
  },

  /** If the tests use a limit or duration only by its name, nothing checks its value. */
  "wrong-constant": ({ node, text }) => {
    if (node.type !== "VariableDeclarator" || node.id.type !== "Identifier" || node.init === null) return [];
    const isConstant = /^[A-Z][A-Z\d_]*$/.test(node.id.name) && isNumeric(node.init);
    return isConstant ? [[node.init.start, node.init.end, `(${text(node.init)}) * 10`]] : [];
  },

  "wrong-unit": ({ node, text }) => {
    if (node.type !== "BinaryExpression" || (node.operator !== "*" && node.operator !== "/")) return [];
    return /^(?:1000|1_000|[A-Z]+_MS)$/.test(text(node.right)) ? [[node.start, node.end, text(node.left)]] : [];
  },

  "wrong-status": ({ node, parent, text }) => {
    if (node.type !== "Literal" || typeof node.value !== "number" || parent === null) return [];
    if (node.value < 200 || node.value > 599 || !Number.isInteger(node.value)) return [];
    const isStatus = parent.type === "Property" ? text(parent.key) === "status" : /status|code\(/i.test(text(parent));
    return isStatus ? [[node.start, node.end, String(node.value + 1)]] : [];
  },

  "stale-cache": (place) => dropCalls(place, /^(?:delete|clear|forget|invalidate\w*|retain)$/),

  "uncleared-timer": (place) => dropCalls(place, /^(?:clearTimeout|clearInterval|removeEventListener|abort)$/),

  "missing-escape": ({ node, text }) => {
    if (node.type !== "CallExpression" || node.arguments.length === 0) return [];
    const [argument] = node.arguments;
    const isEscape = /escape|disarm|quote|visible|printable|redact|mask|shellWord|encodeURIComponent/i.test(
      calledName(node),
    );
    return isEscape && argument !== undefined ? [[node.start, node.end, `(${text(argument)})`]] : [];
  },

  "negated-condition": ({ node, text }) => {
    if (node.type !== "IfStatement" && node.type !== "ConditionalExpression") return [];
    return [[node.test.start, node.test.end, `!(${text(node.test)})`]];
  },

  "dropped-operand": ({ node, text }) => {
    if (node.type !== "LogicalExpression" || node.operator === "??") return [];
    return [
      [node.start, node.end, text(node.left)],
      [node.start, node.end, text(node.right)],
    ];
  },
};

/** Statements, and bodies of arrow functions, that only call one of these. */
function dropCalls({ node }: Place, name: RegExp): readonly Replacement[] {
  if (node.type === "ExpressionStatement") return calls(node.expression, name) ? [[node.start, node.end, ";"]] : [];
  if (node.type !== "ArrowFunctionExpression" || node.body.type === "BlockStatement") return [];
  return calls(node.body, name) ? [[node.body.start, node.body.end, "{}"]] : [];
}

function calls(expression: Node, name: RegExp): boolean {
  const call = expression.type === "AwaitExpression" ? expression.argument : expression;
  const inner = call.type === "ChainExpression" ? call.expression : call;
  return inner.type === "CallExpression" && name.test(calledName(inner));
}

/** `name` of `name(…)` and `object.name(…)`; empty for other calls. */
function calledName({ callee }: CallExpression): string {
  if (callee.type === "Identifier") return callee.name;
  if (callee.type === "MemberExpression" && callee.property.type === "Identifier") return callee.property.name;
  return "";
}

/** `where("id", "=", id)` and the like. */
function isQueryTerm(call: CallExpression): boolean {
  return /^(?:where|whereRef|on|onRef)$/.test(calledName(call)) && call.arguments.length === 3;
}

/** `15 * 60_000`, but no text and nothing computed at run time. */
function isNumeric(node: Expression): boolean {
  if (node.type === "BinaryExpression") return isNumeric(node.right) && node.left.type !== "PrivateIdentifier";
  return (
    (node.type === "Literal" && typeof node.value === "number") ||
    (node.type === "Identifier" && /^[A-Z]/.test(node.name))
  );
}

function isSimple({ type }: Expression | Node): boolean {
  return type === "Identifier" || type === "MemberExpression" || type === "Literal";
}

/** Types hold no mistakes that a test could find. */
function visit(root: Program, tell: (node: Node, parent: Node | null) => void): void {
  const step = (node: Node, parent: Node | null): void => {
    if (node.type.startsWith("TS") && !/^TS(?:As|NonNull|Satisfies)/.test(node.type)) return;
    tell(node, parent);
    // The types of nodes have no index signature; visitorKeys names the members that hold children.
    const members = node as unknown as Readonly<Record<string, unknown>>;
    for (const key of visitorKeys[node.type] ?? []) {
      const value = members[key];
      for (const child of Array.isArray(value) ? value : [value]) if (isNode(child)) step(child, node);
    }
  };
  step(root, null);
}

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && "type" in value;
}
