import { ownMember } from '../../base/own.ts';
import { isEmpty, templateFunctions, textOf, type TemplateFunction } from './functions.ts';
import { type Part, partsOf, templateFault, type Word } from './tokens.ts';

/** Functions that depend on the object or the time, by name. */
export type TemplateContext = Readonly<Record<string, TemplateFunction>>;

/** A compiled template: renders an object. */
export type Template = (object: unknown, functions: TemplateContext) => string;

/** The variables in scope, the innermost first. */
class Scope {
  readonly #values = new Map<string, unknown>();
  readonly #outer: Scope | undefined;

  constructor(outer?: Scope) {
    this.#outer = outer;
  }

  get(name: string): unknown {
    return this.#values.has(name) ? this.#values.get(name) : this.#outer?.get(name);
  }

  declare(name: string, value: unknown): void {
    this.#values.set(name, value);
  }

  assign(name: string, value: unknown): void {
    if (this.#values.has(name) || !this.#outer) this.#values.set(name, value);
    else this.#outer.assign(name, value);
  }
}

interface Frame {
  readonly dot: unknown;
  readonly scope: Scope;
  readonly functions: TemplateContext;
}

type Value = (frame: Frame) => unknown;
type Block = (frame: Frame) => string;

const compiled = new Map<string, Template>();
const mostCompiled = 1000;

/**
 * Compiles a template of Go's text/template language, in part: paths, variables, pipelines, `if`, `with`, `range` and
 * functions. `names` are the functions that the context provides at rendering.
 *
 * @param missing the text for a path that leads to nothing
 * @throws {AgentError} `invalid_argument` with the line and what is not supported
 * @example
 * compileTemplate('phase: {{ .status.phase }}', [])(pod, {});
 */
export function compileTemplate(
  template: string,
  names: readonly string[],
  missing = '<no value>',
): Template {
  const key = JSON.stringify([template, names, missing]);
  const existing = compiled.get(key);
  if (existing) return existing;
  const block = new Compiler(partsOf(template), names, missing).compile();
  const render: Template = (object, functions) => {
    const scope = new Scope();
    scope.declare('$', object);
    return block({ dot: object, scope, functions });
  };
  if (compiled.size >= mostCompiled) compiled.clear();
  compiled.set(key, render);
  return render;
}

const join =
  (blocks: readonly Block[]): Block =>
  (frame) =>
    blocks.map((block) => block(frame)).join('');

class Compiler {
  readonly #parts: readonly Part[];
  readonly #names: ReadonlySet<string>;
  readonly #missing: string;
  #next = 0;

  constructor(parts: readonly Part[], names: readonly string[], missing: string) {
    this.#parts = parts;
    this.#missing = missing;
    this.#names = new Set(names);
  }

  compile(): Block {
    const { block, end } = this.#body();
    if (end) throw templateFault(end.line, `unexpected {{ ${end.word} }}`);
    return block;
  }

  /** Compiles up to the `end` or `else` that closes this body. */
  #body(): { readonly block: Block; readonly end?: { word: string; rest: readonly Word[]; line: number } } {
    const blocks: Block[] = [];
    for (let part = this.#parts[this.#next++]; part; part = this.#parts[this.#next++]) {
      if (part.kind === 'text') {
        const { text } = part;
        blocks.push(() => text);
        continue;
      }
      const { line } = part;
      const words = part.words.filter(({ text }, at) => text !== ' ' || at > 0);
      const [first, ...rest] = words;
      if (first?.text === 'end' || first?.text === 'else')
        return { block: join(blocks), end: { word: first.text, rest, line } };
      blocks.push(this.#action(words, line));
    }
    return { block: join(blocks) };
  }

  #action(words: readonly Word[], line: number): Block {
    const [first, ...rest] = words;
    switch (first?.text) {
      case 'if':
        return this.#branch(rest, line, (value, frame) => (isEmpty(value) ? undefined : frame));
      case 'with':
        return this.#branch(rest, line, (value, frame) =>
          isEmpty(value) ? undefined : { ...frame, dot: value },
        );
      case 'range':
        return this.#range(rest, line);
      case 'define':
      case 'template':
      case 'block':
      case 'break':
      case 'continue':
        throw templateFault(line, `{{ ${first.text} }} is not supported: use if, with, range and variables`);
      default:
        return this.#output(words, line);
    }
  }

  #output(words: readonly Word[], line: number): Block {
    const parser = new Pipeline(words, this.#names, line);
    const { variables, isNew, value } = parser.parse();
    const [variable] = variables;
    if (variable === undefined)
      return (frame) => {
        const result = value(frame);
        return result === undefined || result === null ? this.#missing : textOf(result);
      };
    return (frame) => {
      const result = value(frame);
      if (isNew) frame.scope.declare(variable, result);
      else frame.scope.assign(variable, result);
      return '';
    };
  }

  /** Compiles the rest of `if` or `with`: its body, and what is rendered otherwise. */
  #branch(
    words: readonly Word[],
    line: number,
    enter: (value: unknown, frame: Frame) => Frame | undefined,
  ): Block {
    const { variables, value } = new Pipeline(words, this.#names, line).parse();
    const { block, end } = this.#body();
    const otherwise = this.#otherwise(end, line);
    return (frame) => {
      const found = value(frame);
      const scope = new Scope(frame.scope);
      if (variables[0] !== undefined) scope.declare(variables[0], found);
      const inner = enter(found, { ...frame, scope });
      return inner ? block(inner) : otherwise({ ...frame, scope });
    };
  }

  #otherwise(end: { word: string; rest: readonly Word[]; line: number } | undefined, line: number): Block {
    if (!end) throw templateFault(line, 'the block has no {{ end }}');
    if (end.word === 'end') return () => '';
    const rest = end.rest.filter(({ text }) => text !== ' ');
    if (rest.length > 0) return this.#action(rest, end.line);
    const { block, end: last } = this.#body();
    if (last?.word !== 'end') throw templateFault(end.line, 'the block has no {{ end }}');
    return block;
  }

  #range(words: readonly Word[], line: number): Block {
    const { variables, value } = new Pipeline(words, this.#names, line).parse();
    const { block, end } = this.#body();
    const otherwise = this.#otherwise(end, line);
    const [first, second] = variables;
    return (frame) => {
      const members = entriesOf(value(frame));
      if (members.length === 0) return otherwise(frame);
      return members
        .map(([key, member]) => {
          const scope = new Scope(frame.scope);
          if (first !== undefined) scope.declare(first, second === undefined ? member : key);
          if (second !== undefined) scope.declare(second, member);
          return block({ ...frame, dot: member, scope });
        })
        .join('');
    };
  }
}

/** Returns what `range` visits: the members of a list, of a map by key, or numbers up to a number. */
function entriesOf(value: unknown): readonly (readonly [key: unknown, member: unknown])[] {
  if (Array.isArray(value)) return (value as readonly unknown[]).map((member, at) => [at, member]);
  if (typeof value === 'number') return Array.from({ length: value }, (_, at) => [at, at]);
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
}

const literals: ReadonlyMap<string, unknown> = new Map<string, unknown>([
  ['true', true],
  ['false', false],
  ['nil', undefined],
]);

/** Parses the pipeline of an action. */
class Pipeline {
  readonly #words: readonly Word[];
  readonly #names: ReadonlySet<string>;
  readonly #line: number;
  #next = 0;

  constructor(words: readonly Word[], names: ReadonlySet<string>, line: number) {
    this.#words = words;
    this.#names = names;
    this.#line = line;
  }

  parse(): { readonly variables: readonly string[]; readonly isNew: boolean; readonly value: Value } {
    const variables = this.#variables();
    const isNew = variables.length > 0 && this.#words[this.#next - 1]?.text === ':=';
    const value = this.#pipeline();
    this.#skip();
    const left = this.#words[this.#next];
    if (left) throw templateFault(this.#line, `unexpected ${JSON.stringify(left.text)}`);
    return { variables, isNew, value };
  }

  /** Parses `$a, $b :=` or `$a =` at the beginning, if it is there. */
  #variables(): readonly string[] {
    const words = this.#words;
    const at = words.findIndex(({ kind, text }) => kind === 'sign' && (text === ':=' || text === '='));
    if (at < 0) return [];
    const names = words.slice(0, at).filter(({ kind }) => kind === 'variable');
    this.#next = at + 1;
    return names.map(({ text }) => text);
  }

  #skip(): void {
    while (this.#words[this.#next]?.text === ' ') this.#next += 1;
  }

  #pipeline(): Value {
    let value = this.#command(undefined);
    this.#skip();
    while (this.#words[this.#next]?.text === '|') {
      this.#next += 1;
      value = this.#command(value);
      this.#skip();
    }
    return value;
  }

  /** Parses a function with its arguments, or a value. @param piped the last argument */
  #command(piped: Value | undefined): Value {
    this.#skip();
    const first = this.#words[this.#next];
    if (first?.kind === 'name' && !literals.has(first.text)) {
      this.#next += 1;
      const args = this.#operands();
      return this.#call(first.text, piped ? [...args, piped] : args);
    }
    const value = this.#operand();
    if (!value || piped) throw templateFault(this.#line, 'a function is missing');
    return value;
  }

  #operands(): readonly Value[] {
    const args: Value[] = [];
    for (let next = this.#operand(); next; next = this.#operand()) args.push(next);
    return args;
  }

  #operand(): Value | undefined {
    this.#skip();
    const word = this.#words[this.#next];
    if (!word || word.text === '|' || word.text === ')') return undefined;
    this.#next += 1;
    const value = this.#valueOf(word);
    return this.#withPath(value);
  }

  #valueOf({ kind, text }: Word): Value {
    switch (kind) {
      case 'string': {
        const literal = text.startsWith('`') ? text.slice(1, -1) : (JSON.parse(text) as string);
        return () => literal;
      }
      case 'number':
        return () => Number(text);
      case 'variable':
        return ({ scope }) => scope.get(text);
      case 'path':
        return ({ dot }) => memberOf(dot, text.slice(1));
      case 'name':
        if (literals.has(text)) return () => literals.get(text);
        return this.#call(text, []);
      case 'sign':
        if (text === '.') return ({ dot }) => dot;
        if (text === '(') return this.#grouped();
        throw templateFault(this.#line, `unexpected ${JSON.stringify(text)}`);
    }
  }

  #grouped(): Value {
    const value = this.#pipeline();
    if (this.#words[this.#next++]?.text !== ')') throw templateFault(this.#line, '"(" has no ")"');
    return value;
  }

  /** Adds the fields directly behind a value: `$node.status.phase`. */
  #withPath(value: Value): Value {
    let of = value;
    for (let word = this.#words[this.#next]; word?.kind === 'path'; word = this.#words[this.#next]) {
      const [inner, key] = [of, word.text.slice(1)];
      this.#next += 1;
      of = (frame) => memberOf(inner(frame), key);
    }
    return of;
  }

  #call(name: string, args: readonly Value[]): Value {
    if (name === 'and' || name === 'or') return logical(name, args);
    const general = ownMember(templateFunctions, name);
    if (!general && !this.#names.has(name)) {
      const all = [...Object.keys(templateFunctions), 'and', 'or', ...this.#names].sort().join(', ');
      throw templateFault(this.#line, `there is no function ${JSON.stringify(name)}; there are ${all}`);
    }
    return (frame) => {
      const act = ownMember(frame.functions, name) ?? general;
      return act?.(...args.map((arg) => arg(frame)));
    };
  }
}

/** `and` and `or` return the value that decides, and evaluate no further. */
const logical =
  (name: 'and' | 'or', args: readonly Value[]): Value =>
  (frame) => {
    let value: unknown;
    for (const arg of args) {
      value = arg(frame);
      if (isEmpty(value) === (name === 'and')) return value;
    }
    return value;
  };

function memberOf(value: unknown, key: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
  return (value as Readonly<Record<string, unknown>>)[key];
}
