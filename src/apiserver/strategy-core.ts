import { finalizersFor } from './deletion.ts';
import { parseQuantity } from '../kube/quantity.ts';
import { labelValueRule, qualifiedNameRule } from '../kube/validation/name-rules.ts';
import { resourceAmount } from '../kube/validation/resource-rules.ts';
import { cidrFaults } from './address-rules.ts';
import {
  type Draft,
  isObject,
  type JsonObject,
  listAt,
  metadataOf,
  nameOf,
  objectAt,
  objectsAt,
  sameJson,
  stringAt,
  textOf,
  valueAt,
  withMetadata,
} from './json.ts';
import { jsonFault } from './json-scan.ts';
import { builtIn } from './kinds.ts';
import { validateMetadataUpdate } from './metadata-rules.ts';
import { causeOf, fault, type FieldFault, forbidden } from './status-error.ts';
import { commonStrategy, mainRules, statusRules } from './strategies.ts';
import type { Strategy } from './strategy.ts';
import { seconds } from './times.ts';

const lasting = new Set(['default', 'kube-system', 'kube-public']);
const nameLabel = 'kubernetes.io/metadata.name';

const named = (namespace: JsonObject): JsonObject => {
  const name = nameOf(namespace);
  return name
    ? withMetadata(namespace, { labels: { ...objectAt(metadataOf(namespace), 'labels'), [nameLabel]: name } })
    : namespace;
};

const finalizersOf = (namespace: JsonObject): readonly string[] =>
  listAt(objectAt(namespace, 'spec'), 'finalizers').map(textOf);
const ownFinalizers = new Set(['kubernetes', 'orphan', 'foregroundDeletion']);

/** Names of what must be done before a namespace may go. */
const finalizerFaults = (names: readonly string[], fieldOf: (i: number) => string): FieldFault[] =>
  names.flatMap((name, i) => {
    const field = fieldOf(i);
    return [
      ...qualifiedNameRule(name).map((why) => fault.invalid(field, name, why)),
      ...(name.includes('/') || ownFinalizers.has(name)
        ? []
        : [
            fault.invalid(field, name, 'name is neither a standard finalizer name nor is it fully qualified'),
          ]),
    ];
  });

/** A namespace is active until it is deleted. */
function phaseFaults(namespace: JsonObject): FieldFault[] {
  const gone = metadataOf(namespace)['deletionTimestamp'] !== undefined;
  const [right, when] = gone ? ['Terminating', 'not empty'] : ['Active', 'empty'];
  const phase = stringAt(objectAt(namespace, 'status'), 'phase');
  return phase === right
    ? []
    : [fault.invalid('status.Phase', phase, `may only be '${right}' if \`deletionTimestamp\` is ${when}`)];
}

const namespaces = builtIn('namespaces');
const namespaceCommon = commonStrategy(namespaces);

/** Namespaces: Active until deleted, then Terminating until their finalizers are gone. */
export const namespaceStrategy: Strategy = {
  ...namespaceCommon,
  defaults: named,
  prepareCreate(namespace) {
    const finalizers = listAt(objectAt(namespace, 'spec'), 'finalizers');
    const all = finalizers.includes('kubernetes') ? finalizers : [...finalizers, 'kubernetes'];
    return named({ ...namespace, spec: { finalizers: all }, status: { phase: 'Active' } });
  },
  validateCreate: (namespace) => finalizerFaults(finalizersOf(namespace), () => 'spec.finalizers'),
  main: {
    reset: [['f:status']],
    prepare: (object, old) => named({ ...object, spec: objectAt(old, 'spec'), status: old['status'] }),
  },
  subresources: {
    status: { ...statusRules(namespaces), validate: phaseFaults },
    finalize: {
      reset: [['f:status']],
      validate: (namespace) => finalizerFaults(finalizersOf(namespace), (i) => `spec.finalizers[${i}]`),
      prepare: (object, old) => ({
        ...old,
        metadata: objectAt(object, 'metadata'),
        spec: objectAt(object, 'spec'),
      }),
    },
  },
  checkDelete(namespace) {
    if (lasting.has(nameOf(namespace)))
      throw forbidden({ kind: 'namespaces', name: nameOf(namespace) }, 'this namespace may not be deleted');
  },
  beginDelete(namespace, options, context) {
    if (
      listAt(objectAt(namespace, 'spec'), 'finalizers').length === 0 &&
      listAt(metadataOf(namespace), 'finalizers').length === 0
    )
      return namespace;
    if (metadataOf(namespace)['deletionTimestamp'] !== undefined) return { ...namespace };
    const finalizers = finalizersFor(namespace, options);
    return withMetadata(
      { ...namespace, status: { ...objectAt(namespace, 'status'), phase: 'Terminating' } },
      {
        deletionTimestamp: seconds(context.now),
        finalizers: finalizers.length > 0 ? finalizers : undefined,
      },
    );
  },
  deleteReturnsObject: true,
};

const effects = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'];

function taintFaults(node: JsonObject): FieldFault[] {
  const faults: FieldFault[] = [];
  const seen = new Set<string>();
  objectsAt(objectAt(node, 'spec'), 'taints').forEach((taint, i) => {
    const field = `metadata.taints[${i}]`;
    const [key, value, effect] = [
      stringAt(taint, 'key'),
      stringAt(taint, 'value'),
      stringAt(taint, 'effect'),
    ];
    faults.push(...qualifiedNameRule(key).map((why) => fault.invalid(`${field}.key`, key, why)));
    const wrong = labelValueRule(value);
    if (wrong.length > 0) faults.push(fault.invalid(`${field}.value`, value, wrong.join(';')));
    if (effect === '') faults.push(fault.required(`${field}.effect`));
    else if (!effects.includes(effect)) faults.push(fault.unsupported(`${field}.effect`, effect, effects));
    const id = `${key}:${effect}`;
    if (seen.has(id)) {
      const shown = { Key: key, Value: value, Effect: effect, TimeAdded: taint['timeAdded'] ?? null };
      const { message, ...rest } = fault.duplicate(field, shown);
      faults.push({ ...rest, message: `${message}: taints must be unique by key and effect pair` });
    }
    seen.add(id);
  });
  return faults;
}

/** `podCIDR` is the old name of the first of `podCIDRs`, and wins. */
function oneCidr(node: JsonObject): JsonObject {
  const spec = objectAt(node, 'spec');
  const first = stringAt(spec, 'podCIDR');
  const all = listAt(spec, 'podCIDRs');
  if (first === '') return all.length === 0 ? node : { ...node, spec: { ...spec, podCIDR: all[0] } };
  return all[0] === first ? node : { ...node, spec: { ...spec, podCIDRs: [first] } };
}

const notReady = { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' };
const nodes = builtIn('nodes');

/** Amounts of a node are never less than none, and those of what cannot be parted are whole. */
function amountFaults(node: JsonObject): FieldFault[] {
  return ['capacity', 'allocatable'].flatMap((key) =>
    Object.entries(objectAt(objectAt(node, 'status'), key)).flatMap(([name, amount]) =>
      [...resourceAmount(`status.${key}.${name}`, name, parseQuantity(textOf(amount)))].map(causeOf),
    ),
  );
}

/** Each address once. */
function addressFaults(node: JsonObject): FieldFault[] {
  const seen = new Set<string>();
  return objectsAt(objectAt(node, 'status'), 'addresses').flatMap((address, i) => {
    const shown = { Type: stringAt(address, 'type'), Address: stringAt(address, 'address') };
    const again = seen.has(JSON.stringify(shown));
    seen.add(JSON.stringify(shown));
    return again ? [fault.duplicate(`status.addresses[${i}]`, shown)] : [];
  });
}

/** Nets of a node's pods: one for each family of addresses. */
function netFaults(node: JsonObject): FieldFault[] {
  const nets = listAt(objectAt(node, 'spec'), 'podCIDRs').map(textOf);
  const field = 'spec.podCIDRs';
  const wrong = nets.flatMap((net, i) => cidrFaults(`${field}[${i}]`, net));
  const families = new Set(nets.map((net) => net.includes(':')));
  if (nets.length < 2 || (families.size === 2 && nets.length === 2)) return wrong;
  return [...wrong, fault.invalid(field, nets, 'may specify no more than one CIDR for each IP family')];
}

const nodeStatus = statusRules(nodes);

/** The state of a configuration that kubelets once took from the API server is kept no longer. */
const withoutConfig: typeof nodeStatus.prepare = (object, old, context) => {
  const next = nodeStatus.prepare(object, old, context);
  const { config: _c, ...status } = objectAt(next, 'status');
  return { ...next, status };
};

const nodeStatusFaults = (node: JsonObject): FieldFault[] => [...amountFaults(node), ...addressFaults(node)];

const nodeWarnings = (node: JsonObject): readonly string[] =>
  valueAt(node, 'spec', 'externalID') === undefined
    ? []
    : ['spec.externalID: this field is deprecated, and is unused by Kubernetes'];

/** A node's nets and its provider's name are given once. */
function netChanges(node: JsonObject, old: JsonObject): FieldFault[] {
  const [before, now] = [old, node].map((one) => listAt(objectAt(one, 'spec'), 'podCIDRs'));
  const moved = 'node updates may not change podCIDR except from "" to valid';
  const changes = (before ?? []).filter((net, i) => net !== now?.[i]).length;
  const count = before?.length === now?.length ? changes : Math.min(before?.length ?? 0, 1);
  const faults = Array.from({ length: count }, () => fault.forbidden('spec.podCIDRs', moved));
  const [provider, given] = [old, node].map((one) => stringAt(objectAt(one, 'spec'), 'providerID'));
  if (provider !== '' && given !== provider) {
    const why = 'node updates may not change providerID except from "" to valid';
    faults.push(fault.forbidden('spec.providerID', why));
  }
  return faults;
}

const externalIdChange = (node: JsonObject, old: JsonObject): FieldFault[] =>
  valueAt(node, 'spec', 'externalID') === valueAt(old, 'spec', 'externalID')
    ? []
    : [fault.forbidden('spec.externalID', 'may not be updated')];

/** Nodes: kept with the status that they are created with, tainted until somebody finds them ready. */
export const nodeStrategy: Strategy = {
  ...commonStrategy(nodes),
  defaults: oneCidr,
  prepareCreate(node) {
    const { configSource: _c, ...spec } = objectAt(node, 'spec');
    return { ...node, spec };
  },
  admitCreate(node) {
    const spec = objectAt(node, 'spec');
    const taints = objectsAt(spec, 'taints');
    if (taints.some((taint) => taint['key'] === notReady.key && taint['effect'] === notReady.effect))
      return node;
    return { ...node, spec: { ...spec, taints: [...taints, notReady] } };
  },
  validateCreate(node, { warnings }) {
    const faults = [...taintFaults(node), ...amountFaults(node), ...netFaults(node)];
    if (faults.length === 0) warnings.push(...nodeWarnings(node));
    return faults;
  },
  createReset: [['f:status']],
  subresources: {
    status: { ...nodeStatus, prepare: withoutConfig, validate: nodeStatusFaults },
  },
  main: {
    ...mainRules(nodes, true),
    validate(node, old, { warnings }) {
      const taints = taintFaults(node);
      const before = [...taints, ...netFaults(node)];
      const faults = [...before, ...netChanges(node, old), ...taints, ...externalIdChange(node, old)];
      if (faults.length === 0) warnings.push(...nodeWarnings(node));
      return faults;
    },
  },
};

const keyPattern = /^[-._a-zA-Z0-9]+$/;
const keyRule =
  "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";

/** Why a key cannot name a file of a config map or secret. */
export function configKeyFaults(key: string): readonly string[] {
  const faults: string[] = [];
  if (key.length > 253) faults.push('must be no more than 253 characters');
  if (!keyPattern.test(key)) faults.push(keyRule);
  if (key === '.') faults.push("must not be '.'");
  else if (key === '..') faults.push("must not be '..'");
  else if (key.startsWith('..')) faults.push("must not start with '..'");
  return faults;
}

const sizeMost = 1024 * 1024;
const configMaps = builtIn('configmaps');

function configMapFaults(map: JsonObject): FieldFault[] {
  const faults: FieldFault[] = [];
  const [data, binary] = [objectAt(map, 'data'), objectAt(map, 'binaryData')];
  let size = 0;
  for (const [key, value] of Object.entries(data)) {
    faults.push(...configKeyFaults(key).map((why) => fault.invalid(`data[${key}]`, key, why)));
    if (key in binary)
      faults.push(fault.invalid(`data[${key}]`, key, 'duplicate of key present in binaryData'));
    size += Buffer.byteLength(String(value));
  }
  for (const [key, value] of Object.entries(binary)) {
    faults.push(...configKeyFaults(key).map((why) => fault.invalid(`binaryData[${key}]`, key, why)));
    size += Buffer.from(textOf(value), 'base64').length;
  }
  if (size > sizeMost) faults.push(fault.tooLong('[]', sizeMost));
  return faults;
}

function immutableFaults(object: JsonObject, old: JsonObject, keys: readonly string[]): FieldFault[] {
  if (old['immutable'] !== true) return [];
  const faults: FieldFault[] = [];
  if (object['immutable'] !== true)
    faults.push(fault.forbidden('immutable', 'field is immutable when `immutable` is set'));
  for (const key of keys)
    if (!sameJson(object[key], old[key]))
      faults.push(fault.forbidden(key, 'field is immutable when `immutable` is set'));
  return faults;
}

export const configMapStrategy: Strategy = {
  ...commonStrategy(configMaps),
  validateCreate: configMapFaults,
  main: {
    ...mainRules(configMaps, false),
    validate: (map, old) => [...immutableFaults(map, old, ['data', 'binaryData']), ...configMapFaults(map)],
  },
};

const secrets = builtIn('secrets');

function secretTypeFaults(secret: JsonObject): FieldFault[] {
  const data = objectAt(secret, 'data');
  const required = (key: string): FieldFault[] => (key in data ? [] : [fault.required(`data[${key}]`)]);
  const docker = (key: string): FieldFault[] => {
    if (!(key in data)) return [fault.required(`data[${key}]`)];
    try {
      JSON.parse(Buffer.from(textOf(data[key]), 'base64').toString());
      return [];
    } catch {
      return [
        fault.invalid(
          `data[${key}]`,
          '<secret contents redacted>',
          jsonFault(Buffer.from(textOf(data[key]), 'base64').toString()),
        ),
      ];
    }
  };
  switch (secret['type']) {
    case 'kubernetes.io/service-account-token': {
      const account = valueAt(secret, 'metadata', 'annotations', 'kubernetes.io/service-account.name');
      return account ? [] : [fault.required('metadata.annotations[kubernetes.io/service-account.name]')];
    }
    case 'kubernetes.io/dockercfg':
      return docker('.dockercfg');
    case 'kubernetes.io/dockerconfigjson':
      return docker('.dockerconfigjson');
    case 'kubernetes.io/basic-auth':
      return 'username' in data || 'password' in data
        ? []
        : [fault.required('data[username]'), fault.required('data[password]')];
    case 'kubernetes.io/ssh-auth':
      return required('ssh-privatekey');
    case 'kubernetes.io/tls':
      return [...required('tls.crt'), ...required('tls.key')];
    default:
      return [];
  }
}

function secretFaults(secret: JsonObject): FieldFault[] {
  const faults: FieldFault[] = [];
  let size = 0;
  for (const [key, value] of Object.entries(objectAt(secret, 'data'))) {
    faults.push(...configKeyFaults(key).map((why) => fault.invalid(`data[${key}]`, key, why)));
    size += Buffer.from(textOf(value), 'base64').length;
  }
  if (size > sizeMost) faults.push(fault.tooLong('data', sizeMost));
  return [...faults, ...secretTypeFaults(secret)];
}

/** `stringData` is a way to write `data`; the type is Opaque unless said. */
function secretDefaults(secret: JsonObject): JsonObject {
  const { stringData, ...rest } = secret;
  const data: Draft = { ...objectAt(secret, 'data') };
  for (const [key, value] of Object.entries(isObject(stringData) ? stringData : {}))
    data[key] = Buffer.from(textOf(value)).toString('base64');
  return {
    ...rest,
    ...(Object.keys(data).length > 0 && { data }),
    type: stringAt(secret, 'type') || 'Opaque',
  };
}

export const secretStrategy: Strategy = {
  ...commonStrategy(secrets),
  defaults: secretDefaults,
  validateCreate: secretFaults,
  main: {
    ...mainRules(secrets, false),
    prepare: (secret) => secret,
    validate: (secret, old) => [
      ...(secret['type'] === old['type']
        ? []
        : [fault.invalid('type', secret['type'], 'field is immutable')]),
      ...immutableFaults(secret, old, ['data']),
      ...secretFaults(secret),
    ],
  },
};

const leases = builtIn('leases', 'coordination.k8s.io');

function leaseFaults(lease: JsonObject): FieldFault[] {
  const spec = objectAt(lease, 'spec');
  const faults: FieldFault[] = [];
  const duration = spec['leaseDurationSeconds'];
  const transitions = spec['leaseTransitions'];
  if (typeof duration === 'number' && duration <= 0)
    faults.push(fault.invalid('spec.leaseDurationSeconds', duration, 'must be greater than 0'));
  if (typeof transitions === 'number' && transitions < 0)
    faults.push(fault.invalid('spec.leaseTransitions', transitions, 'must be greater than or equal to 0'));
  return faults;
}

/** Coordinated leader election is off: its fields are dropped. */
function plainLease(lease: JsonObject): JsonObject {
  const { strategy: _s, preferredHolder: _p, ...spec } = objectAt(lease, 'spec');
  return { ...lease, spec };
}

export const leaseStrategy: Strategy = {
  ...commonStrategy(leases),
  prepareCreate: plainLease,
  validateCreate: leaseFaults,
  main: {
    ...mainRules(leases, false),
    prepare: plainLease,
    validatesMetadata: true,
    validate: (lease, old) => [...validateMetadataUpdate(lease, old), ...leaseFaults(lease)],
  },
};
