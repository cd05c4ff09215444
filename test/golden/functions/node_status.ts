import type { Node, NodeStatus } from '../../../src/kube/types.ts';
import { nodeAddress } from '../../../src/node/setters/addresses.ts';
import { pressureCondition, readyCondition } from '../../../src/node/setters/conditions.ts';
import { images } from '../../../src/node/setters/images.ts';
import { machineInfo } from '../../../src/node/setters/machine.ts';
import { nodeFeatures, runtimeHandlers } from '../../../src/node/setters/runtime.ts';
import type { SetterResult } from '../../../src/node/setters/setter.ts';
import { check, type Replay } from '../harness.ts';

type Input = Readonly<Record<string, unknown>>;
type Part = keyof NodeStatus;

const nodeOf = (input: Input, status: Partial<NodeStatus>): Node => ({
  metadata: {
    name: text(input['nodeName']) ?? 'n1',
    ...(input['annotations'] != null && { annotations: input['annotations'] as Record<string, string> }),
  },
  status,
});
const text = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined;
// eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters -- names what the recording holds
const list = <T>(value: unknown): readonly T[] => (value ?? []) as readonly T[];
const eventTexts = ({ events = [] }: SetterResult, withMessage: boolean): readonly string[] =>
  events.map(({ type, reason, message }) =>
    withMessage ? `${type} ${reason} ${message}` : `${type} ${reason}`,
  );
const part = (result: SetterResult, ...parts: Part[]): Record<string, unknown> =>
  Object.fromEntries(parts.map((name) => [name, result.node.status?.[name]]));

function ready(input: Input): unknown {
  const node = nodeOf(input, {
    capacity: input['capacity'] as Record<string, string>,
    conditions: input['conditions'] as never,
  });
  const faults = Object.fromEntries(
    (
      [
        ['runtime', 'runtimeError'],
        ['network', 'networkError'],
        ['storage', 'storageError'],
        ['shutdown', 'shutdownError'],
        ['warning', 'softRequirements'],
      ] as const
    ).flatMap(([name, from]) => (text(input[from]) === undefined ? [] : [[name, input[from]]])),
  );
  const now = Date.parse(String(input['now']));
  const result = readyCondition(node, now, faults, input['localStorageCapacityIsolation'] === true);
  return { ...part(result, 'conditions'), events: eventTexts(result, false), error: result.error };
}

const pressure =
  (kind: 'memory' | 'disk' | 'pid') =>
  (input: Input): unknown => {
    const node = nodeOf(input, { conditions: input['conditions'] as never });
    const now = Date.parse(String(input['now']));
    const result = pressureCondition(node, now, kind, input['pressure'] === true);
    return { ...part(result, 'conditions'), events: eventTexts(result, false), error: result.error };
  };

function machine(input: Input): unknown {
  const info = input['machineInfo'] as Readonly<Record<string, unknown>>;
  const node = nodeOf(input, {
    ...(input['capacity'] != null && { capacity: input['capacity'] as Record<string, string> }),
    ...(input['allocatable'] != null && { allocatable: input['allocatable'] as Record<string, string> }),
    nodeInfo: { bootID: text(input['bootID']) ?? '' } as never,
  });
  const result = machineInfo(node, {
    machine:
      input['machineInfoError'] == null
        ? {
            numCores: Number(info['numCores']),
            memoryCapacity: Number(info['memoryCapacity']),
            swapCapacity: Number(info['swapCapacity'] ?? 0),
            machineId: String(info['machineID']),
            systemUuid: String(info['systemUUID']),
            bootId: String(info['bootID']),
            hugePages: list<Record<string, number>>(info['hugePages']).map((page) => ({
              pageSizeKib: page['page_size'] ?? 0,
              count: page['num_pages'] ?? 0,
            })),
          }
        : undefined,
    maxPods: Number(input['maxPods']),
    podsPerCore: Number(input['podsPerCore'] ?? 0),
    storage: (input['containerManagerCapacity'] ?? {}) as Record<string, string>,
    reservation: (input['reservation'] ?? {}) as Record<string, string>,
    devices: {
      capacity: (input['devicePluginCapacity'] ?? {}) as Record<string, string>,
      allocatable: (input['devicePluginAllocatable'] ?? {}) as Record<string, string>,
      removed: list<string>(input['removedDevicePlugins']),
    },
  });
  return {
    ...part(result, 'capacity', 'allocatable', 'nodeInfo'),
    events: eventTexts(result, true),
    error: result.error,
  };
}

function imageList(input: Input): unknown {
  const found = list<{ Tags?: string[]; Digests?: string[]; Size?: number }>(input['images']).map(
    (image) => ({
      tags: image.Tags ?? [],
      digests: image.Digests ?? [],
      size: image.Size ?? 0,
    }),
  );
  const fault = text(input['listError']);
  const result = images(
    nodeOf(input, {}),
    fault === undefined ? found : new Error(fault),
    Number(input['max']),
  );
  return { ...part(result, 'images'), error: result.error };
}

async function addresses(input: Input): Promise<unknown> {
  const invalid = text(input['invalidIP']);
  const resolved = text(input['resolveAddress']);
  const node = nodeOf(input, input['addresses'] == null ? {} : { addresses: input['addresses'] as never });
  const result = await nodeAddress(node, {
    nodeIps: list<string>(input['nodeIPs']),
    hostname: String(input['hostname']),
    externalCloudProvider: input['externalCloudProvider'] === true,
    validate: (ip) =>
      ip === invalid
        ? `node IP: ${JSON.stringify(ip)} not found in the host's network interfaces`
        : undefined,
    lookup: () => list<string>(input['dnsLookup']),
    resolve: () => {
      if (resolved === undefined) throw new Error('no default route');
      return resolved;
    },
  });
  return {
    ...part(result, 'addresses'),
    annotations: result.node.metadata?.annotations,
    error: result.error,
  };
}

function handlers(input: Input): unknown {
  const node = nodeOf(input, {});
  const found = list<Record<string, unknown>>(input['handlers']).map((handler) => ({
    name: text(handler['Name']) ?? '',
    recursiveReadOnlyMounts: handler['SupportsRecursiveReadOnlyMounts'] === true,
    userNamespaces: handler['SupportsUserNamespaces'] === true,
  }));
  const features = input['features'] as Record<string, boolean> | null;
  const result = nodeFeatures(
    runtimeHandlers(node, found).node,
    features ? { supplementalGroupsPolicy: features['SupplementalGroupsPolicy'] === true } : undefined,
  );
  return part(result, 'runtimeHandlers', 'features');
}

const setters: Readonly<Record<string, (input: Input) => unknown>> = {
  Ready: ready,
  MemoryPressure: pressure('memory'),
  DiskPressure: pressure('disk'),
  PIDPressure: pressure('pid'),
  MachineInfo: machine,
  Images: imageList,
  NodeAddress: addresses,
  'RuntimeHandlers+NodeFeatures': handlers,
};

export const replay: Replay = async (line) => {
  const input = line['in'] as Input;
  const setter = setters[String(input['setter'])];
  if (!setter) throw new Error(`unknown setter ${String(input['setter'])}`);
  return check(line['out'], await setter(input));
};
