import { ownMember } from '../../base/own.ts';
import { isObject, type JsonObject, objectAt, stringAt } from '../../apimachinery/json.ts';
import { fault, type FieldFault } from '../../apimachinery/status-error.ts';
import { mostCost } from '../cel/cost/sizes.ts';
import { type CompiledRule, compileRules } from './rule-programs.ts';
import { escapedName, type RuleType, ruleTypeOf } from './rule-types.ts';
import { isEmbedded } from './structural.ts';
import { shownRule } from './internal-versions.ts';

/** What one rule may cost by estimate, and all rules of a schema together. */
const mostForRule = 10_000_000;
const mostForSchema = 100_000_000;
const mostShown = 4;

/** Where a schema stands, and what is known of its values. */
interface Place {
  readonly path: string;
  readonly isRoot: boolean;
  /** True at a schema with rules, and below: types are derived from there on. */
  readonly inRules: boolean;
  readonly type?: RuleType | undefined;
  /** How often a value can occur; undefined: without limit. */
  readonly cardinality: number | undefined;
  /** The nearest schema above whose values cannot be found again in an older object. */
  readonly uncorrelated?: string;
}

interface Cost {
  readonly path: string;
  readonly cost: number;
}

/**
 * Returns what is wrong with the rules of a definition's schema: what does not compile, and what could cost too much. Follows
 * `ValidateCustomResourceDefinitionOpenAPISchema`.
 *
 * @param schemaFaults other faults: rules of schemas that have some, or hold such, are not compiled
 */
export function ruleFaultsOf(
  schema: JsonObject,
  path: string,
  schemaFaults: readonly FieldFault[],
): readonly FieldFault[] {
  const walk = new RuleWalk(schemaFaults);
  const faults = walk.visit(schema, { path, isRoot: true, inRules: false, cardinality: 1 });
  return [...faults, ...walk.totalFaults(path)];
}

/** RuleWalk visits a schema's values, from the innermost, and adds up what their rules cost. */
class RuleWalk {
  readonly #schemaFaults: readonly FieldFault[];
  #total = 0;
  readonly #costs: Cost[] = [];

  constructor(schemaFaults: readonly FieldFault[]) {
    this.#schemaFaults = schemaFaults;
  }

  visit(schema: JsonObject, place: Place): FieldFault[] {
    const inRules = place.inRules || Array.isArray(schema['x-kubernetes-validations']);
    const type = inRules ? (place.type ?? ruleTypeOf(schema, place.isRoot || isEmbedded(schema))) : undefined;
    const here: Place = { ...place, inRules, type };
    return [...this.#children(schema, here), ...this.#own(schema, here)];
  }

  #children(schema: JsonObject, place: Place): FieldFault[] {
    const { path, type } = place;
    const most = cardinalityOf(schema, place.cardinality);
    const below = (inner: unknown, at: string, own: Partial<Place>): FieldFault[] =>
      isObject(inner)
        ? this.visit(inner, { ...place, ...own, path: path + at, isRoot: false, cardinality: most })
        : [];
    const isMapped = ['granular', 'atomic', undefined].includes(schema['x-kubernetes-map-type'] as undefined);
    const isKeyed = schema['x-kubernetes-list-type'] === 'map';
    return [
      ...below(ownMember(schema, 'additionalProperties'), '.additionalProperties', { type: type?.inner }),
      ...Object.entries(objectAt(schema, 'properties')).flatMap(([name, inner]) =>
        below(inner, `.properties[${name}]`, {
          type: type?.fields?.get(escapedName(name) ?? ''),
          ...(!isMapped && { uncorrelated: place.uncorrelated ?? path }),
        }),
      ),
      ...below(ownMember(schema, 'items'), '.items', {
        type: type?.inner,
        ...(!isKeyed && { uncorrelated: place.uncorrelated ?? path }),
      }),
    ];
  }

  #own(schema: JsonObject, place: Place): FieldFault[] {
    const { path, type, inRules } = place;
    const inside = (field: string): boolean =>
      field === path || field.startsWith(`${path}.`) || field.startsWith(`${path}[`);
    if (!inRules || this.#schemaFaults.some(({ field }) => inside(field))) return [];
    if (!type) {
      if (!Array.isArray(schema['x-kubernetes-validations'])) return [];
      const why =
        'internal error: failed to construct type information for x-kubernetes-validations rules: unable to convert structural schema to CEL declarations';
      return [fault.internal(`${path}.x-kubernetes-validations`, why)];
    }
    const compiled = compileRules(schema, type);
    const isBroken = compiled.some(({ main, message }) => main.error ?? message?.error);
    // messages name types by the place of the rule
    const own = isBroken ? ruleTypeOf(schema, place.isRoot || isEmbedded(schema)) : undefined;
    return (own ? compileRules(schema, own) : compiled).flatMap((rule, i) =>
      this.#rule(rule, `${path}.x-kubernetes-validations[${i}]`, place),
    );
  }

  #rule(compiled: CompiledRule, path: string, { cardinality, uncorrelated }: Place): FieldFault[] {
    const { rule, main, message, usesOldSelf } = compiled;
    const faults: FieldFault[] = [];
    const cost = Math.min(mostCost, main.cost * (cardinality ?? compiled.cardinality));
    faults.push(...this.#costFaults(`${path}.rule`, cost, 'estimated rule cost'));
    if (main.error !== undefined) faults.push(fault.invalid(`${path}.rule`, shownRule(rule), main.error));
    if (message?.error !== undefined)
      faults.push(fault.invalid(`${path}.messageExpression`, shownRule(rule), message.error));
    else if (message)
      faults.push(
        ...this.#costFaults(`${path}.messageExpression`, message.cost, 'estimated messageExpression cost'),
      );
    if (usesOldSelf && uncorrelated !== undefined) {
      const why = `oldSelf cannot be used on the uncorrelatable portion of the schema within ${uncorrelated}`;
      faults.push(fault.invalid(`${path}.rule`, stringAt(rule, 'rule'), why));
    } else if (!usesOldSelf && typeof rule['optionalOldSelf'] === 'boolean')
      faults.push(
        fault.invalid(
          `${path}.optionalOldSelf`,
          rule['optionalOldSelf'],
          'may not be set if oldSelf is not used in rule',
        ),
      );
    return faults;
  }

  /** Counts a cost; returns a fault if it is too much by itself. */
  #costFaults(path: string, cost: number, what: string): FieldFault[] {
    this.#total = Math.min(mostCost, this.#total + cost);
    if (cost >= mostForSchema / 100) this.#costs.push({ path, cost });
    return cost > mostForRule ? [fault.forbidden(path, tooCostly(what, cost / mostForRule))] : [];
  }

  totalFaults(path: string): FieldFault[] {
    if (this.#total <= mostForSchema) return [];
    const most = this.#costs.toSorted((a, b) => b.cost - a.cost).slice(0, mostShown);
    const part = 'contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema';
    const whole = 'x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema';
    return [
      ...most.map((one) => fault.forbidden(one.path, part)),
      fault.forbidden(path, tooCostly(whole, this.#total / mostForSchema)),
    ];
  }
}

/** How often what a schema holds can occur. */
function cardinalityOf(schema: JsonObject, outer: number | undefined): number | undefined {
  const most = countOf(schema);
  return outer === undefined || most === undefined ? undefined : Math.min(mostCost, outer * most);
}

function countOf(schema: JsonObject): number | undefined {
  const limit = (key: string): number | undefined => {
    const value = ownMember(schema, key);
    return typeof value === 'number' ? Math.max(0, value) : undefined;
  };
  if (schema['type'] === 'array') return limit('maxItems');
  const isMap = schema['type'] === 'object' && ownMember(schema, 'additionalProperties') !== undefined;
  return isMap ? limit('maxProperties') : 1;
}

function tooCostly(what: string, factor: number): string {
  const shown =
    factor > 100 ? 'more than 100x' : factor < 1.5 ? `${factor.toFixed(6)}x` : `${factor.toFixed(1)}x`;
  return `${what} exceeds budget by factor of ${shown} (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)`;
}
