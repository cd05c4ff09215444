import { type Entry, type Expr, type FieldInit, NodeFactory, type StructExpr } from './expr.ts';
import { type Token, tokensOf } from './lexer.ts';
import { literalOf } from './literals.ts';
import { expanded, MacroFault } from './macros.ts';
import { CompileError, type Problem } from './source.ts';

const longestExpression = 100_000;
const deepestNesting = 250;

/** Names that the grammar lets through and that no variable or function may have. */
const reserved = new Set(
  'as break const continue else false for function if import in let loop package namespace null return true var void while'.split(
    ' ',
  ),
);
const beginnings =
  "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}";
/** What may follow an opening parenthesis. */
const startsOrCloses = beginnings.replace("'(', ", "'(', ')', ");
const literalKinds = new Set(['int', 'uint', 'double', 'string', 'bytes']);
const constants: ReadonlyMap<string, boolean | null> = new Map<string, boolean | null>([
  ['true', true],
  ['false', false],
  ['null', null],
]);

const relations = new Set(['<', '<=', '>=', '>', '==', '!=', 'in']);
const operatorName = (symbol: string): string => (symbol === 'in' ? '@in' : `_${symbol}_`);

class Stopped extends Error {}

/**
 * Parses an expression and expands its macros.
 *
 * @throws {CompileError} with every fault, as kube-apiserver words it
 */
export function parse(text: string): { readonly expr: Expr; readonly nodes: NodeFactory } {
  const size = Array.from(text).length;
  if (size > longestExpression)
    throw new CompileError(text, [
      {
        at: -1,
        message: `expression code point size exceeds limit: size: ${size}, limit ${longestExpression}`,
      },
    ]);
  const parser = new Parser(text);
  const expr = parser.parse();
  if (!expr || parser.problems.length > 0) throw new CompileError(text, parser.problems);
  return { expr, nodes: parser.nodes };
}

/** Parser reads the grammar of CEL by recursive descent; it stops at the first fault of syntax. */
class Parser {
  readonly nodes = new NodeFactory();
  readonly problems: Problem[];
  readonly #tokens: readonly Token[];
  readonly #end: Token;
  #index = 0;
  #depth = 0;

  constructor(text: string) {
    const { tokens, problems } = tokensOf(text);
    this.#tokens = tokens;
    this.#end = { kind: 'end', text: '<EOF>', at: text.length };
    this.problems = problems;
  }

  parse(): Expr | undefined {
    try {
      const expr = this.#expression();
      if (this.#token.kind !== 'end') this.#unexpected('<EOF>', this.#peek(1).kind === 'end');
      return expr;
    } catch (reason) {
      if (reason instanceof Stopped) return undefined;
      throw reason;
    }
  }

  get #token(): Token {
    return this.#peek(0);
  }
  #peek(by: number): Token {
    return this.#tokens[this.#index + by] ?? this.#end;
  }
  #is(symbol: string, by = 0): boolean {
    const { kind, text } = this.#peek(by);
    return kind === 'symbol' && text === symbol;
  }
  #take(): Token {
    const token = this.#token;
    this.#index++;
    return token;
  }
  #takeIf(symbol: string): Token | undefined {
    return this.#is(symbol) ? this.#take() : undefined;
  }

  #problem(at: number, message: string): void {
    this.problems.push({ at, message });
  }
  #stop(at: number, message: string): never {
    this.#problem(at, `Syntax error: ${message}`);
    throw new Stopped();
  }
  #unexpected(expected: string, isExtra = false): never {
    const { text, at } = this.#token;
    this.#stop(at, `${isExtra ? 'extraneous' : 'mismatched'} input '${text}' expecting ${expected}`);
  }
  /** Takes the symbol that closes something. */
  #close(symbol: string): Token {
    const token = this.#takeIf(symbol);
    if (token) return token;
    const { kind, at } = this.#token;
    if (symbol === ')' && kind === 'end') this.#stop(at, `missing ')' at '<EOF>'`);
    return this.#unexpected(symbol === ']' || symbol === '}' ? `{'${symbol}', ','}` : `'${symbol}'`);
  }

  #expression(): Expr {
    if (++this.#depth > deepestNesting) {
      this.#problem(-1, `expression recursion limit exceeded: ${deepestNesting}`);
      throw new Stopped();
    }
    const condition = this.#or();
    const mark = this.#takeIf('?');
    this.#depth--;
    if (!mark) return condition;
    const yes = this.#or();
    if (!this.#takeIf(':')) this.#unexpected(`':'`);
    return this.nodes.call(mark.at, '_?_:_', [condition, yes, this.#expression()]);
  }

  #or(): Expr {
    return this.#logic('||', () => this.#logic('&&', () => this.#relation()));
  }

  /** Reads terms joined by `&&` or `||`, as a balanced tree. */
  #logic(symbol: '&&' | '||', next: () => Expr): Expr {
    const terms = [next()];
    const places: number[] = [];
    for (let mark = this.#takeIf(symbol); mark; mark = this.#takeIf(symbol)) {
      places.push(mark.at);
      terms.push(next());
    }
    const tree = (low: number, high: number): Expr => {
      const [only] = terms.slice(low);
      if (low === high && only) return only;
      const middle = Math.floor((low + high) / 2);
      return this.nodes.call(places[middle] ?? -1, `_${symbol}_`, [
        tree(low, middle),
        tree(middle + 1, high),
      ]);
    };
    return tree(0, places.length);
  }

  #relation(): Expr {
    return this.#binary(relations, () =>
      this.#binary(new Set('+-'), () => this.#binary(new Set('*/%'), () => this.#unary())),
    );
  }

  #binary(symbols: ReadonlySet<string>, next: () => Expr): Expr {
    let left = next();
    while (this.#token.kind === 'symbol' && symbols.has(this.#token.text)) {
      const { text, at } = this.#take();
      left = this.nodes.call(at, operatorName(text), [left, next()]);
    }
    return left;
  }

  #unary(): Expr {
    const first = this.#token;
    const isSign = first.text === '-' && ['int', 'double'].includes(this.#peek(1).kind);
    if (first.kind !== 'symbol' || isSign || !'!-'.includes(first.text)) return this.#member();
    let count = 0;
    while (this.#is(first.text) && !(count > 0 && this.#isSigned())) {
      this.#take();
      count++;
    }
    const operand = this.#member();
    if (count % 2 === 0) return operand;
    return this.nodes.call(first.at, first.text === '!' ? '!_' : '-_', [operand]);
  }
  #isSigned(): boolean {
    return this.#is('-') && ['int', 'double'].includes(this.#peek(1).kind);
  }

  #member(): Expr {
    let expr = this.#primary();
    for (;;) {
      const mark = this.#token;
      if (this.#takeIf('.')) expr = this.#selection(expr, mark);
      else if (this.#takeIf('[')) expr = this.#index_(expr, mark);
      else return expr;
    }
  }

  #selection(operand: Expr, dot: Token): Expr {
    const isOptional = this.#takeIf('?') !== undefined;
    const field = this.#fieldName(dot);
    if (isOptional)
      return this.nodes.call(dot.at, '_?._', [operand, this.nodes.literal(field.at, field.text)]);
    const open = this.#takeIf('(');
    if (!open) return this.nodes.select(dot.at, operand, field.text);
    return this.#callOrMacro(field.text, open.at, this.#args(), operand);
  }

  #fieldName(before: Token): Token {
    const token = this.#token;
    if (token.kind === 'ident') return this.#take();
    if (token.kind === 'escaped') {
      this.#problem(token.at, "unsupported syntax: '`'");
      return this.#take();
    }
    if (token.kind === 'symbol' && constants.has(token.text))
      this.#stop(token.at, `mismatched input '${token.text}' expecting IDENTIFIER`);
    const text = token.kind === 'end' ? '' : token.text;
    return this.#stop(token.at, `no viable alternative at input '${before.text}${text}'`);
  }

  #index_(operand: Expr, open: Token): Expr {
    const name = this.#takeIf('?') ? '_[?_]' : '_[_]';
    const index = this.#expression();
    if (!this.#takeIf(']')) this.#unexpected(`']'`);
    return this.nodes.call(open.at, name, [operand, index]);
  }

  #args(): Expr[] {
    if (this.#takeIf(')')) return [];
    if (this.#token.kind === 'end') this.#unexpected(startsOrCloses);
    const args = [this.#expression()];
    while (this.#takeIf(',')) args.push(this.#expression());
    this.#close(')');
    return args;
  }

  #callOrMacro(name: string, at: number, args: readonly Expr[], target?: Expr): Expr {
    const { nodes } = this;
    try {
      const macro = expanded(name, { nodes, at, args }, target);
      return macro ?? nodes.call(at, name, args, target);
    } catch (reason) {
      if (!(reason instanceof MacroFault)) throw reason;
      this.#problem(reason.at, reason.message);
      return nodes.literal(at, null);
    }
  }

  #primary(): Expr {
    const token = this.#token;
    if (literalKinds.has(token.kind) || this.#isSigned()) return this.#literal();
    if (token.kind === 'ident' || this.#is('.')) return this.#name();
    if (token.kind !== 'symbol') return this.#unexpected(beginnings);
    if (this.#takeIf('(')) {
      const inner = this.#expression();
      this.#close(')');
      return inner;
    }
    if (this.#takeIf('[')) return this.#list(token.at);
    if (this.#takeIf('{')) return this.#map(token.at);
    const constant = constants.get(token.text);
    if (constant === undefined) return this.#unexpected(beginnings, this.#beginsAt(1));
    this.#take();
    return this.nodes.literal(token.at, constant);
  }

  /** Whether a token further on could begin an expression. */
  #beginsAt(by: number): boolean {
    const { kind, text } = this.#peek(by);
    if (kind !== 'symbol') return kind !== 'end' && kind !== 'escaped';
    return '[{(.-!'.includes(text) || constants.has(text);
  }

  #literal(): Expr {
    const { at } = this.#token;
    const isNegative = this.#takeIf('-') !== undefined;
    const token = this.#take();
    const value = literalOf(token, isNegative);
    if (value === undefined) this.#problem(at, `invalid ${token.kind} literal`);
    return this.nodes.literal(at, value ?? null);
  }

  #name(): Expr {
    const first = this.#token;
    const dot = this.#takeIf('.') ? '.' : '';
    if (this.#token.kind !== 'ident') this.#unexpected('IDENTIFIER');
    const name = this.#take();
    if (this.#isMessage()) return this.#message(dot + name.text);
    if (reserved.has(name.text)) {
      this.#problem(first.at, `reserved identifier: ${name.text}`);
      if (this.#takeIf('(')) this.#args();
      return this.nodes.literal(first.at, null);
    }
    const open = this.#takeIf('(');
    if (open) return this.#callOrMacro(dot + name.text, open.at, this.#args());
    return this.nodes.ident(name.at, dot + name.text);
  }

  /** Whether names joined by dots go on to a `{`. */
  #isMessage(): boolean {
    let by = 0;
    while (this.#is('.', by) && this.#peek(by + 1).kind === 'ident') by += 2;
    return this.#is('{', by);
  }

  #message(first: string): StructExpr {
    let type = first;
    while (this.#takeIf('.')) type += `.${this.#take().text}`;
    const { at } = this.#take();
    const fields: FieldInit[] = [];
    const one = (): void => {
      const optional = this.#takeIf('?') !== undefined;
      const name = this.#fieldName(this.#token);
      const colon = this.#takeIf(':') ?? this.#unexpected(`':'`);
      fields.push({
        id: this.nodes.next(),
        at: colon.at,
        name: name.text,
        value: this.#expression(),
        optional,
      });
    };
    this.#series('}', one);
    return { is: 'struct', id: this.nodes.next(), at, type, fields };
  }

  /** Reads parts separated by commas; one more comma may stand before the end. */
  #series(end: ']' | '}', one: (index: number) => void): void {
    for (let i = 0; !this.#is(end); i++) {
      one(i);
      if (!this.#takeIf(',')) break;
    }
    this.#close(end);
  }

  #list(at: number): Expr {
    const items: Expr[] = [];
    const optional = new Set<number>();
    this.#series(']', (i) => {
      if (this.#takeIf('?')) optional.add(i);
      items.push(this.#expression());
    });
    return this.nodes.list(at, items, optional);
  }

  #map(at: number): Expr {
    const entries: Entry[] = [];
    this.#series('}', () => {
      const optional = this.#takeIf('?') !== undefined;
      const key = this.#expression();
      const colon = this.#takeIf(':') ?? this.#unexpected(`':'`);
      entries.push({ id: this.nodes.next(), at: colon.at, key, value: this.#expression(), optional });
    });
    return this.nodes.map(at, entries);
  }
}
