import type { Value } from '../values/value.ts';
import type { Type } from './types.ts';

/** One form of a function: what it takes and returns, and how it is done. */
export interface Overload {
  /** The name that costs go by, as in cel-go. */
  readonly id: string;
  readonly isMember: boolean;
  readonly params: readonly Type[];
  readonly result: Type;
  /** Computes the result; absent for operators that the evaluation does itself. @throws {EvalError} */
  readonly run?: (...args: Value[]) => Value;
}

export interface FunctionDecl {
  readonly name: string;
  readonly overloads: readonly Overload[];
}

type Run = NonNullable<Overload['run']>;
type Form = readonly [id: string, params: readonly Type[], result: Type, run?: Run];

const overload = (isMember: boolean, [id, params, result, run]: Form): Overload => ({
  id,
  isMember,
  params,
  result,
  ...(run && { run }),
});

/** Declares a function called as `name(…)`. */
export const func = (name: string, ...forms: readonly Form[]): FunctionDecl => ({
  name,
  overloads: forms.map((one) => overload(false, one)),
});

/** Declares a function called as `target.name(…)`. */
export const method = (name: string, ...forms: readonly Form[]): FunctionDecl => ({
  name,
  overloads: forms.map((one) => overload(true, one)),
});

/** A set of functions and named types. */
export interface Library {
  readonly functions: readonly FunctionDecl[];
  readonly types?: readonly Type[];
}

/** Declarations holds what an expression may refer to: variables, functions and types. */
export class Declarations {
  readonly #functions: ReadonlyMap<string, FunctionDecl>;
  readonly #types: Pick<ReadonlyMap<string, Type>, 'get'>;
  readonly #variables: ReadonlyMap<string, Type>;

  constructor(
    functions: ReadonlyMap<string, FunctionDecl>,
    types: Pick<ReadonlyMap<string, Type>, 'get'>,
    variables: ReadonlyMap<string, Type>,
  ) {
    this.#functions = functions;
    this.#types = types;
    this.#variables = variables;
  }

  /** Puts libraries together: functions of the same name become one with all their overloads. */
  static of(libraries: readonly Library[]): Declarations {
    const functions = new Map<string, FunctionDecl>();
    for (const { name, overloads } of libraries.flatMap((one) => one.functions))
      functions.set(name, { name, overloads: [...(functions.get(name)?.overloads ?? []), ...overloads] });
    const types = libraries.flatMap((one) => one.types ?? []);
    return new Declarations(functions, new Map(types.map((one) => [one.name, one])), new Map());
  }

  /** Returns declarations with further variables. */
  with(variables: Readonly<Record<string, Type>>): Declarations {
    const all = new Map([...this.#variables, ...Object.entries(variables)]);
    return new Declarations(this.#functions, this.#types, all);
  }

  /** Returns declarations with further functions. */
  withFunctions({ functions }: Library): Declarations {
    const all = new Map([...this.#functions, ...functions.map((one) => [one.name, one] as const)]);
    return new Declarations(all, this.#types, this.#variables);
  }

  /** Returns declarations with types that are found by their name. */
  withTypes(find: (name: string) => Type | undefined): Declarations {
    const types = { get: (name: string) => this.#types.get(name) ?? find(name) };
    return new Declarations(this.#functions, types, this.#variables);
  }

  functionOf(name: string): FunctionDecl | undefined {
    return this.#functions.get(name);
  }
  variable(name: string): Type | undefined {
    return this.#variables.get(name);
  }
  /** Returns the type of a name; undefined for a name that is no type. */
  typeNamed(name: string): Type | undefined {
    return this.#types.get(name);
  }
}
