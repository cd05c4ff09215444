import { type Filter, isTruthy, jqFunctions } from './jq-functions.ts';
import { ownMember } from '../../base/own.ts';
import { jqFault, type Token, tokensOf } from './jq-tokens.ts';

/** The expressions that were compiled before; a stage is evaluated for each change of thousands of objects. */
const compiled = new Map<string, Filter>();
const mostCompiled = 1000;

/**
 * Compiles an expression of the jq language, as far as docs/simulate.md says: paths, iteration, pipes, comparisons, `and`, `or`, `//`,
 * arithmetic, arrays and functions such as `select`, `any`, `has` and `test`.
 *
 * @throws {AgentError} `invalid_argument` with the position and what is not supported
 * @example
 * compileJq('.status.conditions[] | select(.type == "Ready") | .status')(pod); // ['True']
 */
export function compileJq(expression: string): Filter {
  const existing = compiled.get(expression);
  if (existing) return existing;
  const filter = new Parser(expression).parse();
  if (compiled.size >= mostCompiled) compiled.clear();
  compiled.set(expression, filter);
  return filter;
}

type Binary = (left: unknown, right: unknown) => unknown;

const order = ['undefined', 'null', 'boolean', 'number', 'string', 'object'];

/** Compares like jq: by kind first, then by value. */
function compare(left: unknown, right: unknown): number {
  const rank = (value: unknown): number => order.indexOf(value === null ? 'null' : typeof value);
  if (rank(left) !== rank(right)) return rank(left) - rank(right);
  if (typeof left === 'number') return left - (right as number);
  const [a, b] =
    typeof left === 'string' ? [left, right as string] : [JSON.stringify(left), JSON.stringify(right)];
  return a < b ? -1 : Number(a > b);
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

const add: Binary = (left, right) => {
  if (left === null || left === undefined) return right;
  if (right === null || right === undefined) return left;
  if (Array.isArray(left) && Array.isArray(right)) return [...(left as unknown[]), ...(right as unknown[])];
  if (typeof left === 'object' && typeof right === 'object') return { ...left, ...right };
  return typeof left === 'number' ? left + Number(right) : `${textOf(left)}${textOf(right)}`;
};

const levels: readonly Readonly<Record<string, Binary>>[] = [
  {
    '==': (a, b) => compare(a ?? null, b ?? null) === 0,
    '!=': (a, b) => compare(a ?? null, b ?? null) !== 0,
    '<': (a, b) => compare(a ?? null, b ?? null) < 0,
    '<=': (a, b) => compare(a ?? null, b ?? null) <= 0,
    '>': (a, b) => compare(a ?? null, b ?? null) > 0,
    '>=': (a, b) => compare(a ?? null, b ?? null) >= 0,
  },
  { '+': add, '-': (a, b) => Number(a) - Number(b) },
  {
    '*': (a, b) => Number(a) * Number(b),
    '/': (a, b) => Number(a) / Number(b),
    '%': (a, b) => Number(a) % Number(b),
  },
];

const constants: ReadonlyMap<string, unknown> = new Map<string, unknown>([
  ['true', true],
  ['false', false],
  ['null', null],
]);

/** Applies an operator to each pair of outputs. */
const pairs =
  (left: Filter, right: Filter, act: Binary): Filter =>
  (input) =>
    right(input).flatMap((b) => left(input).map((a) => act(a, b)));

class Parser {
  readonly #expression: string;
  readonly #tokens: readonly Token[];
  #next = 0;

  constructor(expression: string) {
    this.#expression = expression;
    this.#tokens = tokensOf(expression);
  }

  parse(): Filter {
    const filter = this.#pipe();
    if (this.#peek().kind !== 'end') throw this.#fault('unexpected', this.#peek());
    return filter;
  }

  #peek(): Token {
    return this.#tokens[this.#next] ?? { kind: 'end', text: '', at: this.#expression.length };
  }

  #take(text: string): boolean {
    const { kind, text: found } = this.#peek();
    if (found !== text || kind === 'string' || kind === 'end') return false;
    this.#next += 1;
    return true;
  }

  #expect(text: string): void {
    if (!this.#take(text)) throw this.#fault(`expected ${JSON.stringify(text)} instead of`, this.#peek());
  }

  #fault(problem: string, { kind, text, at }: Token): Error {
    const what = kind === 'end' ? 'the end' : JSON.stringify(text);
    return jqFault(this.#expression, at, `${problem} ${what}`);
  }

  #pipe(): Filter {
    const left = this.#comma();
    if (!this.#take('|')) return left;
    const right = this.#pipe();
    return (input) => left(input).flatMap((value) => right(value));
  }

  #comma(): Filter {
    let left = this.#alternative();
    while (this.#take(',')) {
      const [first, second] = [left, this.#alternative()];
      left = (input) => [...first(input), ...second(input)];
    }
    return left;
  }

  #alternative(): Filter {
    const left = this.#or();
    if (!this.#take('//')) return left;
    const right = this.#alternative();
    return (input) => {
      const found = left(input).filter(isTruthy);
      return found.length > 0 ? found : right(input);
    };
  }

  #or(): Filter {
    let left = this.#and();
    while (this.#take('or')) left = pairs(left, this.#and(), (a, b) => isTruthy(a) || isTruthy(b));
    return left;
  }

  #and(): Filter {
    let left = this.#binary(0);
    while (this.#take('and')) left = pairs(left, this.#binary(0), (a, b) => isTruthy(a) && isTruthy(b));
    return left;
  }

  #binary(level: number): Filter {
    const operators = levels[level];
    if (!operators) return this.#postfix();
    let left = this.#binary(level + 1);
    for (;;) {
      const { text, kind } = this.#peek();
      const act = kind === 'sign' && Object.hasOwn(operators, text) ? operators[text] : undefined;
      if (!act) return left;
      this.#next += 1;
      left = pairs(left, this.#binary(level + 1), act);
    }
  }

  /** Parses a term and the fields, indexes and iterations behind it. */
  #postfix(): Filter {
    let filter = this.#term();
    for (;;) {
      const token = this.#peek();
      if (token.kind === 'field') {
        this.#next += 1;
        filter = pipe(filter, member(fieldOf(token.text)));
      } else if (this.#take('?')) continue;
      else if (token.text === '.' && this.#tokens[this.#next + 1]?.text === '[') this.#next += 1;
      else if (this.#take('[')) filter = this.#index(filter);
      else return filter;
    }
  }

  #index(of: Filter): Filter {
    if (this.#take(']')) return pipe(of, iterate);
    const key = this.#pipe();
    this.#expect(']');
    return (input) =>
      of(input).flatMap((value) => key(input).map((at) => memberOf(value, at as string | number)));
  }

  #term(): Filter {
    const token = this.#peek();
    this.#next += 1;
    if (token.kind === 'field') return member(fieldOf(token.text));
    if (token.kind === 'number') return constant(Number(token.text));
    if (token.kind === 'string') return constant(JSON.parse(token.text));
    if (token.kind === 'name') return this.#call(token);
    switch (token.text) {
      case '.':
        return (input) => [input];
      case '-':
        return pipe(this.#postfix(), (value) => [-Number(value)]);
      case '(': {
        const inner = this.#pipe();
        this.#expect(')');
        return inner;
      }
      case '[':
        return this.#array();
      default:
        throw this.#fault('unexpected', token);
    }
  }

  #array(): Filter {
    if (this.#take(']')) return constant([]);
    const inner = this.#pipe();
    this.#expect(']');
    return (input) => [inner(input)];
  }

  #call(token: Token): Filter {
    const { text: name } = token;
    if (constants.has(name)) return constant(constants.get(name));
    const args: Filter[] = [];
    if (this.#take('(')) {
      args.push(this.#pipe());
      this.#expect(')');
    }
    const make = ownMember(jqFunctions, `${name}/${args.length}`);
    if (!make) {
      const all = [...new Set(Object.keys(jqFunctions).map((key) => key.replace(/\/\d$/, '')))].join(', ');
      throw this.#fault(`supported functions are ${all}; not`, token);
    }
    return make(args);
  }
}

/** Returns the name in a field token: `.name` or `."name"`. */
const fieldOf = (text: string): string =>
  text.startsWith('."') ? (JSON.parse(text.slice(1)) as string) : text.slice(1);

const constant =
  (value: unknown): Filter =>
  () => [value];

const pipe =
  (first: Filter, second: Filter): Filter =>
  (input) =>
    first(input).flatMap((value) => second(value));

function memberOf(value: unknown, key: string | number): unknown {
  if (Array.isArray(value)) return typeof key === 'number' ? ((value as unknown[]).at(key) ?? null) : null;
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return null;
  return (value as Readonly<Record<string, unknown>>)[key] ?? null;
}

const member =
  (key: string): Filter =>
  (input) => [memberOf(input, key)];

const iterate: Filter = (input) => {
  if (Array.isArray(input)) return input as readonly unknown[];
  return typeof input === 'object' && input !== null ? Object.values(input) : [];
};
