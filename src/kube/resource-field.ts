import { AgentError } from '../base/errors.ts';
import {
  isZeroQuantity,
  milliValueOf,
  parseQuantity,
  type Quantity,
  valueOf,
  zeroQuantity,
} from './quantity.ts';
import type { ResourceList } from './resources.ts';
import type { Container, Pod } from './types.ts';

/** What a `resourceFieldRef` asks for. */
export interface ResourceField {
  readonly resource: string;
  /** Absent or zero: 1. */
  readonly divisor?: string;
}

/** Resources of which a missing limit means: all that the node can give. */
const boundedByNode: readonly string[] = ['cpu', 'memory', 'ephemeral-storage'];

function amountOf(
  container: Container,
  side: 'limits' | 'requests',
  name: string,
  allocatable: ResourceList,
): Quantity {
  const text = container.resources?.[side]?.[name];
  const amount = text === undefined ? zeroQuantity : parseQuantity(text);
  const nodeHas = allocatable[name];
  if (
    side === 'requests' ||
    !isZeroQuantity(amount) ||
    !boundedByNode.includes(name) ||
    nodeHas === undefined
  )
    return amount;
  return parseQuantity(nodeHas);
}

/**
 * The amount behind a `resourceFieldRef`, in units of its divisor, rounded up. Follows `resource.ExtractContainerResourceValue`.
 *
 * @param allocatable the node's: it stands for a limit that is not set
 * @throws {AgentError} `invalid_argument` for a resource that is not offered
 */
export function resourceFieldValue(
  container: Container,
  field: ResourceField,
  allocatable: ResourceList,
): string {
  const [, side, name] = /^(limits|requests)\.(.+)$/.exec(field.resource) ?? [];
  if (
    (side !== 'limits' && side !== 'requests') ||
    name === undefined ||
    !(boundedByNode.includes(name) || name.startsWith('hugepages-'))
  )
    throw new AgentError('invalid_argument', `unsupported container resource : ${field.resource}`);
  const amount = amountOf(container, side, name, allocatable);
  const given = parseQuantity(field.divisor ?? '0');
  const divisor = isZeroQuantity(given) ? parseQuantity('1') : given;
  const units = name === 'cpu' ? milliValueOf : valueOf;
  return String(Math.ceil(units(amount) / units(divisor)));
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
