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

/** The resource that a `resourceFieldRef` selects. */
export interface ResourceField {
  readonly resource: string;
  /** Divisor; absent or zero: 1. */
  readonly divisor?: string;
}

/** Resources whose missing limit is replaced by the pod's limit or the node's allocatable amount. */
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
 * Returns the amount of a `resourceFieldRef` in units of its divisor, rounded up. Follows `resource.ExtractContainerResourceValue`.
 *
 * @param pod its limit replaces one that the container does not set
 * @param allocatable the node's amounts; they replace a limit that neither sets
 * @throws {AgentError} `invalid_argument` for an unsupported resource
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
  const specDivisor = parseQuantity(field.divisor ?? '0');
  const divisor = isZeroQuantity(specDivisor) ? parseQuantity('1') : specDivisor;
  const units = name === 'cpu' ? milliValueOf : valueOf;
  return BigInt(Math.ceil(units(amount) / units(divisor))).toString();
}

/**
 * Returns the container, regular or init, that a volume's `resourceFieldRef` names.
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

/** Returns the replacements of missing limits: the pod's CPU and memory limits, otherwise the node's allocatable amounts. */
function standIns(pod: Pod, allocatable: ResourceList): ResourceList {
  const whole = pod.spec?.resources?.limits ?? {};
  const amounts = amountsOf(whole);
  const podLimitNames = ['cpu', 'memory'].filter(
    (name) => Object.hasOwn(allocatable, name) && !isZeroQuantity(ownMember(amounts, name) ?? zeroQuantity),
  );
  return {
    ...allocatable,
    ...Object.fromEntries(podLimitNames.map((name) => [name, ownMember(whole, name) ?? '0'])),
  };
}
