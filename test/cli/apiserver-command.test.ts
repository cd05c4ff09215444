import { expect, test, vi } from 'vitest';
import { runProgram, type Commands } from '../../src/cli/program.ts';

async function parse(...args: readonly string[]) {
  const silent = vi.spyOn(process.stderr, 'write').mockImplementation(() => true);
  const apiserver = vi.fn<Commands['apiserver']>(() => Promise.resolve(0));
  const around = { env: {}, cwd: '/home/me', exampleManifests: '/none', uid: 0, version: '1' };
  try {
    const code = await runProgram(['apiserver', ...args], { apiserver } as unknown as Commands, around);
    const said = silent.mock.calls.map(([text]) => String(text)).join('');
    return { code, said, options: apiserver.mock.calls[0]?.[0] };
  } finally {
    silent.mockRestore();
  }
}

test('without flags the server is in memory, on any port, with all controllers', async () => {
  const { code, options } = await parse();
  expect(code).toBe(0);
  expect(options).toEqual({
    port: 0,
    host: '127.0.0.1',
    crds: [],
    controllers: ['*'],
    authorization: {
      modes: ['Node', 'RBAC'],
      policyFile: undefined,
      webhookConfigFile: undefined,
      webhookVersion: 'v1',
      authorizedTtl: '5m',
      unauthorizedTtl: '30s',
    },
    disableAdmissionPlugins: [],
    tlsSans: [],
    output: 'text',
    logLevel: 'warn',
    logFormat: 'text',
  });
});

test('lists may be repeated or have commas, and paths are relative to the working directory', async () => {
  const line =
    '--crds crds --crds /abs/x.yaml --controllers *,-scheduler --tls-san a,b --tls-san c --audit log --audit-policy-file p --authorization-mode RBAC,ABAC --authorization-policy-file f';
  const { options } = await parse(
    ...line.split(' '),
    ...'--disable-admission-plugins ServiceAccount,LimitRanger --data-dir d --kubeconfig k --port 6443'.split(
      ' ',
    ),
  );
  expect(options).toMatchObject({
    crds: ['/home/me/crds', '/abs/x.yaml'],
    controllers: ['*', '-scheduler'],
    tlsSans: ['a', 'b', 'c'],
    audit: '/home/me/log',
    auditPolicyFile: '/home/me/p',
    authorization: { modes: ['RBAC', 'ABAC'], policyFile: '/home/me/f' },
    disableAdmissionPlugins: ['ServiceAccount', 'LimitRanger'],
    dataDir: '/home/me/d',
    kubeconfig: '/home/me/k',
    port: 6443,
  });
  expect((await parse('--audit', '-')).options).toMatchObject({ audit: '-' });
});

test.each([
  [['--memory', '--data-dir', 'd'], '--memory and --data-dir exclude each other'],
  [['--port', '70000'], 'it must be a number from 0 to 65535'],
  [['--crd', 'x'], "unknown option '--crd'"],
])('%j is a mistake', async (args, text) => {
  const { code, said, options } = await parse(...args);
  expect(code).toBe(2);
  expect(said).toContain(text);
  expect(options).toBeUndefined();
});
