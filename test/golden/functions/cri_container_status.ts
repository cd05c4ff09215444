import { toContainerStatus } from '../../../src/containers/kuberuntime/config/convert.ts';
import { milliValueOf, parseQuantity, valueOf } from '../../../src/kube/resources/quantity.ts';
import type { ResourceRequirements } from '../../../src/kube/types.ts';
import type { ContainerStatus } from '../../../src/provider/cri-messages.ts';
import { check, type Replay } from '../harness.ts';
import { fromProtoJson } from '../support/cri-json.ts';

/** The record of actuated resources is kept under container name c0 of the recorded pod. */
const actuatedName = 'c0';

/** Instants are compared to 1 µs: finer digits do not survive JSON numbers. The image's runtime handler is not recorded. */
export const replay: Replay = ({ in: given, out }) => {
  const input = given as { status: Record<string, unknown>; actuated: ResourceRequirements | null };
  const status = fromProtoJson(input.status) as ContainerStatus;
  const named = status.labels?.['io.kubernetes.container.name'] === actuatedName;
  const actual = toContainerStatus(status, 'cri-o', named ? (input.actuated ?? undefined) : undefined);
  const expected = normal(out as Recorded);
  return check(
    expected,
    { ...actual, ...instants(expected, actual) },
    { operation: given },
    {
      ignore: (path) => path === '.imageRuntimeHandler',
    },
  );
};

type Recorded = Readonly<Record<string, unknown>>;
const instantKeys = ['createdAt', 'startedAt', 'finishedAt'] as const;

function normal({ imageID, userLinux, resources, ...rest }: Recorded): Recorded {
  const kept = resources as Readonly<Record<string, string>> | undefined;
  const number = (key: string, of: typeof valueOf): number | undefined =>
    kept?.[key] === undefined ? undefined : of(parseQuantity(kept[key]));
  return {
    ...rest,
    ...Object.fromEntries(instantKeys.map((key) => [key, millis(rest[key] as string)])),
    imageId: imageID,
    user: userLinux,
    resources: kept && {
      cpuRequest: number('CPURequest', milliValueOf),
      cpuLimit: number('CPULimit', milliValueOf),
      memoryRequest: number('MemoryRequest', valueOf),
      memoryLimit: number('MemoryLimit', valueOf),
    },
  };
}

function millis(text: string): number | undefined {
  if (text.startsWith('0001-')) return undefined;
  const fraction = /\.(\d+)Z$/.exec(text)?.[1] ?? '';
  return Math.floor(Date.parse(text) / 1000) * 1000 + Number(fraction.padEnd(9, '0')) / 1e6;
}

const instants = (
  expected: Recorded,
  actual: Partial<Record<(typeof instantKeys)[number], number>>,
): Recorded =>
  Object.fromEntries(
    instantKeys.map((key) => {
      const [wanted, got] = [expected[key] as number | undefined, actual[key]];
      const near = wanted !== undefined && got !== undefined && Math.abs(wanted - got) <= 0.001;
      return [key, near ? wanted : got];
    }),
  );
