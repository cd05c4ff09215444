import { conditionOf } from '../../apimachinery/conditions.ts';
import { tableOf } from '../../base/own.ts';
import {
  type JsonObject,
  nameOf as name,
  objectAt,
  objectsAt,
  stringAt,
  textOf,
  valueAt,
} from '../../apimachinery/json.ts';
import type { Kind } from '../../apimachinery/kinds.ts';
import { clusterPrinters } from './table-cluster.ts';
import { age, ageOf, type Column, column } from './table-printer.ts';
import { networkPrinters } from './table-network.ts';
import { podCells, podColumns, podConditions } from './table-pods.ts';
import { cols, createdAgo as created, printer, type Printers } from './table-printer.ts';
import { claimCells, claimColumns, volumeCells, volumeColumns } from './table-volumes.ts';
import { workloadPrinters } from './table-workloads.ts';

function nodeStatus(node: JsonObject): string {
  const ready = conditionOf(node, 'Ready');
  const state = ready ? (ready['status'] === 'True' ? 'Ready' : 'NotReady') : 'Unknown';
  return valueAt(node, 'spec', 'unschedulable') === true ? `${state},SchedulingDisabled` : state;
}

function nodeRoles(node: JsonObject): string {
  const roles = Object.entries(objectAt(objectAt(node, 'metadata'), 'labels')).flatMap(([key, value]) => {
    if (key.startsWith('node-role.kubernetes.io/')) return [key.slice('node-role.kubernetes.io/'.length)];
    return key === 'kubernetes.io/role' && value ? [textOf(value)] : [];
  });
  return [...new Set(roles.filter(Boolean))].sort().join(',') || '<none>';
}

const address = (node: JsonObject, type: string): string =>
  stringAt(
    objectsAt(objectAt(node, 'status'), 'addresses').find((one) => one['type'] === type),
    'address',
  ) || '<none>';

const info = (node: JsonObject, key: string): string =>
  textOf(valueAt(node, 'status', 'nodeInfo', key)) || (key === 'kubeletVersion' ? '' : '<unknown>');

function eventObject(event: JsonObject): string {
  const ref = objectAt(event, 'involvedObject');
  return [stringAt(ref, 'kind').toLowerCase(), stringAt(ref, 'name')].filter(Boolean).join('/');
}

function lastSeen(event: JsonObject, now: number): string {
  const series = objectAt(event, 'series');
  const last =
    series['lastObservedTime'] ?? event['lastTimestamp'] ?? event['firstTimestamp'] ?? event['eventTime'];
  return ageOf(last ?? undefined, now);
}

const firstSeen = (event: JsonObject, now: number): string =>
  ageOf(event['firstTimestamp'] ?? event['eventTime'] ?? undefined, now);

function eventSource(event: JsonObject): string {
  const source = objectAt(event, 'source');
  const component = stringAt(source, 'component') || stringAt(event, 'reportingComponent');
  const host = stringAt(source, 'host') || stringAt(event, 'reportingInstance');
  return host ? `${component}, ${host}` : component;
}

const keys = (object: JsonObject, ...members: readonly string[]): number =>
  members.reduce((sum, member) => sum + Object.keys(objectAt(object, member)).length, 0);

const csrCondition = (csr: JsonObject): string => {
  const status = objectAt(csr, 'status');
  const types = objectsAt(status, 'conditions').map((condition) => textOf(condition['type']));
  const decision = ['Denied', 'Approved'].find((type) => types.includes(type)) ?? 'Pending';
  const more = [
    ...(types.includes('Failed') ? ['Failed'] : []),
    ...(status['certificate'] ? ['Issued'] : []),
  ];
  return [decision, ...more].join(',');
};

/** Printers of the built-in kinds. */
export const printers: Printers = tableOf({
  ...workloadPrinters,
  ...networkPrinters,
  ...clusterPrinters,
  pods: printer(podColumns, podCells),
  nodes: printer(
    cols(
      'Name',
      'Status',
      'Roles',
      'Age',
      'Version',
      'Internal-IP+',
      'External-IP+',
      'OS-Image+',
      'Kernel-Version+',
      'Container-Runtime+',
    ),
    (node, now) => [
      name(node),
      nodeStatus(node),
      nodeRoles(node),
      created(node, now),
      info(node, 'kubeletVersion'),
      address(node, 'InternalIP'),
      address(node, 'ExternalIP'),
      info(node, 'osImage'),
      `${info(node, 'kernelVersion')}${textOf(valueAt(node, 'status', 'nodeInfo', 'architecture')) && ` (${textOf(valueAt(node, 'status', 'nodeInfo', 'architecture'))})`}`,
      info(node, 'containerRuntimeVersion'),
    ],
  ),
  namespaces: printer(cols('Name', 'Status', 'Age'), (ns, now) => [
    name(ns),
    textOf(valueAt(ns, 'status', 'phase')),
    created(ns, now),
  ]),
  events: printer(
    [
      ...cols('Last Seen', 'Type', 'Reason', 'Object', 'Subobject+', 'Source+', 'Message', 'First Seen+'),
      column('Count', 1),
      column('Name', 1),
    ],
    (event, now) => [
      lastSeen(event, now),
      textOf(event['type']),
      textOf(event['reason']),
      eventObject(event),
      stringAt(objectAt(event, 'involvedObject'), 'fieldPath'),
      eventSource(event),
      textOf(event['message']).trim(),
      firstSeen(event, now),
      Number(objectAt(event, 'series')['count'] ?? event['count'] ?? 1),
      name(event),
    ],
  ),
  configmaps: printer([column('Name'), column('Data'), column('Age')], (map, now) => [
    name(map),
    keys(map, 'data', 'binaryData'),
    created(map, now),
  ]),
  secrets: printer([column('Name'), column('Type'), column('Data'), column('Age')], (secret, now) => [
    name(secret),
    textOf(secret['type']),
    keys(secret, 'data'),
    created(secret, now),
  ]),
  serviceaccounts: printer(cols('Name', 'Age'), (account, now) => [name(account), created(account, now)]),
  persistentvolumes: printer(volumeColumns, (one, now) => volumeCells(one, created(one, now))),
  persistentvolumeclaims: printer(claimColumns, (one, now) => claimCells(one, created(one, now))),
  'coordination.k8s.io/leases': printer(cols('Name', 'Holder', 'Age'), (lease, now) => [
    name(lease),
    textOf(valueAt(lease, 'spec', 'holderIdentity')),
    created(lease, now),
  ]),
  'node.k8s.io/runtimeclasses': printer(cols('Name', 'Handler', 'Age'), (one, now) => [
    name(one),
    textOf(one['handler']),
    created(one, now),
  ]),
  'scheduling.k8s.io/priorityclasses': printer(
    [
      column('Name'),
      column('Value', 0, 'integer'),
      column('Global-Default', 0, 'boolean'),
      column('Age'),
      column('PreemptionPolicy'),
    ],
    (one, now) => [
      name(one),
      Number(one['value'] ?? 0),
      one['globalDefault'] === true,
      created(one, now),
      textOf(one['preemptionPolicy']),
    ],
  ),
  'certificates.k8s.io/clustertrustbundles': printer(cols('Name', 'SignerName'), (bundle) => [
    name(bundle),
    textOf(valueAt(bundle, 'spec', 'signerName')) || '<none>',
  ]),
  'certificates.k8s.io/certificatesigningrequests': printer(
    cols('Name', 'Age', 'SignerName', 'Requestor', 'RequestedDuration', 'Condition'),
    (csr, now) => {
      const lifetime = valueAt(csr, 'spec', 'expirationSeconds');
      return [
        name(csr),
        created(csr, now),
        textOf(valueAt(csr, 'spec', 'signerName')) || '<none>',
        textOf(valueAt(csr, 'spec', 'username')),
        typeof lifetime === 'number' ? age(lifetime * 1000) : '<none>',
        csrCondition(csr),
      ];
    },
  ),
});

const fallback = printer(cols('Name', 'Created At:date'), (object) => [
  name(object),
  textOf(valueAt(object, 'metadata', 'creationTimestamp')),
]);

/** Reports whether a kind has columns of its own. */
export const hasPrinter = (kind: Kind): boolean => Object.hasOwn(printers, kind.storage);

/** Returns the columns of a kind. */
export const columnsOf = (kind: Kind): readonly Column[] => (printers[kind.storage] ?? fallback).columns;

/** Returns one row; `object` is in its stored form, `shown` is the object included in the row. */
export function rowOf(
  kind: Kind,
  object: JsonObject,
  now: number,
  shown: unknown,
): {
  readonly cells: readonly unknown[];
  readonly conditions?: readonly unknown[];
  readonly object: unknown;
} {
  const conditions = kind.storage === 'pods' ? podConditions(object) : undefined;
  return {
    cells: (printers[kind.storage] ?? fallback).cells(object, now),
    ...(conditions && { conditions }),
    object: shown,
  };
}
