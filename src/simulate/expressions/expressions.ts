import { Declarations, func, type FunctionDecl, method } from '../../apiserver/cel/check/declarations.ts';
import {
  doubleType,
  dynType,
  stringType,
  timestampType,
  type Type,
} from '../../apiserver/cel/check/types.ts';
import { Program } from '../../apiserver/cel/program.ts';
import { CompileError } from '../../apiserver/cel/syntax/source.ts';
import { fromJson } from '../../apiserver/cel/values/json.ts';
import { Duration, EvalError, Timestamp, Uint, type Value } from '../../apiserver/cel/values/value.ts';
import { operators } from '../../apiserver/cel/library/operators.ts';
import { standard } from '../../apiserver/cel/library/standard.ts';
import { AgentError } from '../../base/errors.ts';
import { parseDuration } from '../../kube/duration.ts';
import type { KubeObject, Pod } from '../../kube/types.ts';
import type { JsonObject } from '../../apimachinery/json.ts';
import { Amount, amounts, ObjectValue } from './kube-values.ts';

/** What a resource is used by: a container of a pod, a pod, or a node. */
export interface UsedBy {
  readonly object: KubeObject;
  readonly container?: string;
}

/** What the functions of expressions read. */
export interface ExpressionDeps {
  /** ms since the epoch */
  readonly now: () => number;
  /** Returns a number from 0 (inclusive) to 1 (exclusive). */
  readonly random: () => number;
  /** Returns what is in use of a resource: cores, or bytes. Default: 0. */
  readonly usage?: (resource: string, of: UsedBy) => number;
  /** Returns what has been used of a resource since it was first asked for: core-seconds, or byte-seconds. Default: 0. */
  readonly cumulativeUsage?: (resource: string, of: UsedBy) => number;
  /** Returns the number of containers that a node has started. Default: 0. */
  readonly startedContainers?: (node: string) => number;
}

/** The objects that an expression is evaluated for, by the names of its variables. */
export type Variables = Readonly<Record<string, KubeObject | JsonObject | undefined>>;

/** A compiled expression. Each of its functions returns `undefined` when the evaluation ends in an error or in a value of another type. */
export interface Expression {
  boolean(variables: Variables): boolean | undefined;
  /** Durations are in nanoseconds, booleans 0 or 1. */
  number(variables: Variables): number | undefined;
  text(variables: Variables): string | undefined;
  /** Returns a time span in ms: a duration, the text of one, a number of nanoseconds, or the time from now to a timestamp. */
  durationMs(variables: Variables): number | undefined;
  /** Evaluates it. @throws {AgentError} `invalid_argument` with the reason */
  check(variables: Variables): void;
}

const nanosPerMs = 1e6;
const nanosPerSecond = 1e9;

/**
 * Expressions compiles expressions of CEL with the functions that kwok's objects use: `Now`, `Rand`, `Quantity`, `SinceSecond`, `UnixSecond`,
 * `Usage`, `CumulativeUsage` and `StartedContainersTotal`.
 * @example
 * new Expressions(deps, ['pod']).compile('Quantity(pod.metadata.annotations["cpu"]) * 2').number({ pod });
 */
export class Expressions {
  readonly #declarations: Declarations;
  readonly #compiled = new Map<string, Expression>();
  readonly #now: () => number;

  /** @param variables the names that an expression may refer to */
  constructor(deps: ExpressionDeps, variables: readonly string[]) {
    this.#now = deps.now;
    const functions = [...timeFunctions(deps), ...usageFunctions(deps)];
    this.#declarations = Declarations.of([operators, standard, amounts, { functions }]).with(
      Object.fromEntries(variables.map((name) => [name, dynType])),
    );
  }

  /** Returns the expression of a text; the same for the same text. @throws {AgentError} `invalid_argument` with what is wrong */
  compile(text: string): Expression {
    const existing = this.#compiled.get(text);
    if (existing) return existing;
    const expression = expressionOf(text, this.#program(text), this.#now);
    this.#compiled.set(text, expression);
    return expression;
  }

  #program(text: string): Program {
    try {
      return Program.compile(text.trim(), this.#declarations);
    } catch (reason) {
      if (!(reason instanceof CompileError || reason instanceof EvalError)) throw reason;
      throw new AgentError(
        'invalid_argument',
        `expression ${JSON.stringify(text.trim())}: ${reason.message}`,
      );
    }
  }
}

function expressionOf(text: string, program: Program, now: () => number): Expression {
  const evaluate = (variables: Variables) => program.evaluate((name) => valueOf(variables[name]));
  const value = (variables: Variables): Value | undefined => evaluate(variables).value;
  return {
    boolean: (variables) => {
      const result = value(variables);
      return typeof result === 'boolean' ? result : undefined;
    },
    number: (variables) => numberOf(value(variables)),
    text: (variables) => {
      const result = value(variables);
      return typeof result === 'string' ? result : undefined;
    },
    durationMs: (variables) => durationMsOf(value(variables), now),
    check: (variables) => {
      const { error } = evaluate(variables);
      if (error !== undefined)
        throw new AgentError('invalid_argument', `expression ${JSON.stringify(text.trim())}: ${error}`);
    },
  };
}

/** Returns an object as a value: Pods, Nodes and containers with quantities and times, any other object as its JSON. */
function valueOf(object: KubeObject | JsonObject | undefined): Value | undefined {
  if (object === undefined) return undefined;
  const { kind = '' } = object as KubeObject;
  const isKnown = kind === '' || kind === 'Pod' || kind === 'Node';
  return isKnown ? new ObjectValue(object as JsonObject) : fromJson(object);
}

function numberOf(value: Value | undefined): number | undefined {
  if (typeof value === 'number') return value;
  if (typeof value === 'bigint' || typeof value === 'boolean') return Number(value);
  if (value instanceof Uint) return Number(value.value);
  if (value instanceof Duration) return Number(value.nanos);
  return value instanceof Amount ? value.number : undefined;
}

function durationMsOf(value: Value | undefined, now: () => number): number | undefined {
  if (value instanceof Timestamp) return Number(value.nanos) / nanosPerMs - now();
  if (typeof value === 'string') {
    const nanos = parseDuration(value);
    return typeof nanos === 'bigint' ? Number(nanos) / nanosPerMs : undefined;
  }
  if (typeof value === 'boolean' || value instanceof Amount) return undefined;
  const nanos = numberOf(value);
  return nanos === undefined ? undefined : nanos / nanosPerMs;
}

type Run = (...args: Value[]) => Value;

/** Declares a function that is called as `name(x, …)` and as `x.name(…)`. */
const both = (name: string, id: string, params: readonly Type[], run: Run): readonly FunctionDecl[] => [
  func(name, [id, params, doubleType, run]),
  method(name, [`${id}_inst`, params, doubleType, run]),
];

function timeFunctions({ now, random }: ExpressionDeps): readonly FunctionDecl[] {
  const time = (): Value => new Timestamp(BigInt(Math.round(now() * nanosPerMs)));
  const since = (object: Value): Value => {
    const { metadata } = objectOf(object);
    const at = Date.parse(metadata?.creationTimestamp ?? '');
    if (Number.isNaN(at)) throw new EvalError('the object has no creationTimestamp');
    return (now() - at) / 1000;
  };
  return [
    func('Now', ['now_time', [], timestampType, time]),
    func('now', ['old_now_time', [], timestampType, time]),
    func('Rand', ['random_number', [], doubleType, () => random()]),
    ...both('SinceSecond', 'since_second', [dynType], since),
    ...both('UnixSecond', 'unix_second', [timestampType], (at) => {
      return Number((at as Timestamp).nanos) / nanosPerSecond;
    }),
  ];
}

function usageFunctions(deps: ExpressionDeps): readonly FunctionDecl[] {
  const used =
    (amount: ExpressionDeps['usage']): Run =>
    (object, resource, container) =>
      amount?.(resource as string, {
        object: objectOf(object),
        ...(typeof container === 'string' && { container }),
      }) ?? 0;
  const forms = (name: string, id: string, run: Run): FunctionDecl =>
    method(
      name,
      [id, [dynType, stringType], doubleType, run],
      [`${id}_of_container`, [dynType, stringType, stringType], doubleType, run],
    );
  const started: Run = (node) => {
    const name = typeof node === 'string' ? node : (objectOf(node).metadata?.name ?? '');
    return deps.startedContainers?.(name) ?? 0;
  };
  return [
    forms('Usage', 'usage', used(deps.usage)),
    forms('CumulativeUsage', 'cumulative_usage', used(deps.cumulativeUsage)),
    ...both('StartedContainersTotal', 'started_containers', [dynType], started),
    ...both('startedContainersTotal', 'old_started_containers', [dynType], started),
  ];
}

/** @throws {EvalError} for a value that is no object */
function objectOf(value: Value): KubeObject {
  if (value instanceof ObjectValue) return value.members;
  throw new EvalError('no such overload');
}

/** Returns the container of a pod that has this name, for the variable `container`. */
export function containerOf({ spec }: Pod, name: string): JsonObject | undefined {
  const { containers = [], initContainers = [], ephemeralContainers = [] } = spec ?? {};
  const all: readonly { readonly name: string }[] = [
    ...containers,
    ...initContainers,
    ...ephemeralContainers,
  ];
  return all.find((one) => one.name === name);
}
