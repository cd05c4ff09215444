import { ownMember } from '../../../base/own.ts';
import { type Library, method } from '../check/declarations.ts';
import { boolType, libraryType, stringType, type Type } from '../check/types.ts';
import { EvalError, Opaque, type Value } from '../values/value.ts';
import { dns1123Label, dns1123Subdomain } from '../../../kube/validation/name-rules.ts';

export const authorizerType: Type = libraryType('kubernetes.authorization.Authorizer');
const pathCheckType = libraryType('kubernetes.authorization.PathCheck');
const groupCheckType = libraryType('kubernetes.authorization.GroupCheck');
export const resourceCheckType: Type = libraryType('kubernetes.authorization.ResourceCheck');
const decisionType = libraryType('kubernetes.authorization.Decision');

/** Who a check is about; absent: who makes the request. */
export interface CheckedUser {
  readonly name: string;
  readonly groups: readonly string[];
}

/** A question for the authorizer: about a path, or about a resource. */
export type AccessCheck =
  | { readonly verb: string; readonly user?: CheckedUser; readonly path: string }
  | {
      readonly verb: string;
      readonly user?: CheckedUser;
      readonly path?: undefined;
      readonly group: string;
      readonly resource: string;
      readonly subresource: string;
      readonly namespace: string;
      readonly name: string;
      readonly fieldSelector: string;
      readonly labelSelector: string;
    };

export interface AccessDecision {
  readonly allowed: boolean;
  readonly reason: string;
  /** Why there is no decision. */
  readonly error?: string;
}

/** Decides checks of an expression for the user of a request. */
export type DecideAccess = (check: AccessCheck) => AccessDecision;

class Authorizer extends Opaque {
  readonly type = authorizerType;
  readonly decide: DecideAccess;
  readonly user: CheckedUser | undefined;
  constructor(decide: DecideAccess, user?: CheckedUser) {
    super();
    this.decide = decide;
    this.user = user;
  }
  same(other: Opaque): boolean {
    return other === this;
  }
}

/** A check that lacks its verb. */
class Check extends Opaque {
  readonly type;
  readonly authorizer: Authorizer;
  readonly parts: Readonly<Record<string, string>>;
  constructor(type: Opaque['type'], authorizer: Authorizer, parts: Readonly<Record<string, string>>) {
    super();
    this.type = type;
    this.authorizer = authorizer;
    this.parts = parts;
  }
  same(other: Opaque): boolean {
    return JSON.stringify(this.parts) === JSON.stringify((other as Check).parts);
  }
  with(part: string, value: Value, type = this.type): Check {
    return new Check(type, this.authorizer, { ...this.parts, [part]: value as string });
  }
}

class Decision extends Opaque {
  readonly type = decisionType;
  readonly decision: AccessDecision;
  constructor(decision: AccessDecision) {
    super();
    this.decision = decision;
  }
  same(other: Opaque): boolean {
    return other === this;
  }
}

/** Returns the variable `authorizer`. */
export const authorizerValue = (decide: DecideAccess): Value => new Authorizer(decide);

/** Returns the variable `authorizer.requestResource`. */
export const requestResourceValue = (
  decide: DecideAccess,
  parts: Readonly<Record<'group' | 'resource' | 'subresource' | 'namespace' | 'name', string>>,
): Value => new Check(resourceCheckType, new Authorizer(decide), parts);

const notEmpty = (value: Value, what: string): Value => {
  if ((value as string).trim() === '') throw new EvalError(`${what} must not be empty`);
  return value;
};

function serviceAccount(authorizer: Value, namespace: Value, name: Value): Value {
  if (dns1123Subdomain(name as string).length > 0) throw new EvalError('Invalid service account name');
  if (dns1123Label(namespace as string).length > 0) throw new EvalError('Invalid service account namespace');
  return new Authorizer((authorizer as Authorizer).decide, {
    name: `system:serviceaccount:${namespace as string}:${name as string}`,
    groups: ['system:serviceaccounts', `system:serviceaccounts:${namespace as string}`],
  });
}

function decided(check: Value, verb: Value): Value {
  const { authorizer, parts, type } = check as Check;
  const who = { verb: verb as string, ...(authorizer.user && { user: authorizer.user }) };
  if (type === pathCheckType) return new Decision(authorizer.decide({ ...who, path: parts['path'] ?? '' }));
  const part = (name: string): string => ownMember(parts, name) ?? '';
  return new Decision(
    authorizer.decide({
      ...who,
      group: part('group'),
      resource: part('resource'),
      subresource: part('subresource'),
      namespace: part('namespace'),
      name: part('name'),
      fieldSelector: part('fieldSelector'),
      labelSelector: part('labelSelector'),
    }),
  );
}

const refine = (name: string, id: string): Library['functions'][number] =>
  method(name, [
    id,
    [resourceCheckType, stringType],
    resourceCheckType,
    (check, value) => (check as Check).with(name, value),
  ]);
const read = (
  name: string,
  type: typeof boolType,
  of: (decision: AccessDecision) => Value,
): Library['functions'][number] =>
  method(name, [`decision_${name}`, [decisionType], type, (one) => of((one as Decision).decision)]);

/** Kubernetes' authorizer, as the variable of policies and match conditions. */
export const authorization: Library = {
  functions: [
    method('path', [
      'authorizer_path',
      [authorizerType, stringType],
      pathCheckType,
      (a, path) => new Check(pathCheckType, a as Authorizer, { path: notEmpty(path, 'path') as string }),
    ]),
    method('group', [
      'authorizer_group',
      [authorizerType, stringType],
      groupCheckType,
      (a, group) => new Check(groupCheckType, a as Authorizer, { group: group as string }),
    ]),
    method('serviceAccount', [
      'authorizer_serviceaccount',
      [authorizerType, stringType, stringType],
      authorizerType,
      serviceAccount,
    ]),
    method('resource', [
      'groupcheck_resource',
      [groupCheckType, stringType],
      resourceCheckType,
      (check, name) => (check as Check).with('resource', notEmpty(name, 'resource'), resourceCheckType),
    ]),
    refine('subresource', 'resourcecheck_subresource'),
    refine('namespace', 'resourcecheck_namespace'),
    refine('name', 'resourcecheck_name'),
    refine('fieldSelector', 'authorizer_fieldselector'),
    refine('labelSelector', 'authorizer_labelselector'),
    method(
      'check',
      ['pathcheck_check', [pathCheckType, stringType], decisionType, decided],
      ['resourcecheck_check', [resourceCheckType, stringType], decisionType, decided],
    ),
    read('errored', boolType, ({ error }) => error !== undefined),
    read('error', stringType, ({ error }) => error ?? ''),
    read('allowed', boolType, ({ allowed }) => allowed),
    read('reason', stringType, ({ reason }) => reason),
  ],
  types: [authorizerType, pathCheckType, groupCheckType, resourceCheckType, decisionType],
};
