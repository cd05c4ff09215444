import { finalizersFor } from '../deletion.ts';
import { parseQuantity } from '../../../kube/resources/quantity.ts';
import { labelValueRule, qualifiedNameRule } from '../../../kube/validation/name-rules.ts';
import { resourceAmount } from '../../../kube/validation/resource-rules.ts';
import { cidrFaults } from '../validation/address-rules.ts';
import {
  type JsonObject,
  listAt,
  metadataOf,
  nameOf,
  objectAt,
  objectsAt,
  specOf,
  stringAt,
  textOf,
  valueAt,
  withMetadata,
  without,
} from '../../../apimachinery/json.ts';
import { builtIn } from '../../../apimachinery/kinds.ts';
import { validateMetadataUpdate } from '../metadata-rules.ts';
import { causeOf, fault, type FieldFault } from '../../../apimachinery/status-error.ts';
import { commonStrategy, mainRules, statusRules } from '../strategies.ts';
import type { WriteContext } from '../../request/write-context.ts';
import type { Strategy } from '../strategy.ts';
import { seconds } from '../../../apimachinery/times.ts';

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

/** Validates names of finalizers of a namespace. */
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

/** Validates that a namespace is active until it is deleted. */
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

const namespaceStatus = statusRules(namespaces);

/** Sets the phase of a status that has none. */
function withActivePhase(object: JsonObject, old: JsonObject, context: WriteContext): JsonObject {
  const next = namespaceStatus.prepare(object, old, context);
  const status = objectAt(next, 'status');
  return { ...next, status: { ...status, phase: stringAt(status, 'phase') || 'Active' } };
}

/** Strategy of namespaces: Active until deleted, then Terminating until their finalizers are removed. */
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
    status: { ...namespaceStatus, prepare: withActivePhase, validate: phaseFaults },
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

/** Merges `podCIDR`, the old name of the first of `podCIDRs`, which takes precedence. */
function oneCidr(node: JsonObject): JsonObject {
  const spec = objectAt(node, 'spec');
  const first = stringAt(spec, 'podCIDR');
  const all = listAt(spec, 'podCIDRs');
  if (first === '') return all.length === 0 ? node : { ...node, spec: { ...spec, podCIDR: all[0] } };
  return all[0] === first ? node : { ...node, spec: { ...spec, podCIDRs: [first] } };
}

const nodes = builtIn('nodes');

/** Validates amounts of a node: not negative, and whole for indivisible resources. */
function amountFaults(node: JsonObject): FieldFault[] {
  return ['capacity', 'allocatable'].flatMap((key) =>
    Object.entries(objectAt(objectAt(node, 'status'), key)).flatMap(([name, amount]) =>
      [...resourceAmount(`status.${key}.${name}`, name, parseQuantity(textOf(amount)))].map(causeOf),
    ),
  );
}

/** Validates that addresses are unique. */
function addressFaults(node: JsonObject): FieldFault[] {
  const seen = new Set<string>();
  return objectsAt(objectAt(node, 'status'), 'addresses').flatMap((address, i) => {
    const shown = { Type: stringAt(address, 'type'), Address: stringAt(address, 'address') };
    const again = seen.has(JSON.stringify(shown));
    seen.add(JSON.stringify(shown));
    return again ? [fault.duplicate(`status.addresses[${i}]`, shown)] : [];
  });
}

/** Validates a node's pod CIDRs: one per IP family. */
function netFaults(node: JsonObject): FieldFault[] {
  const nets = listAt(objectAt(node, 'spec'), 'podCIDRs').map(textOf);
  const field = 'spec.podCIDRs';
  const wrong = nets.flatMap((net, i) => cidrFaults(`${field}[${i}]`, net));
  const families = new Set(nets.map((net) => net.includes(':')));
  if (nets.length < 2 || (families.size === 2 && nets.length === 2)) return wrong;
  return [...wrong, fault.invalid(field, nets, 'may specify no more than one CIDR for each IP family')];
}

const nodeStatus = statusRules(nodes);
const nodeMain = mainRules(nodes, true);

// The former dynamic kubelet configuration: its source and status are dropped.
const withoutSource = (node: JsonObject): JsonObject => ({
  ...node,
  spec: without(specOf(node), 'configSource'),
});
const withoutConfig = (node: JsonObject): JsonObject => ({
  ...node,
  status: without(objectAt(node, 'status'), 'config'),
});

const nodeStatusFaults = (node: JsonObject): FieldFault[] => [...amountFaults(node), ...addressFaults(node)];

const nodeWarnings = (node: JsonObject): readonly string[] =>
  valueAt(node, 'spec', 'externalID') === undefined
    ? []
    : ['spec.externalID: this field is deprecated, and is unused by Kubernetes'];

/** Validates that a node's CIDRs and provider ID are set only once. */
function netChanges(node: JsonObject, old: JsonObject): FieldFault[] {
  const [before, now] = [old, node].map((one) => listAt(objectAt(one, 'spec'), 'podCIDRs'));
  const moved = 'node updates may not change podCIDR except from "" to valid';
  const changes = (before ?? []).filter((net, i) => net !== now?.[i]).length;
  const count = before?.length === now?.length ? changes : Math.min(before?.length ?? 0, 1);
  const faults = Array.from({ length: count }, () => fault.forbidden('spec.podCIDRs', moved));
  const [provider, next] = [old, node].map((one) => stringAt(objectAt(one, 'spec'), 'providerID'));
  if (provider !== '' && next !== provider) {
    const why = 'node updates may not change providerID except from "" to valid';
    faults.push(fault.forbidden('spec.providerID', why));
  }
  return faults;
}

const externalIdChange = (node: JsonObject, old: JsonObject): FieldFault[] =>
  valueAt(node, 'spec', 'externalID') === valueAt(old, 'spec', 'externalID')
    ? []
    : [fault.forbidden('spec.externalID', 'may not be updated')];

/** Sets allocatable to capacity where it is missing. */
function wholeCapacity(node: JsonObject): JsonObject {
  const status = objectAt(node, 'status');
  const { allocatable = status['capacity'] } = status;
  return allocatable === status['allocatable'] ? node : { ...node, status: { ...status, allocatable } };
}

/** Strategy of nodes: created with their status. */
export const nodeStrategy: Strategy = {
  ...commonStrategy(nodes),
  defaults: (node) => wholeCapacity(oneCidr(node)),
  prepareCreate: (node) => withoutConfig(withoutSource(node)),
  validateCreate: (node) => [...taintFaults(node), ...amountFaults(node), ...netFaults(node)],
  warnings: nodeWarnings,
  createReset: [['f:status']],
  subresources: {
    status: {
      ...nodeStatus,
      prepare: (object, old, context) => withoutConfig(nodeStatus.prepare(object, old, context)),
      validate: nodeStatusFaults,
    },
  },
  main: {
    ...nodeMain,
    prepare: (node, old, context) => withoutSource(nodeMain.prepare(node, old, context)),
    validate(node, old) {
      const taints = taintFaults(node);
      return [
        ...taints,
        ...netFaults(node),
        ...netChanges(node, old),
        ...taints,
        ...externalIdChange(node, old),
      ];
    },
    warnings: nodeWarnings,
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

/** Drops the fields of coordinated leader election, which is off. */
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
    validate: (lease, old) => [...validateMetadataUpdate(lease, old, leases), ...leaseFaults(lease)],
  },
};
