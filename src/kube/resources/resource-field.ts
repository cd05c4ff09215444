import { ownMember } from '../../base/own.ts';
import { AgentError } from '../../base/errors.ts';
import {
  isZeroQuantity,
  milliValueOf,
  parseQuantity,
  type Quantity,
  valueOf,
  zeroQuantity,
} from './quantity.ts';
import { amountsOf, type ResourceList } from './resources.ts';
import type { Container, Pod } from '../types.ts';
import { isHugePageResource } from './resource-names.ts';

/** What a `resourceFieldRef` asks for. */
export interface ResourceField {
  readonly resource: string;
  /** Absent or zero: 1. */
  readonly divisor?: string;
}

/** Resources of which a missing limit means: all that the pod may have, or the node can give. */
const boundedOutside: readonly string[] = ['cpu', 'memory', 'ephemeral-storage'];

function amountOf(
  container: Container,
  side: 'limits' | 'requests',
  name: string,
  bounds: ResourceList,
): Quantity {
  const text = ownMember(container.resources?.[side], name);
  const amount = text === undefined ? zeroQuantity : parseQuantity(text);
  const bound = ownMember(bounds, name);
  if (side === 'requests' || !isZeroQuantity(amount) || !boundedOutside.includes(name) || bound === undefined)
    return amount;
  return parseQuantity(bound);
}

/**
 * The amount behind a `resourceFieldRef`, in units of its divisor, rounded up. Follows `resource.ExtractContainerResourceValue`.
 *
 * @param pod its own limit stands for one that the container does not set
 * @param allocatable the node's: it stands for a limit that neither sets
 * @throws {AgentError} `invalid_argument` for a resource that is not offered
 */
export function resourceFieldValue(
  pod: Pod,
  container: Container,
  field: ResourceField,
  allocatable: ResourceList,
): string {
  const [, side, name] = /^(limits|requests)\.(.+)$/.exec(field.resource) ?? [];
  if (
    (side !== 'limits' && side !== 'requests') ||
    name === undefined ||
    !(boundedOutside.includes(name) || isHugePageResource(name))
  )
    throw new AgentError('invalid_argument', `unsupported container resource : ${field.resource}`);
  const amount = amountOf(container, side, name, standIns(pod, allocatable));
  const given = parseQuantity(field.divisor ?? '0');
  const divisor = isZeroQuantity(given) ? parseQuantity('1') : given;
  const units = name === 'cpu' ? milliValueOf : valueOf;
  return BigInt(Math.ceil(units(amount) / units(divisor))).toString();
}

/**
 * The container of a pod that a volume's `resourceFieldRef` names, regular or init.
 *
 * @throws {AgentError} `not_found`
 */
export function containerOfPod(pod: Pod, name: string): Container {
  const found = [...(pod.spec?.containers ?? []), ...(pod.spec?.initContainers ?? [])].find(
    (container) => container.name === name,
  );
  if (found) return found;
  throw new AgentError('not_found', `container ${name} not found`);
}

/** What stands for limits that a container does not set: the pod's CPU and memory, and else what the node has of what it knows. */
function standIns(pod: Pod, allocatable: ResourceList): ResourceList {
  const whole = pod.spec?.resources?.limits ?? {};
  const amounts = amountsOf(whole);
  const given = ['cpu', 'memory'].filter(
    (name) => Object.hasOwn(allocatable, name) && !isZeroQuantity(ownMember(amounts, name) ?? zeroQuantity),
  );
  return {
    ...allocatable,
    ...Object.fromEntries(given.map((name) => [name, ownMember(whole, name) ?? '0'])),
  };
}
