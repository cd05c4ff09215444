import { isIP } from 'node:net';
import { containerShouldRestart, mayRestartAllContainers } from '../kube/restart-policy.ts';
import type { Container, Pod, PodSpec } from '../kube/types.ts';
import { type JsonObject, objectAt, objectsAt, stringAt } from './json.ts';
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

/** A container that has ended for good stays so. */
function resurrected(pod: JsonObject, old: JsonObject, key: string): FieldFault[] {
  const spec = asPod(old).spec ?? { containers: [] };
  if (mayRestartAllContainers(spec)) return [];
  const all = [...spec.containers, ...(spec.initContainers ?? [])];
  const byName = new Map<unknown, Container>(all.map((container) => [container.name, container]));
  const now = objectsAt(objectAt(pod, 'status'), key);
  return objectsAt(objectAt(old, 'status'), key)
    .filter((before) => isTerminated(before) && !mayRestart(before, byName.get(before['name']), spec))
    .flatMap((before) => {
      const at = now.findIndex((status) => status['name'] === before['name']);
      return at < 0 || isTerminated(now[at])
        ? []
        : [fault.forbidden(`status.${key}[${at}].state`, 'may not be transitioned to non-terminated state')];
    });
}

/** A pod that has its node is nominated for none. */
function nominationFaults(name: string, before: string, pod: JsonObject): FieldFault[] {
  if (name === '') return [];
  if (!subdomain.test(name)) return [fault.invalid('status.nominatedNodeName', name, subdomainRule)];
  return name !== before && stringAt(objectAt(pod, 'spec'), 'nodeName') !== ''
    ? [fault.forbidden('status.nominatedNodeName', 'may not be set on pods that are already bound to a node')]
    : [];
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
    ...nominationFaults(nominated, stringAt(before, 'nominatedNodeName'), pod),
    ...familyFaults(status, 'podIPs'),
    ...familyFaults(status, 'hostIPs'),
    ...(Number(status['observedGeneration'] ?? 0) < 0
      ? [
          fault.invalid(
            'status.observedGeneration',
            status['observedGeneration'],
            'must be a non-negative integer',
          ),
        ]
      : []),
    ...resurrected(pod, old, 'containerStatuses'),
    ...resurrected(pod, old, 'initContainerStatuses'),
    ...(standing !== '' && next !== standing
      ? [fault.invalid('status.qosClass', next, 'field is immutable')]
      : []),
  ];
}
