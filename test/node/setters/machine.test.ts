import { expect, test } from 'vitest';
import type { Node } from '../../../src/kube/types.ts';
import { type AddressSettings, nodeAddress } from '../../../src/node/setters/addresses.ts';
import { pressureCondition, readyCondition } from '../../../src/node/setters/conditions.ts';
import { machineInfo, type MachineSettings } from '../../../src/node/setters/machine.ts';

const now = Date.parse('2026-03-04T05:06:07Z');
const nowText = '2026-03-04T05:06:07Z';
const machine = { numCores: 8, memoryCapacity: 1024, machineId: 'm', systemUuid: 's', bootId: 'b' };
const settings: MachineSettings = { machine, maxPods: 110, podsPerCore: 0, storage: {}, reservation: {} };
const addressSettings: AddressSettings = {
  nodeIps: [],
  hostname: 'n1',
  externalCloudProvider: false,
  validate: () => undefined,
  lookup: () => [],
  resolve: () => '192.0.2.9',
};

const addressesOf = async (settings: Partial<AddressSettings>): Promise<readonly string[]> => {
  const { node } = await nodeAddress({ metadata: { name: 'n1' } }, { ...addressSettings, ...settings });
  return (node.status?.addresses ?? []).map(({ address }) => address);
};

test('amounts are written as the API server gives them back', () => {
  const node: Node = { status: { capacity: { 'example.com/gpu': '1000' }, allocatable: { x: '1024Mi' } } };
  const { status } = machineInfo(node, {
    ...settings,
    maxPods: 1000,
    configured: { memory: '2048Mi' },
  }).node;
  expect(status?.capacity).toEqual({ 'example.com/gpu': '1k', cpu: '8', memory: '2Gi', pods: '1k' });
  expect(status?.allocatable).toEqual({ ...status?.capacity, x: '1Gi' });
  expect(machineInfo({}, { ...settings, machine: undefined, maxPods: 2000 }).node.status?.capacity).toEqual({
    cpu: '0',
    memory: '0',
    pods: '2k',
  });
});

test.for([
  ['fd00:0:0::9', 'fd00::9'],
  ['FD00::A', 'fd00::a'],
  ['::ffff:10.1.2.3', '10.1.2.3'],
  ['010.0.0.1', '10.0.0.1'],
] as const)('the address %s is told as %s', async ([written, told]) => {
  expect(await addressesOf({ nodeIps: [written] })).toEqual([told, 'n1']);
  expect(await addressesOf({ hostname: written })).toEqual([told, written]);
  expect(await addressesOf({ lookup: () => [written] })).toEqual([told, 'n1']);
  expect(await addressesOf({ resolve: () => written })).toEqual([told, 'n1']);
});

test.for(['0:0:0:0:0:0:0:0', '0::0', '::ffff:0.0.0.0'])(
  '%s is no address of a node, it says a family',
  async (any) => {
    expect(await addressesOf({ nodeIps: [any] })).toEqual(['192.0.2.9', 'n1']);
  },
);

test('a host name with a zone is no address', async () => {
  expect(await addressesOf({ hostname: 'fe80::1%eth0' })).toEqual(['192.0.2.9', 'fe80::1%eth0']);
});

test('of conditions that stand twice the first Ready and the last pressure are set, as by the kubelet', () => {
  const twice = (type: string): Node => ({
    status: { conditions: ['a', 'b'].map((message) => ({ type, status: 'Unknown', message })) },
  });
  const statuses = ({ status }: Node): unknown => status?.conditions?.map((condition) => condition.status);
  expect(statuses(readyCondition(twice('Ready'), now, { network: 'x' }, false).node)).toEqual([
    'False',
    'Unknown',
  ]);
  expect(statuses(pressureCondition(twice('DiskPressure'), now, 'disk', true).node)).toEqual([
    'Unknown',
    'True',
  ]);
});

test('a condition that does not say since when it holds says so no sooner than it changes', () => {
  const node: Node = { status: { conditions: [{ type: 'PIDPressure', status: 'True' }] } };
  expect(pressureCondition(node, now, 'pid', true).node.status?.conditions).toEqual([
    { type: 'PIDPressure', status: 'True', lastHeartbeatTime: nowText },
  ]);
  expect(pressureCondition(node, now, 'pid', false).node.status?.conditions).toMatchObject([
    { status: 'False', lastTransitionTime: nowText },
  ]);
});
