import { goQuote } from '../../../go/go-quote.ts';
import { type JsonObject, stringAt } from '../../../apimachinery/json.ts';
import type { Declarations } from '../check/declarations.ts';
import { dynType, structType, type Type } from '../check/types.ts';
import type { Activation } from '../eval/frame.ts';
import { CelMap, EvalError, type Value } from '../values/value.ts';
import { type Budget, type Compiled, compileExpression } from './expressions.ts';
import { jsonPatches } from '../library/strings.ts';
import { patchTypes } from './patch-types.ts';
import {
  activationOf,
  admissionDeclarations,
  type AdmissionInput,
  declaredTypeOf,
  type DeclaredVariables,
} from './variables.ts';

/** Composition holds the compiled `variables` of a policy: each may use those before it. */
export class Composition {
  /** What the other expressions of the policy may refer to. */
  readonly declarations: Declarations;
  readonly #compiled: ReadonlyMap<string, Compiled>;
  readonly #declared: DeclaredVariables;
  readonly #type: Type;

  private constructor(compiled: ReadonlyMap<string, Compiled>, declared: DeclaredVariables, type: Type) {
    this.#compiled = compiled;
    this.#declared = declared;
    this.#type = type;
    // a policy without variables does not know the name
    const variables: Readonly<Record<string, Type>> = compiled.size > 0 ? { variables: type } : {};
    this.declarations = admissionDeclarations(declared).with(variables);
  }

  static of(variables: readonly JsonObject[], declared: DeclaredVariables): Composition {
    const fields = new Map<string, Type>();
    const compiled = new Map<string, Compiled>();
    const type = structType('kubernetes.variables', (name) => fields.get(name));
    const declarations = admissionDeclarations(declared).with({ variables: type });
    for (const variable of variables) {
      const name = stringAt(variable, 'name');
      const one = compileExpression(stringAt(variable, 'expression'), declarations);
      compiled.set(name, one);
      // a variable that does not compile may be anything, so that only its own fault is reported
      fields.set(name, declaredTypeOf(one.program?.type ?? dynType));
    }
    return new Composition(compiled, declared, type);
  }

  /** Name, text and fault of each variable that does not compile. */
  get faults(): readonly (readonly [name: string, expression: string, fault: string])[] {
    return [...this.#compiled].flatMap(([name, { expression, error }]) =>
      error === undefined || expression.trim() === '' ? [] : [[name, expression, error] as const],
    );
  }

  /** For expressions that do not ask the authorizer: those of messages. */
  get withoutAuthorizer(): Declarations {
    return admissionDeclarations({ ...this.#declared, authorizer: false }).with({ variables: this.#type });
  }

  /** For expressions of mutations, which make `Object{…}` and `JSONPatch{…}`. */
  get patchDeclarations(): Declarations {
    return this.declarations.withTypes(patchTypes).withFunctions(jsonPatches);
  }

  /**
   * Returns the values of all variables for a request.
   *
   * @param budget returns what the evaluations may still cost: variables are evaluated when they are used, once
   */
  activation(input: AdmissionInput, budget: () => Budget): Activation {
    const base = activationOf(input);
    const activation: Activation = (name) => (name === 'variables' ? variables : base(name));
    const variables = new Variables(this.#compiled, (compiled) => budget().outcome(compiled, activation));
    return activation;
  }
}

/** Variables evaluates the variables of a policy when they are used. */
class Variables extends CelMap {
  readonly #compiled: ReadonlyMap<string, Compiled>;
  readonly #evaluate: (compiled: Compiled) => {
    readonly value?: Value | undefined;
    readonly error?: string | undefined;
  };
  readonly #values = new Map<string, Value | EvalError>();

  constructor(
    compiled: ReadonlyMap<string, Compiled>,
    evaluate: (compiled: Compiled) => {
      readonly value?: Value | undefined;
      readonly error?: string | undefined;
    },
  ) {
    super();
    this.#compiled = compiled;
    this.#evaluate = evaluate;
  }

  get size(): number {
    return this.#compiled.size;
  }
  keys(): Iterable<Value> {
    return this.#compiled.keys();
  }
  find(key: Value): Value | undefined {
    const compiled = typeof key === 'string' ? this.#compiled.get(key) : undefined;
    if (typeof key !== 'string' || !compiled) return undefined;
    let value = this.#values.get(key);
    if (value === undefined) {
      value = this.#evaluated(key, compiled);
      this.#values.set(key, value);
    }
    if (value instanceof EvalError) throw value;
    return value;
  }

  #evaluated(name: string, compiled: Compiled): Value | EvalError {
    const lead = `composited variable ${goQuote(name)} fails to`;
    if (compiled.error !== undefined) return new EvalError(`${lead} compile: ${compiled.error}`);
    const { value, error } = this.#evaluate(compiled);
    return error === undefined ? (value ?? null) : new EvalError(`${lead} evaluate: ${error}`);
  }
}
