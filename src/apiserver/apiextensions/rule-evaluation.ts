import { ownMember } from '../../base/own.ts';
import {
  isObject,
  type JsonObject,
  objectAt,
  objectsAt,
  sameJson,
  stringAt,
} from '../../apimachinery/json.ts';
import { fault, type FieldFault } from '../../apimachinery/status-error.ts';
import { omitted } from '../../kube/validation/field-error.ts';
import type { Activation } from '../cel/eval/frame.ts';
import { none, Optional, type Value } from '../cel/values/value.ts';
import { type CompiledRule, compileRules } from './rule-programs.ts';
import { escapedName, type RuleType, ruleTypeOf, withResourceFields } from './rule-types.ts';
import { listKey, schemaValue } from './rule-values.ts';
import { hasRules } from './structural-rules.ts';
import { isEmbedded, itemsOf, propertyOf, type Structural, valuesOf } from './structural.ts';

/** What the rules of one object may cost together. */
const objectBudget = 10_000_000;
const longestMessage = 5 * 1024;

/** What rules say of an object. */
export interface RuleFindings {
  readonly faults: readonly FieldFault[];
  /** Faults of parts that an update leaves as they are. */
  readonly warnings: readonly string[];
}

/** A schema with its compiled rules and those of what it holds. */
interface RuleNode {
  readonly schema: Structural;
  readonly rules: readonly CompiledRule[];
  readonly properties: ReadonlyMap<string, RuleNode>;
  readonly inner?: RuleNode | undefined;
  readonly all: readonly RuleNode[];
}

const compiled = new WeakMap<Structural, RuleNode | null>();

/** What rules are evaluated for, besides the value. */
export interface RuleContext {
  /** The value that stands, for transition rules and ratcheting. */
  readonly old?: unknown;
  /** Whether the value is a whole resource. Default: true. */
  readonly isRoot?: boolean;
}

/** Evaluates the `x-kubernetes-validations` of a schema for a value. Follows apiextensions-apiserver's `cel.Validator`. */
export function evaluateRules(
  value: unknown,
  schema: Structural,
  { old, isRoot = true }: RuleContext = {},
): RuleFindings {
  let node = compiled.get(schema);
  if (node === undefined) {
    node = hasRules(schema)
      ? (nodeOf(schema, schema, { isRoot, type: ruleTypeOf(schema, isRoot) }) ?? null)
      : null;
    compiled.set(schema, node);
  }
  if (!node) return { faults: [], warnings: [] };
  const evaluation = new Evaluation();
  evaluation.visit(node, {
    path: '',
    value,
    old,
    correlated: old === undefined ? undefined : { value, old },
  });
  return evaluation;
}

interface Typed {
  readonly isRoot: boolean;
  readonly type: RuleType | undefined;
}

/** Compiles the rules in `rules`, a schema or one of its `allOf`, for the values of `schema`. */
function nodeOf(rules: Structural, schema: Structural, typed: Typed): RuleNode | undefined {
  const { isRoot, type } = typed;
  const own = { ...schema, 'x-kubernetes-validations': rules['x-kubernetes-validations'] };
  const node: RuleNode = {
    schema: isRoot ? withResourceFields(schema) : schema,
    rules: type ? compileRules(own, type) : [],
    properties: propertyNodes(rules, schema, type),
    inner: innerNode(rules, schema, type),
    all: objectsAt(rules, 'allOf').flatMap((one) => nodeOf(one, schema, typed) ?? []),
  };
  const isUseful = node.rules.length + node.properties.size + node.all.length > 0 || node.inner !== undefined;
  return isUseful ? node : undefined;
}

function innerNode(rules: Structural, schema: Structural, type: RuleType | undefined): RuleNode | undefined {
  const innerSchema = itemsOf(schema) ?? valuesOf(schema);
  const inner = itemsOf(rules) ?? valuesOf(rules);
  return (
    innerSchema && inner && nodeOf(inner, innerSchema, { isRoot: isEmbedded(innerSchema), type: type?.inner })
  );
}

function propertyNodes(
  rules: Structural,
  schema: Structural,
  type: RuleType | undefined,
): ReadonlyMap<string, RuleNode> {
  const nodes = new Map<string, RuleNode>();
  for (const name of Object.keys(objectAt(rules, 'properties'))) {
    const [inner, declared] = [propertyOf(rules, name), propertyOf(schema, name)];
    if (!inner || !declared) continue;
    const escaped = escapedName(name);
    const isRoot = isEmbedded(declared);
    const own = escaped === undefined ? ruleTypeOf(declared, isRoot) : type?.fields?.get(escaped);
    const node = own && nodeOf(inner, declared, { isRoot, type: own });
    if (node) nodes.set(name, node);
  }
  return nodes;
}

/** A value with the one that it replaces. */
interface Correlated {
  readonly value: unknown;
  readonly old: unknown;
}

interface Visit {
  readonly path: string;
  readonly value: unknown;
  /** The value that stands, for transition rules. */
  readonly old: unknown;
  /** Present where an older value is known to be the same thing. */
  readonly correlated?: Correlated | undefined;
  /** The nearest one above with such a value. */
  readonly above?: Correlated | undefined;
}

/** What the member of a visited object is compared with. Kind and version of the object itself never count as unchanged. */
function correlation(name: string, value: unknown, visit: Visit): Pick<Visit, 'correlated' | 'above'> {
  const { correlated, above } = visit;
  if (!correlated) return { above };
  if (!above && (name === 'apiVersion' || name === 'kind')) return {};
  const old = isObject(correlated.old) ? ownMember(correlated.old, name) : undefined;
  return { correlated: old === undefined ? undefined : { value, old }, above: correlated };
}

class Exhausted extends Error {}

const outOfBudget =
  'validation failed due to running out of cost budget, no further validation rules will be run';

/** Evaluation visits the values of one object. */
class Evaluation implements RuleFindings {
  readonly faults: FieldFault[] = [];
  readonly warnings: string[] = [];
  #left = objectBudget;

  visit(node: RuleNode, visit: Visit): void {
    try {
      this.#visit(node, visit);
    } catch (reason) {
      if (!(reason instanceof Exhausted)) throw reason;
    }
  }

  #visit(node: RuleNode, visit: Visit): void {
    const { value, old } = visit;
    if (value === null || value === undefined) return;
    this.#rules(node, visit);
    for (const one of node.all) this.#visit(one, { ...visit, correlated: undefined });
    if (Array.isArray(value)) this.#items(node, value, visit);
    else if (isObject(value)) this.#members(node, value, isObject(old) ? old : {}, visit);
  }

  #items({ inner, schema }: RuleNode, value: readonly unknown[], visit: Visit): void {
    if (!inner) return;
    const { path, old, correlated, above } = visit;
    const keyOf = schema['x-kubernetes-list-type'] === 'map' ? listKey(schema) : undefined;
    const index = (list: unknown): Map<string, unknown> =>
      new Map(keyOf && Array.isArray(list) ? list.map((item: unknown) => [keyOf(item), item]) : []);
    const [olds, correlatedOlds] = [index(old), index(correlated?.old)];
    for (const [i, item] of value.entries()) {
      const key = keyOf?.(item) ?? '';
      const before = correlatedOlds.get(key);
      this.#visit(inner, {
        path: `${path}[${i}]`,
        value: item,
        old: olds.get(key),
        correlated: before === undefined ? undefined : { value: item, old: before },
        above: correlated ?? above,
      });
    }
  }

  #members({ inner, properties }: RuleNode, value: JsonObject, old: JsonObject, visit: Visit): void {
    const { path } = visit;
    for (const [name, member] of Object.entries(value)) {
      const node = inner ?? properties.get(name);
      if (!node) continue;
      this.#visit(node, {
        path: inner ? `${path}[${name}]` : path === '' ? name : `${path}.${name}`,
        value: member,
        old: ownMember(old, name),
        ...correlation(name, member, visit),
      });
    }
  }

  #rules(node: RuleNode, visit: Visit): void {
    if (node.rules.length === 0) return;
    const { value, old } = visit;
    const variables = (isOptional: boolean): Activation => {
      const values = new Map<string, Value>();
      return (name) => {
        if (!values.has(name)) values.set(name, variable(name, isOptional));
        return values.get(name);
      };
    };
    const variable = (name: string, isOptional: boolean): Value => {
      if (name === 'self') return schemaValue(value, node.schema);
      const isAbsent = old === null || old === undefined;
      if (!isOptional) return schemaValue(old, node.schema);
      return isAbsent ? none : new Optional(schemaValue(old, node.schema));
    };
    const activations = { plain: variables(false), optional: variables(true) };
    for (const rule of node.rules) this.#rule(rule, node, visit, activations);
  }

  #rule(
    compiledRule: CompiledRule,
    { schema }: RuleNode,
    visit: Visit,
    { plain, optional }: { readonly plain: Activation; readonly optional: Activation },
  ): void {
    const { main, rule, usesOldSelf, optionalOldSelf } = compiledRule;
    const { path, old } = visit;
    const type = stringAt(schema, 'type');
    const invalid = (why: string): FieldFault => fault.invalid(shown(path), type, why);
    if (this.#left <= 0) this.#end(invalid(outOfBudget));
    if (main.error !== undefined) return void this.faults.push(invalid(`rule compile error: ${main.error}`));
    if (!main.program || (usesOldSelf && !optionalOldSelf && (old === undefined || old === null))) return;
    const { value, error, cost } = main.program.evaluate(optionalOldSelf ? optional : plain);
    if (cost > this.#left) this.#end(invalid(outOfBudget));
    this.#left -= cost;
    if (error !== undefined) return void this.faults.push(this.#failure(error, rule, invalid));
    if (value === true) return;
    this.#broken(compiledRule, schema, visit, this.#messageOf(compiledRule, plain, visit, type));
  }

  /** The fault of a rule that could not be evaluated. */
  #failure(error: string, rule: JsonObject, invalid: (why: string) => FieldFault): FieldFault {
    const named = ruleName(rule);
    if (error.startsWith('no such overload'))
      return invalid(
        `'${error}': call arguments did not match a supported operator, function or macro signature for rule: ${named}`,
      );
    if (!error.startsWith('operation cancelled: actual cost limit exceeded'))
      return invalid(`${error} evaluating rule: ${named}`);
    return this.#end(
      invalid(
        `'${error}': no further validation rules will be run due to call cost exceeds limit for rule: ${named}`,
      ),
    );
  }

  #end(last: FieldFault): never {
    this.faults.push(last);
    throw new Exhausted();
  }

  /** Reports a rule that is false: as a warning where its part of the object is as it was. */
  #broken(compiledRule: CompiledRule, schema: Structural, visit: Visit, detail: string): void {
    const { usesOldSelf, rule } = compiledRule;
    const field = placeOf(compiledRule, visit);
    const type = schema['type'];
    const value = type === 'object' || type === 'array' ? omitted : visit.value;
    this.#report(visit, usesOldSelf, faultOf(field, value, detail, stringAt(rule, 'reason')));
  }

  #report({ correlated, above }: Visit, usesOldSelf: boolean, found: FieldFault): void {
    const same = correlated ?? above;
    const isUnchanged = !usesOldSelf && same !== undefined && sameJson(same.value, same.old);
    if (isUnchanged) this.warnings.push(`${found.field}: ${found.message}`);
    else this.faults.push(found);
  }

  /** The text for a rule that is false. */
  #messageOf(compiledRule: CompiledRule, variables: Activation, visit: Visit, type: string): string {
    const { rule, message, usesOldSelf } = compiledRule;
    const fallback = stringAt(rule, 'message') === '' ? `failed rule: ${ruleName(rule)}` : ruleName(rule);
    if (!message?.program) return fallback;
    const stop = (why: string): never => {
      this.#report(visit, usesOldSelf, fault.invalid(placeOf(compiledRule, visit), type, why));
      throw new Exhausted();
    };
    const { value, error, cost } = message.program.evaluate(variables);
    if (cost > this.#left)
      stop(
        'messageExpression evaluation failed due to running out of cost budget, no further validation rules will be run',
      );
    if (error?.startsWith('operation cancelled: actual cost limit exceeded') === true)
      stop(
        `no further validation rules will be run due to call cost exceeds limit for messageExpression: ${JSON.stringify(stringAt(rule, 'messageExpression'))}`,
      );
    this.#left -= cost;
    const text = typeof value === 'string' ? value.trim() : '';
    const isUsable = text !== '' && !text.includes('\n') && Buffer.byteLength(text) <= longestMessage;
    return isUsable ? text : fallback;
  }
}

const shown = (path: string): string => (path === '' ? '<nil>' : path);

const placeOf = ({ path: below }: CompiledRule, { path }: Visit): string => {
  if (below === '') return shown(path);
  return path === '' ? below : `${path}.${below}`;
};

const ruleName = (rule: JsonObject): string => (stringAt(rule, 'message') || stringAt(rule, 'rule')).trim();

function faultOf(field: string, value: unknown, detail: string, reason: string): FieldFault {
  switch (reason) {
    case 'FieldValueForbidden':
      return fault.forbidden(field, detail);
    case 'FieldValueRequired':
      return fault.required(field, detail);
    case 'FieldValueDuplicate':
      return fault.duplicate(field, value);
    default:
      return fault.invalid(field, value, detail);
  }
}
