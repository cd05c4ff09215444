import { ownMember } from '../../base/own.ts';
import { claimNameOf } from '../../kube/references.ts';
import type { Volume } from '../../kube/types.ts';
import { type JsonObject, nameOf, objectAt, objectsAt, stringAt, valueAt } from '../../apimachinery/json.ts';
import { fieldTerms } from '../../apimachinery/selectors.ts';
import type { User } from '../authentication/users.ts';
import { keyOf, type Store } from '../storage/store.ts';
import { type Attributes, type Decision, no } from './attributes.ts';
import { ruleOf } from './bootstrap/bootstrap-policy.ts';
import { clusterRoleRules } from './bootstrap/cluster-roles.ts';
import { podRefersTo } from './pod-references.ts';
import { type Rule, ruleAllows, rulesOf } from './rules.ts';

/** Returns the node name of a node's user. */
export function nodeOf(user: User): string | undefined {
  if (!user.groups.includes('system:nodes') || !user.name.startsWith('system:node:')) return undefined;
  return user.name.slice('system:node:'.length);
}

/** Permissions of every node: the role `system:node`, besides those that depend on the object. */
const nodeRules: readonly Rule[] = rulesOf({ rules: (clusterRoleRules['system:node'] ?? []).map(ruleOf) });

const trustBundleRule: Rule = {
  verbs: ['get', 'list', 'watch'],
  apiGroups: ['certificates.k8s.io'],
  resources: ['clustertrustbundles'],
};

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
    const rules = this.#trustBundles ? [...nodeRules, trustBundleRule] : nodeRules;
    return rules.some((rule) => ruleAllows(rule, at)) ? { allowed: true, reason: '' } : no();
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
