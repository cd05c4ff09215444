import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { type EciParameters, flatten } from '../../../src/providers/eci/api.ts';
import { BuiltinEciApi } from '../../../src/providers/eci/builtin-api.ts';
import { EciError } from '../../../src/providers/eci/errors.ts';
import { type FakeEci, startFakeEci } from '../../../src/providers/eci/fake/index.ts';
import { SdkEciApi } from '../../../src/providers/eci/sdk-api.ts';
import type { EciCredential, SignatureAlgorithm } from '../../../src/providers/eci/signature.ts';

const credential: EciCredential = { accessKeyId: 'id-1', accessKeySecret: 'secret-1' };
const temporary: EciCredential = {
  accessKeyId: 'id-2',
  accessKeySecret: 'secret-2',
  securityToken: 'token-2',
};
const never = new AbortController().signal;

const create: EciParameters = {
  RegionId: 'cn-hangzhou',
  SecurityGroupId: 'sg-1',
  VSwitchId: 'vsw-1',
  ContainerGroupName: 'default-web',
  RestartPolicy: 'Always',
  Container: [
    {
      Name: 'main',
      Image: 'registry/web:1',
      Command: ['sh', '-c'],
      Arg: ["echo 'a b' ~!*() äß 健康 %20+&="],
      EnvironmentVar: [
        { Key: 'A', Value: '' },
        { Key: 'IP', FieldRef: { FieldPath: 'status.podIP' } },
      ],
      SecurityContext: { ReadOnlyRootFilesystem: true, Capability: { Add: ['NET_ADMIN'] } },
    },
  ],
  Tag: [{ Key: 'UID', Value: 'u-1' }],
};

let eci: FakeEci;
beforeAll(async () => {
  eci = await startFakeEci({ accessKeys: [credential, temporary] });
});
afterAll(() => eci.stop());

type Make = (signature: SignatureAlgorithm, credentials?: EciCredential) => BuiltinEciApi | SdkEciApi;
const clients: Readonly<Record<string, Make>> = {
  builtin: (signature, credentials = credential) =>
    new BuiltinEciApi({ endpoint: eci.url, credentials, clock: systemClock, signature }),
  sdk: (signature, credentials = credential) =>
    new SdkEciApi({ endpoint: eci.url, region: 'cn-hangzhou', credentials, clock: systemClock, signature }),
};

describe.each(Object.keys(clients))('the %s client', (name) => {
  const client: Make = (...args) => clients[name]!(...args);

  test.each(['acs3', 'v1'] as const)(
    'signs so that the service accepts it (%s), also with temporary credentials',
    async (signature) => {
      for (const credentials of [credential, temporary]) {
        const answer = await client(signature, credentials).call('CreateContainerGroup', create, never);
        expect(answer['ContainerGroupId']).toMatch(/^eci-/);
      }
    },
  );

  test('the wrong secret is refused, with the code and the request ID, and without the secret', async () => {
    const wrong = client('acs3', { ...credential, accessKeySecret: 'nonsense-secret' });
    const fault = await wrong.call('DescribeRegions', {}, never).catch((reason: unknown) => reason);
    expect(fault).toBeInstanceOf(EciError);
    expect(fault).toMatchObject({ eciCode: 'SignatureDoesNotMatch', class: 'auth' });
    expect((fault as EciError).message).toMatch(/request [0-9A-F-]{36}/);
    expect(JSON.stringify(fault)).not.toContain('nonsense-secret');
  });

  test('a token that is not known is refused', async () => {
    const wrong = client('acs3', { ...temporary, securityToken: 'other' });
    await expect(wrong.call('DescribeRegions', {}, never)).rejects.toMatchObject({ class: 'auth' });
  });

  test.each([
    ['throttle', 'transient', 'Throttling.User'],
    ['error', 'transient', 'InternalError'],
    ['refuse', 'auth', 'Forbidden.RAM'],
    ['reset', 'transient', 'NetworkError'],
  ] as const)('%s is %s', async (kind, group, code) => {
    eci.faults.push({ kind, action: 'ListUsage', times: 1 });
    const fault = await client('acs3')
      .call('ListUsage', { RegionId: 'cn-hangzhou' }, never)
      .catch((reason: unknown) => reason);
    expect(fault).toMatchObject({ class: group, eciCode: code });
    eci.faults.length = 0;
  });

  test('an answer that is cut is a fault of the moment', async () => {
    eci.faults.push({ kind: 'half', action: 'ListUsage', times: 1 });
    const fault = await client('acs3')
      .call('ListUsage', { RegionId: 'cn-hangzhou' }, never)
      .catch((reason: unknown) => reason);
    expect(fault).toMatchObject({ class: 'transient' });
    eci.faults.length = 0;
  });
});

test.each(['acs3', 'v1'] as const)('both clients send the same canonical request (%s)', async (signature) => {
  const sent = [];
  for (const make of Object.values(clients)) {
    const from = eci.calls.length;
    await make(signature).call('CreateContainerGroup', create, never);
    sent.push(eci.calls.slice(from).map(({ action, parameters }) => ({ action, parameters })));
  }
  expect(sent[0]).toEqual(sent[1]);
});

test('a request whose byte was flipped is refused', async () => {
  const flipping: typeof fetch = (input, init) => {
    const url = new URL(input);
    url.searchParams.set('VSwitchId', 'vsw-2');
    return fetch(url, init);
  };
  const api = new BuiltinEciApi({
    endpoint: eci.url,
    credentials: credential,
    clock: systemClock,
    fetch: flipping,
  });
  await expect(api.call('CreateContainerGroup', create, never)).rejects.toMatchObject({
    eciCode: 'SignatureDoesNotMatch',
  });
});

test('a nonce serves once, and a clock that is wrong by 20 minutes is refused', async () => {
  const shared = { endpoint: eci.url, credentials: credential };
  const api = new BuiltinEciApi({ ...shared, clock: systemClock, nonce: () => 'same' });
  await api.call('DescribeRegions', {}, never);
  await expect(api.call('DescribeRegions', {}, never)).rejects.toMatchObject({
    eciCode: 'SignatureNonceUsed',
  });
  const late = new BuiltinEciApi({
    ...shared,
    clock: { ...systemClock, now: () => systemClock.now() - 20 * 60_000 },
  });
  await expect(late.call('DescribeRegions', {}, never)).rejects.toMatchObject({ class: 'auth' });
});

test('an answer that never comes ends at the deadline', async () => {
  eci.faults.push({ kind: 'hang', action: 'ListUsage', times: 1 });
  const api = new BuiltinEciApi({
    endpoint: eci.url,
    credentials: credential,
    clock: systemClock,
    timeoutMs: 50,
  });
  await expect(api.call('ListUsage', {}, never)).rejects.toMatchObject({
    eciCode: 'Timeout',
    class: 'transient',
  });
  eci.faults.length = 0;
});

test('credentials that never come end at the deadline too', async () => {
  const credentials = (): Promise<never> => new Promise(() => undefined);
  const api = new BuiltinEciApi({ endpoint: eci.url, credentials, clock: systemClock, timeoutMs: 50 });
  await expect(api.call('ListUsage', {}, never)).rejects.toMatchObject({ eciCode: 'Timeout' });
});

test('parameters are flattened with numbers from 1, undefined ones left out', () => {
  expect(flatten({ A: [{ B: 'x', C: [true, 2] }], D: undefined, E: { F: 'y' } })).toEqual({
    'A.1.B': 'x',
    'A.1.C.1': 'true',
    'A.1.C.2': '2',
    'E.F': 'y',
  });
});
