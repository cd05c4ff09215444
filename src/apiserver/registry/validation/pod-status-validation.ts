import { canonicalIp, ipFamily } from '../../../kube/ip.ts';
import { containerShouldRestart, mayRestartAllContainers } from '../../../kube/restart-policy.ts';
import type { Container, Pod, PodSpec } from '../../../kube/types.ts';
import { dns1123Label, dns1123Subdomain, qualifiedNameRule } from '../../../kube/validation/name-rules.ts';
import {
  isObject,
  type JsonObject,
  listAt,
  objectAt,
  objectsAt,
  stringAt,
  valueAt,
} from '../../../apimachinery/json.ts';
import { fault, type FieldFault } from '../../../apimachinery/status-error.ts';

const isTerminated = (status: JsonObject | undefined): boolean =>
  objectAt(status, 'state')['terminated'] !== undefined;

/** Views JSON as a typed pod. */
const asPod = (object: JsonObject): Pod => object;

/** Reports whether a container that ended like this may be restarted. */
function mayRestart(status: JsonObject, container: Container | undefined, spec: PodSpec): boolean {
  const code = Number(objectAt(objectAt(status, 'state'), 'terminated')['exitCode'] ?? 0);
  return containerShouldRestart(container ?? { name: '' }, spec, code);
}

/** Validates that a container that ended for good stays so; the field is that of the stored status. */
function resurrected(pod: JsonObject, old: JsonObject, kind: 'container' | 'initContainer'): FieldFault[] {
  const spec = asPod(old).spec ?? { containers: [] };
  if (mayRestartAllContainers(spec)) return [];
  const all = (kind === 'container' ? spec.containers : spec.initContainers) ?? [];
  const byName = new Map<unknown, Container>(all.map((container) => [container.name, container]));
  return revived(pod, old, `${kind}Statuses`)
    .filter(
      ({ before }) => !byName.has(before['name']) || !mayRestart(before, byName.get(before['name']), spec),
    )
    .map(({ fault }) => fault);
}

/** Returns the containers that were terminated, and are not any more. */
function revived(
  pod: JsonObject,
  old: JsonObject,
  key: string,
): { readonly before: JsonObject; readonly fault: FieldFault }[] {
  const now = objectsAt(objectAt(pod, 'status'), key);
  return objectsAt(objectAt(old, 'status'), key).flatMap((before, i) => {
    const next = now.find((status) => status['name'] === before['name']);
    return isTerminated(before) && next && !isTerminated(next)
      ? [
          {
            before,
            fault: fault.forbidden(
              `status.${key}[${i}].state`,
              'may not be transitioned to non-terminated state',
            ),
          },
        ]
      : [];
  });
}

/** Validates that a bound pod is not nominated for a node. */
function nominationFaults(name: string, before: string, pod: JsonObject): FieldFault[] {
  if (name === '' || name === before) return [];
  const bound = stringAt(objectAt(pod, 'spec'), 'nodeName') !== '';
  const field = 'status.nominatedNodeName';
  return [
    ...dns1123Subdomain(name).map((why) => fault.invalid(field, name, why)),
    ...(bound ? [fault.forbidden(field, 'may not be set on pods that are already bound to a node')] : []),
  ];
}

const generationFaults = (holder: JsonObject, at: string): FieldFault[] =>
  Number(holder['observedGeneration'] ?? 0) < 0
    ? [
        fault.invalid(
          `${at}.observedGeneration`,
          holder['observedGeneration'],
          'must be a non-negative integer',
        ),
      ]
    : [];

const systemConditions = new Set(['PodScheduled', 'Ready', 'Initialized']);

/** Validates that conditions not set by Kubernetes have qualified names. */
const conditionFaults = (status: JsonObject): FieldFault[] =>
  objectsAt(status, 'conditions').flatMap((condition, i) => {
    const at = `status.conditions[${i}]`;
    const type = stringAt(condition, 'type');
    const names = systemConditions.has(type) ? [] : qualifiedNameRule(type);
    return [
      ...generationFaults(condition, at),
      ...names.map((why) => fault.invalid(`${at}.Type`, type, why)),
    ];
  });

/** Validates that claim statuses match the spec's claims, each once. */
function claimFaults(pod: JsonObject): FieldFault[] {
  const claims = new Set(objectsAt(objectAt(pod, 'spec'), 'resourceClaims').map((claim) => claim['name']));
  const seen = new Set<string>();
  return objectsAt(objectAt(pod, 'status'), 'resourceClaimStatuses').flatMap((status, i) => {
    const at = `status.resourceClaimStatuses[${i}]`;
    const [name, claim] = [stringAt(status, 'name'), status['resourceClaimName']];
    const again = seen.has(name);
    seen.add(name);
    return [
      ...(claims.has(name)
        ? []
        : [fault.invalid(`${at}.name`, name, 'must match the name of an entry in `spec.resourceClaims`')]),
      ...(again ? [fault.duplicate(`${at}.name`, name)] : []),
      ...(typeof claim === 'string'
        ? dns1123Subdomain(claim).map((why) => fault.invalid(`${at}.resourceClaimName`, claim, why))
        : []),
    ];
  });
}

const mostId = 2_147_483_647;
const idRule = `must be between 0 and ${mostId}, inclusive`;

/** Validates users and groups as Linux IDs. */
function userFaults(pod: JsonObject, key: string): FieldFault[] {
  const windows = valueAt(pod, 'spec', 'os', 'name') === 'windows';
  return objectsAt(objectAt(pod, 'status'), key).flatMap((status, i) => {
    const at = `status.${key}[${i}].user.linux`;
    const user = valueAt(status, 'user', 'linux');
    if (!isObject(user)) return [];
    if (windows) return [fault.forbidden(at, 'cannot be set for a windows pod')];
    const ids = [
      [`${at}.uid`, user['uid']],
      [`${at}.gid`, user['gid']],
      ...listAt(user, 'supplementalGroups').map((id, g) => [`${at}.supplementalGroups[${g}]`, id]),
    ] as const;
    return ids.flatMap(([field = '', id]) =>
      typeof id === 'number' && (id < 0 || id > mostId) ? [fault.invalid(String(field), id, idRule)] : [],
    );
  });
}

const ipRule = 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)';
const familyOf = (ip: string): ReturnType<typeof ipFamily> => ipFamily(canonicalIp(ip));

/** Validates addresses except stored ones, and allows at most one per family. */
function addressFaults(status: JsonObject, old: JsonObject, key: 'podIPs' | 'hostIPs'): FieldFault[] {
  const [ips = [], standing = []] = [status, old].map((one) =>
    objectsAt(one, key).map((item) => stringAt(item, 'ip')),
  );
  const field = `status.${key}`;
  const wrong = ips.flatMap((ip, i) =>
    familyOf(ip) === undefined && !standing.includes(ip) ? [fault.invalid(`${field}[${i}]`, ip, ipRule)] : [],
  );
  return ips.length > 1 ? [...wrong, ...familyFaults(field, ips)] : wrong;
}

function familyFaults(field: string, ips: readonly string[]): FieldFault[] {
  const families = ips.map(familyOf);
  const unread = families.indexOf(undefined);
  const why = `failed to check for dual stack with error:invalid IP[${unread}]: ${ips[unread] ?? ''}`;
  const dual = unread < 0 && families.includes('IPv4') && families.includes('IPv6');
  const shown = ips.map((IP) => ({ IP }));
  return [
    ...(unread < 0 ? [] : [fault.internal(field, why)]),
    ...(dual && ips.length === 2
      ? []
      : [fault.invalid(field, shown, 'may specify no more than one IP for each IP family')]),
  ];
}

/** Validates that the host's first address equals `hostIP`. */
function hostFaults(status: JsonObject, old: JsonObject): FieldFault[] {
  const [first] = objectsAt(status, 'hostIPs');
  const ip = stringAt(first, 'ip');
  return [
    ...(first && ip !== stringAt(status, 'hostIP')
      ? [fault.invalid('status.hostIPs[0].ip', ip, 'must be equal to `hostIP`')]
      : []),
    ...addressFaults(status, old, 'hostIPs'),
  ];
}

/** Validates the status of the claim for extended resources: its containers, each once. */
function extendedClaimFaults(pod: JsonObject): FieldFault[] {
  const claimStatus = valueAt(pod, 'status', 'extendedResourceClaimStatus');
  if (!isObject(claimStatus)) return [];
  const at = 'status.extendedResourceClaimStatus';
  const mappings = objectsAt(claimStatus, 'requestMappings');
  const claim = stringAt(claimStatus, 'resourceClaimName');
  const seen = new Set<string>();
  return [
    ...(mappings.length === 0
      ? [fault.required(`${at}.requestMappings`, 'at least one request mapping is required')]
      : []),
    ...mappings.flatMap((mapping, i) => {
      const place = `${at}.requestMappings[${i}]`;
      const key = JSON.stringify(mappingKeys.map((name) => stringAt(mapping, name)));
      const again = seen.has(key);
      seen.add(key);
      return [
        ...mappedFaults(pod, mapping, place),
        ...dns1123Label(stringAt(mapping, 'requestName')).map((why) =>
          fault.invalid(`${at}.requestName`, stringAt(mapping, 'requestName'), why),
        ),
        ...(again
          ? mappingKeys.map((name) => fault.duplicate(`${place}.${name}`, stringAt(mapping, name)))
          : []),
      ];
    }),
    ...(claim === ''
      ? [fault.required(`${at}.resourceClaimName`)]
      : dns1123Subdomain(claim).map((why) => fault.invalid(`${at}.resourceClaimName`, claim, why))),
  ];
}

const mappingKeys = ['containerName', 'resourceName', 'requestName'] as const;

function mappedFaults(pod: JsonObject, mapping: JsonObject, at: string): FieldFault[] {
  const [name, resource] = [stringAt(mapping, 'containerName'), stringAt(mapping, 'resourceName')];
  const spec = objectAt(pod, 'spec');
  const container = ['containers', 'initContainers']
    .flatMap((key) => objectsAt(spec, key))
    .find((one) => one['name'] === name);
  if (!container) {
    const why = 'must match the name of an entry in spec.initContainers.name or spec.containers.name';
    return [fault.invalid(`${at}.containerName`, name, why)];
  }
  if (Object.hasOwn(objectAt(objectAt(container, 'resources'), 'requests'), resource)) return [];
  const why =
    'must match the extended resource name of an entry in spec.initContainers.resources.requests or spec.containers.resources.requests';
  return [fault.invalid(`${at}.resourceName`, resource, why)];
}

const healths = ['Healthy', 'Unhealthy', 'Unknown'];
const healthMessageMost = 1024;

/** Validates the health of a container's devices: those that it requests, each once. */
function healthFaults(pod: JsonObject, key: 'containerStatuses' | 'initContainerStatuses'): FieldFault[] {
  const containers = objectsAt(
    objectAt(pod, 'spec'),
    key === 'containerStatuses' ? 'containers' : 'initContainers',
  );
  return objectsAt(objectAt(pod, 'status'), key).flatMap((status, i) =>
    objectsAt(status, 'allocatedResourcesStatus').flatMap((allocated, j) => {
      const at = `status.${key}[${i}].allocatedResourcesStatus[${j}]`;
      const container = containers.find((one) => one['name'] === status['name']);
      return [...requestFaults(allocated, container, at), ...deviceFaults(allocated, `${at}.resources`)];
    }),
  );
}

function requestFaults(allocated: JsonObject, container: JsonObject | undefined, at: string): FieldFault[] {
  if (!container) return [];
  const name = stringAt(allocated, 'name');
  const resources = objectAt(container, 'resources');
  const isClaim = name.startsWith('claim:');
  const claims = objectsAt(resources, 'claims').map((claim) =>
    ['claim:', stringAt(claim, 'name'), stringAt(claim, 'request') && `/${stringAt(claim, 'request')}`].join(
      '',
    ),
  );
  if (isClaim ? claims.includes(name) : Object.hasOwn(objectAt(resources, 'requests'), name)) return [];
  const why = isClaim
    ? "must match one of the container's resource claims in a format 'claim:<claimName>/<request>' or 'claim:<claimName>' if request is empty"
    : "must match one of the container's resource requests";
  return [fault.invalid(`${at}.name`, name, why)];
}

function deviceFaults(allocated: JsonObject, at: string): FieldFault[] {
  const seen = new Set<string>();
  return objectsAt(allocated, 'resources').flatMap((device, k) => {
    const place = `${at}[${k}]`;
    const [id, health, message] = [
      stringAt(device, 'resourceID'),
      stringAt(device, 'health'),
      device['message'],
    ];
    const again = seen.has(id);
    seen.add(id);
    return [
      ...(healths.includes(health) ? [] : [fault.unsupported(`${place}.health`, health, healths)]),
      ...(message === '' ? [fault.required(`${place}.message`, 'must be non-empty if specified')] : []),
      ...(typeof message === 'string' && Buffer.byteLength(message) > healthMessageMost
        ? [fault.tooLong(`${place}.message`, healthMessageMost)]
        : []),
      ...(again ? [fault.duplicate(`${place}.resourceID`, id)] : []),
    ];
  });
}

const noDevices = (pod: JsonObject): FieldFault[] =>
  objectsAt(objectAt(pod, 'status'), 'ephemeralContainerStatuses').flatMap((status, i) =>
    objectsAt(status, 'allocatedResourcesStatus').length === 0
      ? []
      : [
          fault.forbidden(
            `status.ephemeralContainerStatuses[${i}].allocatedResourcesStatus`,
            'must not be specified in container status',
          ),
        ],
  );

/**
 * Validates a status update: the QoS class is immutable, a nominated node has a valid name, terminated containers stay terminated.
 *
 * Follows Kubernetes `ValidatePodStatusUpdate`.
 */
export function podStatusFaults(pod: JsonObject, old: JsonObject): readonly FieldFault[] {
  const [status, before] = [objectAt(pod, 'status'), objectAt(old, 'status')];
  const nominated = stringAt(status, 'nominatedNodeName');
  const [next, standing] = [stringAt(status, 'qosClass'), stringAt(before, 'qosClass')];
  return [
    ...conditionFaults(status),
    ...nominationFaults(nominated, stringAt(before, 'nominatedNodeName'), pod),
    ...generationFaults(status, 'status'),
    ...(standing !== '' && next !== standing
      ? [fault.invalid('status.qosClass', next, 'field is immutable')]
      : []),
    ...resurrected(pod, old, 'container'),
    ...resurrected(pod, old, 'initContainer'),
    ...revived(pod, old, 'ephemeralContainerStatuses').map(({ fault }) => fault),
    ...claimFaults(pod),
    ...extendedClaimFaults(pod),
    ...addressFaults(status, before, 'podIPs'),
    ...hostFaults(status, before),
    ...['containerStatuses', 'initContainerStatuses', 'ephemeralContainerStatuses'].flatMap((key) =>
      userFaults(pod, key),
    ),
    ...healthFaults(pod, 'containerStatuses'),
    ...healthFaults(pod, 'initContainerStatuses'),
    ...noDevices(pod),
  ];
}
