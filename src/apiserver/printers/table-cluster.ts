import { conditionOf } from '../../apimachinery/conditions.ts';
import { ownMember } from '../../base/own.ts';
import {
  isObject,
  type JsonObject,
  listAt,
  nameOf,
  objectAt,
  objectsAt,
  specOf,
  statusOf,
  stringAt,
  textOf,
  valueAt,
} from '../../apimachinery/json.ts';
import { labelSelectorText } from '../../apimachinery/selectors.ts';
import { column } from './table-printer.ts';
import { cols, countAt, createdAgo, printer, type Printer, type Printers } from './table-printer.ts';

/** Formats the usage of a quota, without limits or only limits. */
function quotaText(quota: JsonObject, limits: boolean): string {
  const [hard, used] = [objectAt(statusOf(quota), 'hard'), objectAt(statusOf(quota), 'used')];
  return Object.keys(hard)
    .filter((name) => name.startsWith('limits.') === limits)
    .sort()
    .map((name) => `${name}: ${textOf(ownMember(used, name) ?? '0')}/${textOf(ownMember(hard, name))}`)
    .join(', ');
}

/** Formats the names of a binding's subjects of one kind. */
function subjects(binding: JsonObject, kind: string): string {
  const all = objectsAt(binding, 'subjects').filter((one) => one['kind'] === kind);
  const spaced = kind === 'ServiceAccount';
  return all
    .map((one) => `${spaced ? `${stringAt(one, 'namespace')}/` : ''}${stringAt(one, 'name')}`)
    .join(', ');
}

const binding = printer(cols('Name', 'Role', 'Age', 'Users+', 'Groups+', 'ServiceAccounts+'), (one, now) => {
  const role = objectAt(one, 'roleRef');
  return [
    nameOf(one),
    `${stringAt(role, 'kind')}/${stringAt(role, 'name')}`,
    createdAgo(one, now),
    ...['User', 'Group', 'ServiceAccount'].map((kind) => subjects(one, kind)),
  ];
});

const plain = printer(cols('Name', 'Age'), (one, now) => [nameOf(one), createdAgo(one, now)]);

const defaultKeys = [
  'storageclass.kubernetes.io/is-default-class',
  'storageclass.beta.kubernetes.io/is-default-class',
];
const isDefault = (one: JsonObject): boolean =>
  defaultKeys.some((key) => ownMember(objectAt(objectAt(one, 'metadata'), 'annotations'), key) === 'true');

const webhooks = printer(cols('Name', 'Webhooks:integer', 'Age'), (one, now) => [
  nameOf(one),
  objectsAt(one, 'webhooks').length,
  createdAgo(one, now),
]);

const policy = (what: string): Printer =>
  printer(cols('Name', `${what}:integer`, 'ParamKind', 'Age'), (one, now) => {
    const kind = specOf(one)['paramKind'] as JsonObject | undefined;
    return [
      nameOf(one),
      listAt(specOf(one), what.toLowerCase()).length,
      kind ? `${stringAt(kind, 'apiVersion')}/${stringAt(kind, 'kind')}` : '<unset>',
      createdAgo(one, now),
    ];
  });

const policyBinding = printer(cols('Name', 'PolicyName', 'ParamRef', 'Age'), (one, now) => {
  const ref = objectAt(specOf(one), 'paramRef');
  const [name, namespace] = [stringAt(ref, 'name'), stringAt(ref, 'namespace')];
  const { selector } = ref;
  const parameter = name
    ? `${namespace || '*'}/${name}`
    : isObject(selector)
      ? labelSelectorText(selector)
      : '<unset>';
  return [nameOf(one), stringAt(specOf(one), 'policyName'), parameter, createdAgo(one, now)];
});

function claimState(claim: JsonObject): string {
  const [gone, allocated] = [
    valueAt(claim, 'metadata', 'deletionTimestamp') !== undefined,
    statusOf(claim)['allocation'] !== undefined,
  ];
  const reserved = objectsAt(statusOf(claim), 'reservedFor').length > 0;
  return [
    ...(gone ? ['deleted'] : []),
    ...(allocated ? ['allocated', ...(reserved ? ['reserved'] : [])] : gone ? [] : ['pending']),
  ].join(',');
}

const flag = (spec: JsonObject, key: string, unset = false): boolean =>
  (ownMember(spec, key) ?? unset) === true;

const storagePrinters: Printers = {
  'storage.k8s.io/storageclasses': printer(
    cols('Name', 'Provisioner', 'ReclaimPolicy', 'VolumeBindingMode', 'AllowVolumeExpansion', 'Age'),
    (one, now) => [
      `${nameOf(one)}${isDefault(one) ? ' (default)' : ''}`,
      stringAt(one, 'provisioner'),
      textOf(one['reclaimPolicy'] ?? 'Delete'),
      stringAt(one, 'volumeBindingMode') || 'Immediate',
      flag(one, 'allowVolumeExpansion'),
      createdAgo(one, now),
    ],
  ),
  'storage.k8s.io/volumeattributesclasses': printer(cols('Name', 'DriverName', 'Age'), (one, now) => [
    nameOf(one),
    stringAt(one, 'driverName'),
    createdAgo(one, now),
  ]),
  'storage.k8s.io/volumeattachments': printer(
    [
      ...cols('Name'),
      column('Attacher', 0, 'string', 'name'),
      ...cols('PV', 'Node', 'Attached:boolean', 'Age'),
    ],
    (one, now) => [
      nameOf(one),
      stringAt(specOf(one), 'attacher'),
      stringAt(objectAt(specOf(one), 'source'), 'persistentVolumeName'),
      stringAt(specOf(one), 'nodeName'),
      statusOf(one)['attached'] === true,
      createdAgo(one, now),
    ],
  ),
  'storage.k8s.io/csinodes': printer(cols('Name', 'Drivers:integer', 'Age'), (one, now) => [
    nameOf(one),
    objectsAt(specOf(one), 'drivers').length,
    createdAgo(one, now),
  ]),
  'storage.k8s.io/csidrivers': printer(
    [
      ...cols('Name', 'AttachRequired:boolean', 'PodInfoOnMount:boolean', 'StorageCapacity:boolean'),
      ...cols('TokenRequests', 'RequiresRepublish:boolean', 'Modes', 'Age'),
    ],
    (one, now) => {
      const spec = specOf(one);
      return [
        nameOf(one),
        flag(spec, 'attachRequired', true),
        flag(spec, 'podInfoOnMount'),
        flag(spec, 'storageCapacity'),
        spec['tokenRequests'] === undefined
          ? '<unset>'
          : objectsAt(spec, 'tokenRequests')
              .map((each) => stringAt(each, 'audience'))
              .join(','),
        flag(spec, 'requiresRepublish'),
        listAt(spec, 'volumeLifecycleModes').map(textOf).join(',') || '<none>',
        createdAgo(one, now),
      ];
    },
  ),
};

/** Formats whether an API service is available, and else why not. */
function availability(service: JsonObject): string {
  const available = conditionOf(service, 'Available');
  if (!available) return 'Unknown';
  const [status, reason] = [stringAt(available, 'status'), stringAt(available, 'reason')];
  return status === 'True' || reason === '' ? status : `${status} (${reason})`;
}

const apiServicePrinters: Printers = {
  'apiregistration.k8s.io/apiservices': printer(cols('Name', 'Service', 'Available', 'Age'), (one, now) => {
    const { service } = specOf(one);
    const place = isObject(service) && `${stringAt(service, 'namespace')}/${stringAt(service, 'name')}`;
    return [nameOf(one), place || 'Local', availability(one), createdAgo(one, now)];
  }),
};

const flowPrinters: Printers = {
  'flowcontrol.apiserver.k8s.io/flowschemas': printer(
    cols('Name', 'PriorityLevel', 'MatchingPrecedence', 'DistinguisherMethod', 'Age', 'MissingPL'),
    (one, now) => {
      const dangling = conditionOf(one, 'Dangling');
      return [
        nameOf(one),
        stringAt(objectAt(specOf(one), 'priorityLevelConfiguration'), 'name'),
        countAt(one, 'spec', 'matchingPrecedence'),
        stringAt(objectAt(specOf(one), 'distinguisherMethod'), 'type') || '<none>',
        createdAgo(one, now),
        dangling ? stringAt(dangling, 'status') : '?',
      ];
    },
  ),
  'flowcontrol.apiserver.k8s.io/prioritylevelconfigurations': printer(
    [...cols('Name', 'Type', 'NominalConcurrencyShares', 'Queues', 'HandSize', 'QueueLengthLimit', 'Age')],
    (one, now) => {
      const limited = specOf(one)['limited'] as JsonObject | undefined;
      const queuing = objectAt(limited, 'limitResponse')['queuing'] as JsonObject | undefined;
      const count = (of: JsonObject | undefined, key: string): unknown =>
        of ? (ownMember(of, key) ?? 0) : '<none>';
      return [
        nameOf(one),
        stringAt(specOf(one), 'type'),
        count(limited, 'nominalConcurrencyShares'),
        ...['queues', 'handSize', 'queueLengthLimit'].map((key) => count(queuing, key)),
        createdAgo(one, now),
      ];
    },
  ),
};

/** Printers of cluster objects. Follow Kubernetes' printers (pkg/printers/internalversion, v1.36). */
export const clusterPrinters: Printers = {
  resourcequotas: printer(cols('Name', 'Request', 'Limit', 'Age'), (quota, now) => [
    nameOf(quota),
    quotaText(quota, false),
    quotaText(quota, true),
    createdAgo(quota, now),
  ]),
  'rbac.authorization.k8s.io/rolebindings': binding,
  'rbac.authorization.k8s.io/clusterrolebindings': binding,
  'admissionregistration.k8s.io/mutatingwebhookconfigurations': webhooks,
  'admissionregistration.k8s.io/validatingwebhookconfigurations': webhooks,
  'admissionregistration.k8s.io/validatingadmissionpolicies': policy('Validations'),
  'admissionregistration.k8s.io/mutatingadmissionpolicies': policy('Mutations'),
  'admissionregistration.k8s.io/validatingadmissionpolicybindings': policyBinding,
  'admissionregistration.k8s.io/mutatingadmissionpolicybindings': policyBinding,
  'resource.k8s.io/deviceclasses': plain,
  'resource.k8s.io/resourceclaimtemplates': plain,
  'resource.k8s.io/resourceclaims': printer(cols('Name', 'State', 'Age'), (claim, now) => [
    nameOf(claim),
    claimState(claim),
    createdAgo(claim, now),
  ]),
  'resource.k8s.io/resourceslices': printer(cols('Name', 'Node', 'Driver', 'Pool', 'Age'), (slice, now) => [
    nameOf(slice),
    stringAt(specOf(slice), 'nodeName'),
    stringAt(specOf(slice), 'driver'),
    stringAt(objectAt(specOf(slice), 'pool'), 'name'),
    createdAgo(slice, now),
  ]),
  ...storagePrinters,
  ...apiServicePrinters,
  ...flowPrinters,
};
