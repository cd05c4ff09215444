import { expect, test } from 'vitest';
import type { ErrorCode } from '../../../src/base/errors.ts';
import { deadlineOf } from '../../../src/providers/cri/deadlines.ts';
import { criError, throwPullError } from '../../../src/providers/cri/errors.ts';
import { runtimeHealthOf, runtimeVersionText } from '../../../src/providers/cri/health.ts';
import { nodeImagesOf } from '../../../src/providers/cri/node.ts';
import { connectCri } from '../../../src/providers/cri/runtime.ts';
import { systemClock } from '../../../src/base/clock.ts';

test.for<[number, string, ErrorCode, string]>([
  [5, 'no such pod', 'not_found', 'rpc error: code = NotFound desc = no such pod'],
  [
    2,
    'failed to create containerd task',
    'internal',
    'rpc error: code = Unknown desc = failed to create containerd task',
  ],
  [
    4,
    'Deadline exceeded after 2.000s',
    'deadline_exceeded',
    'rpc error: code = DeadlineExceeded desc = context deadline exceeded',
  ],
  [
    4,
    'timeout 1s exceeded: context deadline exceeded',
    'deadline_exceeded',
    'rpc error: code = DeadlineExceeded desc = timeout 1s exceeded: context deadline exceeded',
  ],
  [1, 'Cancelled on client', 'cancelled', 'rpc error: code = Canceled desc = context canceled'],
  [12, 'unknown method', 'unimplemented', 'rpc error: code = Unimplemented desc = unknown method'],
  [8, 'too large', 'resource_exhausted', 'rpc error: code = ResourceExhausted desc = too large'],
  [14, 'Connection dropped', 'unavailable', 'rpc error: code = Unavailable desc = Connection dropped'],
  [99, 'odd', 'internal', 'rpc error: code = Code(99) desc = odd'],
  [
    14,
    'No connection established. Last error: Error: connect ENOENT /run/x.sock',
    'unavailable',
    'rpc error: code = Unavailable desc = connection error: desc = "transport: Error while dialing: dial unix /run/x.sock: connect: no such file or directory"',
  ],
])('status %i with "%s" is %s', ([code, details, expected, message]) => {
  expect(criError({ code, details }, '/run/x.sock')).toMatchObject({ code: expected, message });
});

test.for([
  [2, 'RegistryUnavailable: down', 'RegistryUnavailable: down'],
  [5, 'no such image', 'rpc error: code = NotFound desc = no such image'],
] as const)('a pull that fails with status %i and "%s" tells "%s"', ([code, details, message]) => {
  const failed = criError({ code, details }, '/run/x.sock');
  expect(() => throwPullError(failed)).toThrow(expect.objectContaining({ code: failed.code, message }));
});

test('what is no gRPC failure passes as it is', () => {
  expect(criError(new TypeError('odd'), '')).toMatchObject({ code: 'internal', message: 'odd' });
});

test.for<[Parameters<typeof deadlineOf>[0], { timeout?: number }, number | undefined]>([
  ['Version', {}, 120_000],
  ['RunPodSandbox', {}, 240_000],
  ['StopContainer', { timeout: 30 }, 150_000],
  ['ExecSync', { timeout: 5 }, 125_000],
  ['ExecSync', {}, undefined],
  ['PullImage', {}, undefined],
  ['CheckpointContainer', { timeout: 300 }, 300_000],
  ['CheckpointContainer', {}, 120_000],
])('%s with %o may take %o ms', ([method, request, expected]) => {
  expect(deadlineOf(method, request, 120_000)).toBe(expected);
});

const ready = { type: 'RuntimeReady', status: true };
const network = {
  type: 'NetworkReady',
  reason: 'NetworkPluginNotReady',
  message: 'cni plugin not initialized',
};

test('conditions that are not met read as the kubelet says them', () => {
  expect(runtimeHealthOf({ status: { conditions: [ready, network] } })).toEqual({
    networkError:
      'container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:cni plugin not initialized',
  });
  expect(runtimeHealthOf({})).toEqual({
    runtimeError: 'container runtime not ready: <nil>',
    networkError: 'container runtime network not ready: <nil>',
  });
  expect(runtimeHealthOf({ status: { conditions: [ready, { ...network, status: true }] } })).toEqual({});
});

test('a runtime is named with its version', () => {
  expect(runtimeVersionText({ runtimeName: 'containerd', runtimeVersion: '2.1.9' })).toBe(
    'containerd://2.1.9',
  );
});

test('images are reported largest first', () => {
  const images = [
    { id: 'a', size: 1 },
    { id: 'b', size: 5, repoTags: ['t'] },
    { id: 'c', size: 1 },
  ];
  expect(nodeImagesOf(images).map(({ size, tags }) => [size, tags])).toEqual([
    [5, ['t']],
    [1, []],
    [1, []],
  ]);
});

test('an endpoint that is no unix socket is refused', () => {
  expect(() => connectCri('tcp://127.0.0.1:1', { clock: systemClock })).toThrow(/not a unix socket/);
});

test('a runtime that is not there is unavailable, in the words of a Go client', async () => {
  const runtime = connectCri('unix:///nowhere/x.sock', { clock: systemClock });
  await expect(runtime.version({})).rejects.toMatchObject({
    code: 'unavailable',
    message:
      'rpc error: code = Unavailable desc = connection error: desc = "transport: Error while dialing: dial unix /nowhere/x.sock: connect: no such file or directory"',
  });
  await runtime.close();
  await expect(runtime.version({})).rejects.toMatchObject({ code: 'cancelled' });
});
