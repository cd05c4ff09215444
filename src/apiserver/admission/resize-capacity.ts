import { milliValueOf, parseQuantity, valueOf } from '../../kube/resources/quantity.ts';
import { podRequests } from '../../kube/resources/resources.ts';
import type { Node, Pod } from '../../kube/types.ts';
import { sameJson, specOf, stringAt } from '../../apimachinery/json.ts';
import { StatusError } from '../../apimachinery/status-error.ts';
import { type AdmissionPlugin, isResource, refusal } from './plugin.ts';

/** The resources to compare, and the unit they are reported in. */
const compared = [
  ['cpu', milliValueOf],
  ['memory', valueOf],
] as const;

const refused = (pod: Pod, why: string, reason: string): StatusError => {
  const name = pod.metadata?.name ?? '';
  return new StatusError(403, 'Forbidden', `pods "${name}" is forbidden: ${why}`, {
    details: { name, kind: 'pods', causes: [{ reason }] },
  });
};

/** Checks that a resized pod would fit its node alone. @returns the 403; `undefined`: it fits */
function resizeBeyondNode(pod: Pod, node: Node): StatusError | undefined {
  const system = node.metadata?.labels?.['kubernetes.io/os'] ?? 'linux';
  if (system !== 'linux') {
    const why = `pod resize is only supported on linux nodes, node ${JSON.stringify(node.metadata?.name ?? '')} is ${JSON.stringify(system)}`;
    return refused(pod, why, 'UnsupportedPlatform');
  }
  const requests = podRequests({ ...pod, status: {} });
  const allocatable = node.status?.allocatable ?? {};
  const beyond = compared.flatMap(([resource, unitOf]) => {
    const quantity = requests[resource];
    const requested = quantity === undefined ? 0 : unitOf(quantity);
    const capacity = unitOf(parseQuantity(allocatable[resource] ?? '0'));
    return requested > capacity ? [`${resource}, requested: ${requested}, allocatable: ${capacity}`] : [];
  });
  if (beyond.length === 0) return undefined;
  const why = `node didn't have enough allocatable resources: ${beyond.join('; ')}`;
  return refused(pod, why, 'NodeCapacity');
}

/** Rejects a resize that exceeds the node's allocatable resources. */
export const podResizeValidator: AdmissionPlugin = {
  name: 'PodResizeValidator',
  handles: (operation, kind, subresource) =>
    operation === 'UPDATE' && isResource(kind, 'pods') && subresource === 'resize',
  validate(attributes) {
    const { object = {}, oldObject, context } = attributes;
    const node = stringAt(specOf(object), 'nodeName');
    if (node === '' || sameJson(specOf(object), specOf(oldObject))) return;
    const found = context.world.store.get('nodes', node);
    if (!found) throw refusal(attributes, `node "${node}" not found`);
    const beyond = resizeBeyondNode(object, found.object);
    if (beyond) throw beyond;
  },
};
