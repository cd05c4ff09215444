import { expect, test, vi } from 'vitest';
import { runProgram } from '../../src/cli/program.ts';
import type { VirtualKubeletOptions } from '../../src/app/virtual-kubelet.ts';

async function parse(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<{
  readonly code: number;
  readonly options: VirtualKubeletOptions | undefined;
  readonly said: string;
}> {
  const silent = vi.spyOn(process.stderr, 'write').mockImplementation(() => true);
  let options: VirtualKubeletOptions | undefined;
  const none = () => Promise.resolve(0);
  const commands = {
    ...{ up: none, run: none, validate: none, explain: none, newProvider: none, conformance: none },
    simulate: none,
    newController: none,
    generateTypes: none,
    apiserver: none,
    image: none,
    envtestAssets: none,
    launch: none,
    virtualKubelet: (given: VirtualKubeletOptions) => {
      options = given;
      return Promise.resolve(0);
    },
  };
  const around = { env, cwd: '/home/me', exampleManifests: '/none', uid: 0, version: '1' };
  try {
    const code = await runProgram(args, commands, around);
    return { code, options, said: silent.mock.calls.map(([text]) => String(text)).join('') };
  } finally {
    silent.mockRestore();
  }
}

test('flags and environment are virtual-kubelet’s, and so are the defaults', async () => {
  const { options } = await parse(['virtual-kubelet', '--provider', './rooms.mjs']);
  expect(options).toMatchObject({
    nodeName: 'virtual-kubelet',
    operatingSystem: 'linux',
    provider: './rooms.mjs',
    port: 10_250,
    podSyncWorkers: 10,
    fullResyncPeriodMs: 60_000,
    startupTimeoutMs: 0,
    streamIdleTimeoutMs: 30_000,
    clusterDomain: 'cluster.local',
    taint: { key: 'virtual-kubelet.io/provider', value: 'rooms', effect: 'NoSchedule' },
  });
});

test('what virtual-kubelet’s own manifest of the mock provider says is understood', async () => {
  const args =
    'vk --nodename vkubelet-mock-0 --provider mock --provider-config /cfg.json --startup-timeout 10s --klog.v 2 --klog.logtostderr --log-level debug --trace-exporter jaeger --trace-sample-rate=always';
  const env = {
    KUBELET_PORT: '10250',
    VKUBELET_POD_IP: '10.0.0.9',
    APISERVER_CERT_LOCATION: '/crt.pem',
    APISERVER_KEY_LOCATION: '/key.pem',
    JAEGER_AGENT_ENDPOINT: 'localhost:6831',
  };
  const { code, options, said } = await parse(args.split(' '), env);
  expect(code, said).toBe(0);
  expect(options).toMatchObject({
    nodeName: 'vkubelet-mock-0',
    provider: 'mock',
    providerConfig: '/cfg.json',
    startupTimeoutMs: 10_000,
    logLevel: 'debug',
    podIP: '10.0.0.9',
    certFile: '/crt.pem',
    keyFile: '/key.pem',
    trace: { samplesPerMillion: 1_000_000 },
  });
});

test('the environment names the node and its taint', async () => {
  const env = {
    DEFAULT_NODE_NAME: 'rooms',
    VKUBELET_TAINT_KEY: 'example.com/rooms',
    VKUBELET_TAINT_VALUE: 'yes',
    VKUBELET_TAINT_EFFECT: 'NoExecute',
  };
  const { options } = await parse(['vk', '--provider', 'mock'], env);
  expect(options?.nodeName).toBe('rooms');
  expect(options?.taint).toEqual({ key: 'example.com/rooms', value: 'yes', effect: 'NoExecute' });
  const without = await parse(['vk', '--provider', 'mock', '--disable-taint'], env);
  expect(without.options).not.toHaveProperty('taint');
});

test.for([
  { args: ['--os', 'plan9'], env: {}, says: 'operating system "plan9" is not supported: linux or windows' },
  { args: ['--pod-sync-workers', '0'], env: {}, says: 'a whole number above 0 is wanted' },
  { args: ['--startup-timeout', 'soon'], env: {}, says: 'a duration such as 30s or 1m30s is wanted' },
  { args: ['--nodenam', 'x'], env: {}, says: 'unknown argument --nodenam' },
  { args: [], env: { KUBELET_PORT: 'ten' }, says: 'KUBELET_PORT environment variable: "ten" is no port' },
  { args: [], env: { VKUBELET_TAINT_EFFECT: 'Maybe' }, says: 'taint effect "Maybe" is not supported' },
])('$args and $env are refused: $says', async ({ args, env, says }) => {
  const { code, said } = await parse(['vk', '--provider', 'mock', ...args], env);
  expect(code).toBe(2);
  expect(said).toContain(says);
});
