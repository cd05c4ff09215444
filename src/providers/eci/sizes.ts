import { milliValueOf, parseQuantity, valueOf } from '../../kube/resources/quantity.ts';
import type { Container } from '../../kube/types.ts';

/** A size as the service takes it: processors and GiB of memory. */
export interface EciSize {
  readonly cpu: number;
  readonly memory: number;
}

/** What the service sells: for each number of processors the amounts of memory, in GiB. Other sizes are rounded up to the next of these. */
const legalSizes: readonly (readonly [cpu: number, memory: readonly number[]])[] = [
  [0.25, [0.5, 1]],
  [0.5, [1, 2]],
  [1, [2, 4, 8]],
  [2, [1, 2, 4, 8, 16]],
  [4, [2, 4, 8, 16, 32]],
  [8, [4, 8, 16, 32, 64]],
  [12, [12, 24, 48, 96]],
  [16, [16, 32, 64, 128]],
  [24, [24, 48, 96, 192]],
  [32, [32, 64, 128, 256]],
  [52, [96, 192, 384]],
  [64, [128, 256, 512]],
];

/** legalSize is the smallest size on sale that holds `size`; undefined where none does. */
export function legalSize(size: EciSize): EciSize | undefined {
  for (const [cpu, memories] of legalSizes) {
    const memory = memories.find((one) => one >= size.memory);
    if (cpu >= size.cpu && memory !== undefined) return { cpu, memory };
  }
  return undefined;
}

/** What a container asks for; a member is absent where it has neither a request nor a limit. */
export interface ContainerSize {
  readonly cpu?: number;
  readonly memory?: number;
  readonly gpu?: number;
}

const gibi = 1024 ** 3;

/** containerSize is the larger of request and limit: groups have no bursting, what is not bought is not there. */
export function containerSize({ resources }: Pick<Container, 'resources'>): ContainerSize {
  const largest = (name: string, read: (text: string) => number): number | undefined => {
    const amounts = [resources?.requests, resources?.limits].flatMap((list) => {
      const text = list && Object.hasOwn(list, name) ? list[name] : undefined;
      return text === undefined ? [] : [read(text)];
    });
    return amounts.length === 0 ? undefined : Math.max(...amounts);
  };
  const cpu = largest('cpu', (text) => milliValueOf(parseQuantity(text)) / 1000);
  const memory = largest('memory', (text) => valueOf(parseQuantity(text)) / gibi);
  const gpu = largest('nvidia.com/gpu', (text) => valueOf(parseQuantity(text)));
  return {
    ...(cpu !== undefined && { cpu: roundUp(cpu) }),
    ...(memory !== undefined && { memory: roundUp(memory) }),
    ...(gpu !== undefined && gpu > 0 && { gpu }),
  };
}

/** The service takes hundredths. */
const roundUp = (value: number): number => Math.ceil(Number((value * 100).toFixed(6))) / 100;

/** groupSize is what all containers together need: the regular ones at once, or the largest init container. Undefined: nothing is asked for. */
export function groupSize(
  containers: readonly Container[],
  initContainers: readonly Container[],
): EciSize | undefined {
  const sizes = containers.map(containerSize);
  const inits = initContainers.map(containerSize);
  const needed = (part: 'cpu' | 'memory'): number =>
    Math.max(
      sizes.reduce((sum, size) => sum + (size[part] ?? 0), 0),
      ...inits.map((size) => size[part] ?? 0),
    );
  const size = { cpu: needed('cpu'), memory: needed('memory') };
  if (size.cpu === 0 && size.memory === 0) return undefined;
  return size;
}
