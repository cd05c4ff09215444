import { ownMember } from '../../base/own.ts';
import { claimNameOf } from '../../kube/references.ts';
import type { Volume } from '../../kube/types.ts';
import {
  type JsonObject,
  listAt,
  nameOf,
  objectAt,
  objectsAt,
  stringAt,
  valueAt,
} from '../../apimachinery/json.ts';
import { fieldTerms } from '../../apimachinery/selectors.ts';
import { keyOf, type Store } from '../storage/store.ts';
import { podRefersTo } from './pod-references.ts';
import type { User } from '../authentication/users.ts';

/** Attributes of a request to authorize. */
export interface Attributes {
  readonly user: User;
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  /** Set for requests that are not about a resource. */
  readonly path?: string;
  readonly fieldSelector?: string;
}

/** `allowed`, or the reason why not, which may be empty. */
export type Decision =
  { readonly allowed: true; readonly reason: string } | { readonly allowed: false; readonly reason: string };

const no = (reason = ''): Decision => ({ allowed: false, reason });

interface Rule {
  readonly verbs: readonly string[];
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly nonResourceURLs?: readonly string[];
}

const rule = (verbs: string, apiGroups: string, resources: string): Rule => ({
  verbs: verbs.split(','),
  apiGroups: apiGroups.split(','),
  resources: resources.split(','),
});
const urls = (...nonResourceURLs: readonly string[]): Rule => ({ verbs: ['get'], nonResourceURLs });

const basic: readonly Rule[] = [
  rule('create', 'authorization.k8s.io', 'selfsubjectaccessreviews,selfsubjectrulesreviews'),
  rule('create', 'authentication.k8s.io', 'selfsubjectreviews'),
];
const publicInfo = urls('/healthz', '/livez', '/readyz', '/version', '/version/');
const discovery = urls(
  '/api',
  '/api/*',
  '/apis',
  '/apis/*',
  '/healthz',
  '/livez',
  '/openapi',
  '/openapi/*',
  '/readyz',
  '/version',
  '/version/',
);
const everything: readonly Rule[] = [
  { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
  { verbs: ['*'], nonResourceURLs: ['*'] },
];
const issuerDiscovery = urls(
  '/.well-known/openid-configuration',
  '/.well-known/openid-configuration/',
  '/openid/v1/jwks',
  '/openid/v1/jwks/',
);

/** Rules that apply without stored roles, by group (Kubernetes' bootstrap policy for all users). */
const bootstrap: readonly (readonly [group: string, rules: readonly Rule[]])[] = [
  ['system:authenticated', [...basic, publicInfo, discovery]],
  ['system:unauthenticated', [publicInfo]],
  ['system:serviceaccounts', [issuerDiscovery]],
  // bound by cluster installers (kubeadm: `kubeadm:kubelet-bootstrap`)
  [
    'system:bootstrappers',
    [rule('create,get,list,watch', 'certificates.k8s.io', 'certificatesigningrequests')],
  ],
  ['system:masters', everything],
];

const has = (list: readonly unknown[] | undefined, value: string): boolean =>
  list !== undefined && (list.includes('*') || list.includes(value));

const pathMatches = (pattern: string, path: string): boolean =>
  pattern === '*' || pattern === path || (pattern.endsWith('*') && path.startsWith(pattern.slice(0, -1)));

function ruleAllows(candidate: Rule, at: Attributes): boolean {
  if (!has(candidate.verbs, at.verb)) return false;
  if (at.path !== undefined)
    return (candidate.nonResourceURLs ?? []).some((url) => pathMatches(url, at.path ?? ''));
  if (!has(candidate.apiGroups, at.group)) return false;
  const resource = at.subresource ? `${at.resource}/${at.subresource}` : at.resource;
  const resources = candidate.resources ?? [];
  const named =
    has(resources, resource) || (at.subresource !== '' && resources.includes(`*/${at.subresource}`));
  if (!named) return false;
  return !candidate.resourceNames?.length || candidate.resourceNames.includes(at.name);
}

const rulesOf = (role: JsonObject | undefined): readonly Rule[] =>
  objectsAt(role, 'rules').map((body) => ({
    verbs: listAt(body, 'verbs') as string[],
    apiGroups: listAt(body, 'apiGroups') as string[],
    resources: listAt(body, 'resources') as string[],
    resourceNames: listAt(body, 'resourceNames') as string[],
    nonResourceURLs: listAt(body, 'nonResourceURLs') as string[],
  }));

function isSubject(subject: JsonObject, user: User, namespace: string): boolean {
  const name = stringAt(subject, 'name');
  switch (stringAt(subject, 'kind')) {
    case 'User':
      return name === '*' || name === user.name;
    case 'Group':
      return user.groups.includes(name);
    case 'ServiceAccount':
      return user.name === `system:serviceaccount:${stringAt(subject, 'namespace') || namespace}:${name}`;
    default:
      return false;
  }
}

const rbac = 'rbac.authorization.k8s.io';

/** RoleAuthorizer evaluates stored roles and bindings, after the rules that always apply. */
export class RoleAuthorizer {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  *rules(user: User, namespace: string): Generator<Rule> {
    for (const [group, rules] of bootstrap) if (user.groups.includes(group)) yield* rules;
    for (const { object } of this.#store.list(`${rbac}/clusterrolebindings`))
      if (objectsAt(object, 'subjects').some((subject) => isSubject(subject, user, '')))
        yield* rulesOf(this.#role(object, ''));
    if (!namespace) return;
    for (const { object } of this.#store.list(`${rbac}/rolebindings`, `${namespace}/`))
      if (objectsAt(object, 'subjects').some((subject) => isSubject(subject, user, namespace)))
        yield* rulesOf(this.#role(object, namespace));
  }

  decide(at: Attributes): Decision {
    for (const candidate of this.rules(at.user, at.namespace))
      if (ruleAllows(candidate, at)) return { allowed: true, reason: '' };
    return no();
  }

  #role(binding: JsonObject, namespace: string): JsonObject | undefined {
    const ref = objectAt(binding, 'roleRef');
    const name = stringAt(ref, 'name');
    return stringAt(ref, 'kind') === 'ClusterRole'
      ? this.#store.get(`${rbac}/clusterroles`, name)?.object
      : this.#store.get(`${rbac}/roles`, keyOf(namespace, name))?.object;
  }
}

/** Returns the node name of a node's user. */
export function nodeOf(user: User): string | undefined {
  if (!user.groups.includes('system:nodes') || !user.name.startsWith('system:node:')) return undefined;
  return user.name.slice('system:node:'.length);
}

/** Permissions of every node independent of its pods (the role `system:node`). */
const nodeRules: readonly Rule[] = [
  rule('create', 'authentication.k8s.io', 'tokenreviews'),
  rule('create', 'authorization.k8s.io', 'localsubjectaccessreviews,subjectaccessreviews'),
  rule('get,list,watch', '', 'services'),
  rule('create,get,list,watch', '', 'nodes'),
  rule('patch,update', '', 'nodes,nodes/status'),
  rule('create,patch,update', '', 'events'),
  rule('create,patch,update', 'events.k8s.io', 'events'),
  rule('get,list,watch', '', 'pods'),
  rule('create,delete', '', 'pods'),
  rule('patch,update', '', 'pods/status'),
  rule('create', '', 'pods/eviction'),
  rule('create,get,list,watch', 'certificates.k8s.io', 'certificatesigningrequests'),
  rule('get,list,watch', 'storage.k8s.io', 'csidrivers'),
  rule('get,list,watch', 'node.k8s.io', 'runtimeclasses'),
  rule('get,list,watch', 'certificates.k8s.io', 'clustertrustbundles'),
];

const reading = new Set(['get', 'list', 'watch']);

const nameless = 'No Object name found';

/** NodeAuthorizer allows a node to read what its pods need and to write its own objects (A14). */
export class NodeAuthorizer {
  readonly #store: Store;
  readonly #trustBundles: boolean;

  constructor(store: Store, trustBundles: boolean) {
    this.#store = store;
    this.#trustBundles = trustBundles;
  }

  decide(at: Attributes): Decision {
    if (!at.user.groups.includes('system:nodes')) return no();
    const node = nodeOf(at.user);
    if (node === undefined || node === '')
      return node === undefined ? no() : no(`unknown node for user ${JSON.stringify(at.user.name)}`);
    if (at.path !== undefined) return no();
    const special = this.#special(node, at);
    if (special) return special;
    const hidden = at.resource === 'clustertrustbundles' && !this.#trustBundles;
    const allowed = !hidden && nodeRules.some((candidate) => ruleAllows(candidate, at));
    return allowed ? { allowed, reason: '' } : no();
  }

  #special(node: string, at: Attributes): Decision | undefined {
    return ownMember(this.#rules, `${at.group}/${at.resource}`)?.(node, at);
  }

  /** Resources for which a node's permissions depend on the object. */
  readonly #rules: Readonly<Record<string, (node: string, at: Attributes) => Decision | undefined>> = {
    '/secrets': (node, at) => this.#named(node, at),
    '/configmaps': (node, at) => this.#named(node, at),
    '/persistentvolumeclaims': (node, at) =>
      at.subresource === 'status'
        ? this.#related(node, at, ['update', 'patch'])
        : this.#readable(node, at, at.verb === 'get'),
    '/persistentvolumes': (node, at) => this.#readable(node, at, at.verb === 'get'),
    'storage.k8s.io/volumeattachments': (node, at) => this.#readable(node, at, at.verb === 'get'),
    '/serviceaccounts': (node, at) => this.#account(node, at),
    'coordination.k8s.io/leases': (node, at) => {
      const why = 'can only access leases in the "kube-node-lease" system namespace';
      return this.#own(node, at, 'node lease', at.namespace === 'kube-node-lease' ? undefined : why);
    },
    'storage.k8s.io/csinodes': (node, at) =>
      this.#own(
        node,
        at,
        'CSINode',
        at.subresource === '' ? undefined : 'cannot authorize CSINode subresources',
      ),
    'resource.k8s.io/resourceslices': (node, at) => this.#slice(node, at),
    'resource.k8s.io/resourceclaims': (node, at) => this.#readable(node, at, at.verb === 'get'),
    '/nodes': (node, at) => this.#node(node, at),
    '/pods': (node, at) => this.#pod(node, at),
  };

  /** Allows a node to list its own slices, create slices, and change those with its node name. */
  #slice(node: string, at: Attributes): Decision {
    const allowed = { allowed: true, reason: '' };
    if (at.subresource) return no('cannot authorize ResourceSlice subresources');
    if (at.verb === 'create') return allowed;
    if (['list', 'watch', 'deletecollection'].includes(at.verb)) {
      const selected = (at.fieldSelector ?? '').split(',').map((term) => term.replace('==', '='));
      return selected.includes(`spec.nodeName=${node}`)
        ? allowed
        : no('can only list/watch/deletecollection resourceslices with nodeName field selector');
    }
    if (!['get', 'update', 'patch', 'delete'].includes(at.verb))
      return no(
        'only the following verbs are allowed for a ResourceSlice: get, watch, list, create, update, patch, delete, deletecollection',
      );
    const found = this.#store.get('resource.k8s.io/resourceslices', at.name)?.object;
    return valueAt(found, 'spec', 'nodeName') === node
      ? allowed
      : no(`no relationship found between node '${node}' and this object`);
  }

  #named(node: string, at: Attributes): Decision {
    return this.#readable(node, at, at.verb === 'get' || (at.name !== '' && reading.has(at.verb)));
  }

  #readable(node: string, at: Attributes, verbFits: boolean): Decision {
    if (!reading.has(at.verb)) return no('can only read resources of this type');
    if (at.subresource) return no('cannot read subresource');
    if (!verbFits || at.name === '') {
      if (
        at.resource === 'persistentvolumeclaims' ||
        at.resource === 'persistentvolumes' ||
        at.resource === 'volumeattachments' ||
        at.resource === 'resourceclaims'
      )
        return no('can only get individual resources of this type');
      return no(nameless);
    }
    return this.#reaches(node, at);
  }

  #related(node: string, at: Attributes, verbs: readonly string[]): Decision {
    return verbs.includes(at.verb) ? this.#reaches(node, at) : no('can only get/update/patch this type');
  }

  #reaches(node: string, at: Attributes): Decision {
    if (at.name === '') return no(nameless);
    for (const { object } of this.#store.list('pods', at.namespace ? `${at.namespace}/` : '')) {
      if (valueAt(object, 'spec', 'nodeName') !== node) continue;
      if (
        at.resource === 'persistentvolumes'
          ? this.#mountsVolume(object, at.name)
          : podRefersTo(object, at.resource, at.name)
      )
        return { allowed: true, reason: '' };
    }
    return no(`no relationship found between node '${node}' and this object`);
  }

  #mountsVolume(pod: JsonObject, volume: string): boolean {
    const namespace = stringAt(objectAt(pod, 'metadata'), 'namespace');
    return objectsAt(objectAt(pod, 'spec'), 'volumes').some((entry) => {
      const claim = claimNameOf(nameOf(pod), entry as unknown as Volume);
      const found = claim && this.#store.get('persistentvolumeclaims', keyOf(namespace, claim));
      return found && valueAt(found.object, 'spec', 'volumeName') === volume;
    });
  }

  #account(node: string, at: Attributes): Decision {
    if (at.verb === 'get' && at.subresource === '') return this.#reaches(node, at);
    if (at.verb !== 'create' || at.name === '')
      return no('can only create tokens for individual service accounts');
    return at.subresource === 'token'
      ? this.#reaches(node, at)
      : no('can only create token subresource of serviceaccount');
  }

  /** Authorizes access to an object with the node's name; `why` is the reason when it cannot exist in this place. */
  #own(node: string, at: Attributes, what: string, why?: string): Decision {
    if (!['get', 'create', 'update', 'patch', 'delete'].includes(at.verb))
      return no(`can only get, create, update, patch, or delete a ${what}`);
    if (why !== undefined) return no(why);
    if (at.verb !== 'create' && at.name !== node)
      return no(`can only access ${what} with the same name as the requesting node`);
    return { allowed: true, reason: '' };
  }

  #node(node: string, at: Attributes): Decision | undefined {
    if (at.subresource && at.subresource !== 'status') return undefined;
    if (at.verb === 'get' && at.subresource === '')
      return at.name === node
        ? { allowed: true, reason: '' }
        : no(`node '${node}' cannot read '${at.name}', only its own Node object`);
    if (at.verb === 'list' || at.verb === 'watch')
      return selects(at, 'metadata.name', node) || at.name === node
        ? { allowed: true, reason: '' }
        : no(`node '${node}' cannot read all nodes, only its own Node object`);
    return undefined;
  }

  #pod(node: string, at: Attributes): Decision | undefined {
    if (at.subresource) return undefined;
    if (at.verb === 'list' || at.verb === 'watch')
      return selects(at, 'spec.nodeName', node)
        ? { allowed: true, reason: '' }
        : no('can only list/watch pods with spec.nodeName field selector');
    if (at.verb !== 'get') return undefined;
    if (at.name === '') return no(nameless);
    const pod = this.#store.get('pods', keyOf(at.namespace, at.name));
    return valueAt(pod?.object, 'spec', 'nodeName') === node
      ? { allowed: true, reason: '' }
      : no(`no relationship found between node '${node}' and this object`);
  }
}

function selects(at: Attributes, field: string, value: string): boolean {
  try {
    return fieldTerms(at.fieldSelector ?? '').some(
      (term) => term.field === field && term.equal && term.value === value,
    );
  } catch {
    return false;
  }
}

/** Authorizer asks the node authorizer, then roles: the first that allows decides; a denial has all reasons. */
export class Authorizer {
  readonly #node: NodeAuthorizer;
  readonly #roles: RoleAuthorizer;

  constructor(store: Store, trustBundles = false) {
    this.#node = new NodeAuthorizer(store, trustBundles);
    this.#roles = new RoleAuthorizer(store);
  }

  decide(at: Attributes): Decision {
    const roles = this.#roles.decide(at);
    if (roles.allowed) return roles;
    const node = this.#node.decide(at);
    if (node.allowed) return node;
    return no([node.reason, roles.reason].filter(Boolean).join(', '));
  }

  /** Returns everything a user may do, for SelfSubjectRulesReview. */
  rules(
    user: User,
    namespace: string,
  ): {
    readonly resource: readonly Rule[];
    readonly nonResource: readonly Rule[];
    /** Why the rules may be incomplete. */
    readonly error?: string;
  } {
    const all = [...this.#roles.rules(user, namespace)];
    return {
      resource: all.filter((r) => !r.nonResourceURLs?.length),
      nonResource: all.filter((r) => r.nonResourceURLs?.length),
      ...(nodeOf(user) !== undefined && { error: 'node authorizer does not support user rule resolution' }),
    };
  }
}
