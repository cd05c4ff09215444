import { isIP } from 'node:net';
import { containerShouldRestart, mayRestartAllContainers } from '../kube/restart-policy.ts';
import type { Container, Pod, PodSpec } from '../kube/types.ts';
import { qualifiedNameRule } from '../kube/validation/name-rules.ts';
import { isObject, type JsonObject, listAt, objectAt, objectsAt, stringAt, valueAt } from './json.ts';
import { fault, type FieldFault } from './status-error.ts';

const subdomain = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const subdomainRule =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

const isTerminated = (status: JsonObject | undefined): boolean =>
  objectAt(status, 'state')['terminated'] !== undefined;

/** JSON in the types of the house: the same value, seen as what it is. */
const asPod = (object: JsonObject): Pod => object;

/** Whether a container that ended so may run again. */
function mayRestart(status: JsonObject, container: Container | undefined, spec: PodSpec): boolean {
  const code = Number(objectAt(objectAt(status, 'state'), 'terminated')['exitCode'] ?? 0);
  return containerShouldRestart(container ?? { name: '' }, spec, code);
}

/** A container that has ended for good stays so; the place named is that of the standing status. */
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

/** Containers that were ended, and are said to be so no longer. */
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

/** A pod that has its node is nominated for none. */
function nominationFaults(name: string, before: string, pod: JsonObject): FieldFault[] {
  if (name === '' || name === before) return [];
  const bound = stringAt(objectAt(pod, 'spec'), 'nodeName') !== '';
  const field = 'status.nominatedNodeName';
  return [
    ...(subdomain.test(name) ? [] : [fault.invalid(field, name, subdomainRule)]),
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

/** Conditions that others than Kubernetes set have qualified names. */
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

/** Claims that a status tells of are those of the spec, each once. */
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
      ...(typeof claim === 'string' && !subdomain.test(claim)
        ? [fault.invalid(`${at}.resourceClaimName`, claim, subdomainRule)]
        : []),
    ];
  });
}

const mostId = 2_147_483_647;
const idRule = `must be between 0 and ${mostId}, inclusive`;

/** Users and groups are numbers that Linux knows. */
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

/** Addresses, and at most one of each family. */
function familyFaults(status: JsonObject, key: 'podIPs' | 'hostIPs'): FieldFault[] {
  const ips = objectsAt(status, key).map((item) => stringAt(item, 'ip'));
  const wrong = ips.flatMap((ip, i) =>
    isIP(ip) === 0
      ? [
          fault.invalid(
            `status.${key}[${i}]`,
            ip,
            'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
          ),
        ]
      : [],
  );
  if (wrong.length > 0) return wrong;
  const first = stringAt(status, 'hostIP');
  if (key === 'hostIPs' && ips.length > 0 && ips[0] !== first)
    return [fault.invalid('status.hostIPs[0].ip', ips[0], 'must be equal to `hostIP`')];
  const sixes = ips.filter((ip) => ip.includes(':')).length;
  if (sixes <= 1 && ips.length - sixes <= 1) return [];
  const shown = ips.map((IP) => ({ IP }));
  return [fault.invalid(`status.${key}`, shown, 'may specify no more than one IP for each IP family')];
}

/**
 * Faults of a status that is to replace another: the class stays, a nominated node has a node's name, what ended for good stays ended.
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
    ...familyFaults(status, 'podIPs'),
    ...familyFaults(status, 'hostIPs'),
    ...['containerStatuses', 'initContainerStatuses', 'ephemeralContainerStatuses'].flatMap((key) =>
      userFaults(pod, key),
    ),
  ];
}
