import {
  type JsonObject,
  listAt,
  objectAt,
  objectsAt,
  specOf,
  stringAt,
  textOf,
} from '../../../apimachinery/json.ts';
import type { Declarations } from '../check/declarations.ts';
import { dynType, structType, type Type } from '../check/types.ts';
import { authorizerType } from '../library/authorizer.ts';
import { kubernetes, Program } from '../program.ts';
import { CompileError } from '../syntax/source.ts';
import { EvalError } from '../values/value.ts';
import { declaredTypeOf, namespaceType, requestType } from './variables.ts';

/** The name of a kind in its group and version. */
interface KindName {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

/** The served kinds and their types. */
export interface KindTypes {
  /** Returns the kinds of a resource; the group '' stands for any. */
  readonly kindsFor: (group: string, version: string, resource: string) => readonly KindName[];
  /** Returns the type of a kind's objects; undefined for a kind that is not served. */
  readonly typeOf: (kind: KindName) => Type | undefined;
}

/** A member of `status.typeChecking.expressionWarnings`. */
export interface ExpressionWarning extends JsonObject {
  readonly fieldRef: string;
  readonly warning: string;
}

const mostKinds = 10;
const textOfKind = ({ group, version, kind }: KindName): string => `${group}/${version}, Kind=${kind}`;

/** Returns the members of a rule's list, sorted; none where one of them is a wildcard. */
function plainNames(rule: JsonObject, key: string): readonly string[] {
  const names = listAt(rule, key).map(textOf);
  return names.some((name) => name.includes('*')) ? [] : names.sort();
}

/** Returns the resources of a rule without wildcards and subresources, sorted. */
const plainResources = (rule: JsonObject): readonly string[] =>
  listAt(rule, 'resources')
    .map(textOf)
    .filter((resource) => !/[*/]/.test(resource))
    .sort();

function* kindsOfRule(rule: JsonObject, types: KindTypes): Iterable<KindName> {
  for (const group of plainNames(rule, 'apiGroups'))
    for (const version of plainNames(rule, 'apiVersions'))
      for (const resource of plainResources(rule)) yield* types.kindsFor(group, version, resource);
}

/** Returns the kinds that a policy names without wildcards, up to the first rule with ten of them. */
function kindsOf(policy: JsonObject, types: KindTypes): readonly KindName[] {
  const found = new Map<string, KindName>();
  for (const rule of objectsAt(objectAt(specOf(policy), 'matchConstraints'), 'resourceRules')) {
    let count = 0;
    for (const kind of kindsOfRule(rule, types)) {
      found.set(textOfKind(kind), kind);
      count++;
      if (count === mostKinds) return sorted(found.values());
    }
  }
  return sorted(found.values());
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
const sorted = (kinds: Iterable<KindName>): readonly KindName[] =>
  [...kinds].sort(
    (a, b) => compare(a.group, b.group) || compare(a.version, b.version) || compare(a.kind, b.kind),
  );

/** Returns why an expression does not type-check, and its type where it does. */
function compiled(expression: string, declarations: Declarations): { type: Type; error?: string } {
  try {
    return { type: Program.compile(expression, declarations).type };
  } catch (reason) {
    if (reason instanceof CompileError) return { type: dynType, error: reason.message };
    if (reason instanceof EvalError) return { type: dynType };
    throw reason;
  }
}

/** Returns what the expressions of a policy refer to when objects and parameters have types. */
function declarationsOf(policy: JsonObject, object: Type, params: Type | undefined): Declarations {
  const fields = new Map<string, Type>();
  const declarations = kubernetes.with({
    object,
    oldObject: object,
    namespaceObject: namespaceType,
    request: requestType,
    authorizer: authorizerType,
    variables: structType('kubernetes.variables', (name) => fields.get(name)),
    ...(params && { params }),
  });
  for (const variable of objectsAt(specOf(policy), 'variables')) {
    const { type } = compiled(stringAt(variable, 'expression'), declarations);
    fields.set(stringAt(variable, 'name'), declaredTypeOf(type));
  }
  return declarations;
}

function paramsOf(policy: JsonObject, types: KindTypes): Type | undefined {
  const paramKind = specOf(policy)['paramKind'];
  if (paramKind === undefined) return undefined;
  const apiVersion = stringAt(objectAt(specOf(policy), 'paramKind'), 'apiVersion');
  const parts = apiVersion.split('/');
  const [group = '', version = ''] = parts.length === 2 ? parts : ['', ...parts];
  const kind = stringAt(objectAt(specOf(policy), 'paramKind'), 'kind');
  return types.typeOf({ group, version, kind }) ?? dynType;
}

/**
 * Returns the expressions of a ValidatingAdmissionPolicy's validations that do not fit the types of the kinds that it names. Follows
 * the type checker of kube-apiserver (v1.36): `authorizer.requestResource` is not declared there, as it is not here.
 */
export function expressionWarnings(policy: JsonObject, types: KindTypes): readonly ExpressionWarning[] {
  const params = paramsOf(policy, types);
  const checks = kindsOf(policy, types).flatMap((kind) => {
    const type = types.typeOf(kind);
    return type ? [{ kind, declarations: declarationsOf(policy, type, params) }] : [];
  });
  const warning = (fieldRef: string, expression: string): readonly ExpressionWarning[] => {
    const faults = checks.flatMap(({ kind, declarations }) => {
      const { error } = compiled(expression, declarations);
      return error === undefined ? [] : [`${textOfKind(kind)}: ${error}\n`];
    });
    return faults.length === 0 ? [] : [{ fieldRef, warning: faults.join('\n') }];
  };
  return objectsAt(specOf(policy), 'validations').flatMap((one, i) => {
    const message = stringAt(one, 'messageExpression');
    const field = `spec.validations[${i}]`;
    return [
      ...warning(`${field}.expression`, stringAt(one, 'expression')),
      ...(message === '' ? [] : warning(`${field}.messageExpression`, message)),
    ];
  });
}
