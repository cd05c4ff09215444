import { type JsonObject, objectAt, objectsAt, stringAt } from './json.ts';
import { fault, type FieldFault } from './status-error.ts';

const subdomain = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const subdomainRule =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

const isTerminated = (status: JsonObject | undefined): boolean =>
  objectAt(status, 'state')['terminated'] !== undefined;

/** Whether a container that ended so may run again. */
function mayRestart(status: JsonObject, policy: unknown): boolean {
  const code = Number(objectAt(objectAt(status, 'state'), 'terminated')['exitCode'] ?? 0);
  return policy === 'Always' || (policy === 'OnFailure' && code !== 0);
}

/** A container that has ended for good stays so. */
function resurrected(pod: JsonObject, old: JsonObject, key: string): FieldFault[] {
  const spec = objectAt(old, 'spec');
  const policies = new Map(
    [...objectsAt(spec, 'containers'), ...objectsAt(spec, 'initContainers')].map((container) => [
      container['name'],
      container['restartPolicy'],
    ]),
  );
  const now = objectsAt(objectAt(pod, 'status'), key);
  // init containers run again only when they fail
  const ofPod = stringAt(spec, 'restartPolicy');
  const common = key === 'initContainerStatuses' && ofPod === 'Always' ? 'OnFailure' : ofPod;
  return objectsAt(objectAt(old, 'status'), key)
    .filter((before) => isTerminated(before) && !mayRestart(before, policies.get(before['name']) ?? common))
    .flatMap((before) => {
      const at = now.findIndex((status) => status['name'] === before['name']);
      return at < 0 || isTerminated(now[at])
        ? []
        : [fault.forbidden(`status.${key}[${at}].state`, 'may not be transitioned to non-terminated state')];
    });
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
    ...(nominated !== '' && !subdomain.test(nominated)
      ? [fault.invalid('status.nominatedNodeName', nominated, subdomainRule)]
      : []),
    ...(Number(status['observedGeneration'] ?? 0) < 0
      ? [
          fault.invalid(
            'status.observedGeneration',
            status['observedGeneration'],
            'must be greater than or equal to 0',
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
