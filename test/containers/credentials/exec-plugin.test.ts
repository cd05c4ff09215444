import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { FakeClock, settle } from '../../../src/base/fake-clock.ts';
import type { Logger } from '../../../src/base/logger.ts';
import {
  checkPlugin,
  execPlugin,
  type PluginRequest,
  type PluginResponse,
} from '../../../src/containers/credentials/exec-plugin.ts';
import { PluginProvider, type PluginSettings } from '../../../src/containers/credentials/plugin-provider.ts';
import type { Pod } from '../../../src/kube/types.ts';

const dir = mkdtempSync(join(tmpdir(), 'pt-plugin-'));
afterAll(() => {
  rmSync(dir, { recursive: true });
});

const apiVersion = 'credentialprovider.kubelet.k8s.io/v1';
const answer = (more: object = {}): string =>
  JSON.stringify({
    kind: 'CredentialProviderResponse',
    apiVersion,
    cacheKeyType: 'Image',
    cacheDuration: '1m30s',
    auth: { 'a.io': { username: 'u', password: 'p' } },
    ...more,
  });

function script(name: string, body: string): void {
  writeFileSync(join(dir, name), `#!/bin/sh\n${body}\n`);
  chmodSync(join(dir, name), 0o755);
}

const deps = { clock: systemClock, environ: { PATH: process.env['PATH'], OVER: 'system', KEPT: 'system' } };
const plugin = (name: string) => ({ name, binDir: dir, apiVersion });
const run = (name: string): Promise<PluginResponse> => execPlugin(plugin(name), { image: 'a.io/x' }, deps);

describe('a plug-in as a program', () => {
  test('gets the request, its arguments and its variables over those of the agent', async () => {
    script('asks', `cat > ${dir}/request; echo "$@ $OVER $KEPT" > ${dir}/said; echo '${answer()}'`);
    const request = { image: 'a.io/x', serviceAccountToken: 't<', serviceAccountAnnotations: { k: 'v' } };
    const response = await execPlugin(
      { ...plugin('asks'), args: ['one', 'two'], env: [{ name: 'OVER', value: 'own' }] },
      request,
      deps,
    );
    expect(readFileSync(`${dir}/request`, 'utf8')).toBe(
      `{"kind":"CredentialProviderRequest","apiVersion":"${apiVersion}","image":"a.io/x","serviceAccountToken":"t\\u003c","serviceAccountAnnotations":{"k":"v"}}\n`,
    );
    expect(readFileSync(`${dir}/said`, 'utf8')).toBe('one two own system\n');
    expect(response).toEqual({
      cacheKeyType: 'Image',
      cacheMs: 90_000,
      auth: { 'a.io': { username: 'u', password: 'p' } },
    });
  });

  test.for([
    ['no duration', { cacheDuration: null }, { cacheKeyType: 'Image' }],
    ['no credentials', { auth: null }, { auth: {} }],
    [
      'half a credential',
      { auth: { 'a.io': { username: 'u' } } },
      { auth: { 'a.io': { username: 'u', password: '' } } },
    ],
  ] as const)('an answer with %s', async ([name, more, expected]) => {
    const file = name.replaceAll(' ', '-');
    script(file, `cat <<'X'\n${answer(more)}\nX`);
    expect(await run(file)).toMatchObject(expected);
  });

  const exec = 'error execing credential provider plugin';
  const decoding = 'error decoding credential provider plugin response from stdout';
  test.for([
    ['fails', 'echo no luck >&2; exit 3', `${exec} fails for image a.io/x: exit status 3: no luck\n`],
    ['dies', 'kill -9 $$', `${exec} dies for image a.io/x: signal: SIGKILL: `],
    ['babbles', 'echo secret-thing', 'error reading GVK from response: it is not JSON'],
    [
      'old',
      `echo '${answer({ apiVersion: 'v0' })}'`,
      `apiVersion from credential plugin response did not match expected apiVersion:${apiVersion}, actual apiVersion:v0`,
    ],
    ['kind', `echo '${answer({ kind: 'Pod' })}'`, decoding],
    ['field', `echo '${answer({ more: 1 })}'`, decoding],
    ['span', `echo '${answer({ cacheDuration: 'long' })}'`, decoding],
    ['auth', `echo '${answer({ auth: { 'a.io': { password: 1 } } })}'`, decoding],
    ['floods', 'yes | head -c 5000000', `${exec} floods for image a.io/x: it writes too much: `],
  ] as const)('one that %s', async ([name, body, why]) => {
    script(name, body);
    await expect(run(name)).rejects.toMatchObject({ message: why });
  });

  test('one that takes more than a minute is ended', async () => {
    script('hangs', 'sleep 1000');
    const clock = new FakeClock();
    const running = execPlugin(plugin('hangs'), { image: 'a.io/x' }, { ...deps, clock });
    const failed = expect(running).rejects.toThrow(
      `${exec} hangs for image a.io/x: context deadline exceeded: `,
    );
    await clock.advance(60_000);
    await failed;
  });

  test('a plug-in that cannot be run is reported at start', () => {
    writeFileSync(join(dir, 'text'), 'x', { mode: 0o644 });
    script('fine', 'true');
    checkPlugin(plugin('fine'));
    expect(() => {
      checkPlugin(plugin('none'));
    }).toThrow(`plugin binary executable ${dir}/none did not exist`);
    expect(() => {
      checkPlugin(plugin('text'));
    }).toThrow(`error inspecting binary executable ${dir}/text: access ${dir}/text: permission denied`);
    expect(() => {
      checkPlugin({ name: '.', binDir: dir });
    }).toThrow('is a directory');
  });
});

const settings: PluginSettings = { name: 'p', matchImages: ['*.io'], defaultCacheMs: 60_000 };
const withTokens: PluginSettings = {
  ...settings,
  token: {
    audience: 'a.io',
    cacheType: 'ServiceAccount',
    requireServiceAccount: true,
    requiredAnnotations: [],
    optionalAnnotations: ['opt'],
  },
};
const podOf = (name: string, account?: string): Pod => ({
  metadata: { name, namespace: 'ns', uid: `uid-${name}` },
  spec: { containers: [], ...(account !== undefined && { serviceAccountName: account }) },
});
const pod = podOf('a', 'sa');

function provider(given: PluginSettings, answers: Partial<PluginResponse> | Error = {}) {
  const clock = new FakeClock();
  const asked: PluginRequest[] = [];
  const logged: unknown[] = [];
  const note = (_: string, fields?: object): void => void logged.push(fields);
  const annotations: Record<string, string> = { opt: 'o', other: 'x' };
  const made = new PluginProvider(given, {
    clock,
    logger: { debug: note, info: note, warn: note, error: note } as unknown as Logger,
    serviceAccounts: {
      get: async () => ({ metadata: { name: 'sa', uid: 'sa-uid', annotations } }),
      token: async ({ metadata }, { audience, accountUid }) =>
        `token ${metadata?.name ?? ''} ${audience} ${accountUid}`,
    },
    exec: async (request) => {
      asked.push(request);
      await settle();
      if (answers instanceof Error) throw answers;
      return {
        cacheKeyType: 'Image',
        auth: { 'a.io': { username: `u${asked.length}`, password: 'p' } },
        ...answers,
      };
    },
  });
  const user = async (image: string, of: Pod = pod): Promise<string | undefined> =>
    (await made.provide(image, of)).config['a.io']?.username;
  return { made, clock, asked, logged, annotations, user };
}

describe('what a plug-in gives', () => {
  test('is asked for images that it is for, alone', async () => {
    const { user, asked } = provider(settings);
    expect(await user('b.com/x')).toBeUndefined();
    expect(asked).toEqual([]);
    expect(await user('a.io/x')).toBe('u1');
    expect(asked).toEqual([{ image: 'a.io/x' }]);
  });

  test.for([
    ['Image', ['u1', 'u1', 'u2', 'u3']],
    ['Registry', ['u1', 'u1', 'u1', 'u2']],
    ['Global', ['u1', 'u1', 'u1', 'u1']],
  ] as const)('with the key type %s serves as far as that goes', async ([cacheKeyType, seen]) => {
    const { user } = provider(settings, { cacheKeyType });
    const users = [];
    for (const image of ['a.io/x', 'a.io/x', 'a.io/y', 'b.io/x']) users.push(await user(image));
    expect(users).toEqual(seen);
  });

  test.for([
    [undefined, 60_000],
    [5000, 5000],
  ] as const)('kept for %s ms by its own word is good for %s ms', async ([cacheMs, ms]) => {
    const { user, clock } = provider(settings, cacheMs === undefined ? {} : { cacheMs });
    await user('a.io/x');
    clock.set(ms);
    expect(await user('a.io/x')).toBe('u1');
    clock.set(ms + 1);
    expect(await user('a.io/x')).toBe('u2');
  });

  test('is never kept at 0', async () => {
    const { user } = provider(settings, { cacheMs: 0 });
    expect([await user('a.io/x'), await user('a.io/x')]).toEqual(['u1', 'u2']);
  });

  test('is asked for once by all who want the same at the same time', async () => {
    const { user, asked } = provider(settings);
    expect(await Promise.all([user('a.io/x'), user('a.io/x'), user('a.io/y')])).toEqual(['u2', 'u2', 'u2']);
    expect(asked).toHaveLength(2);
  });

  test.for([
    ['fails', new Error('no luck'), 'no luck'],
    ['says no key type', { cacheKeyType: '' as never }, 'it did not return a valid cacheKeyType: ""'],
  ] as const)('is nothing when it %s, and that is logged', async ([, answers, err]) => {
    const { user, logged } = provider(settings, answers);
    expect(await user('a.io/x')).toBeUndefined();
    expect(logged).toEqual([{ plugin: 'p', pod: 'ns/a', image: 'a.io/x', err }]);
  });
});

describe('a plug-in that takes tokens', () => {
  test('gets one of the pod’s account, with the annotations that it names, and the credential is the account’s', async () => {
    const { made, asked } = provider(withTokens);
    const { source } = await made.provide('a.io/x', pod);
    expect(asked).toEqual([
      {
        image: 'a.io/x',
        serviceAccountToken: 'token a a.io sa-uid',
        serviceAccountAnnotations: { opt: 'o' },
      },
    ]);
    expect(source).toEqual({ serviceAccount: { uid: 'sa-uid', namespace: 'ns', name: 'sa' } });
    expect((await made.provide('a.io/x', pod)).source).toEqual(source);
  });

  test.for([
    ['ServiceAccount', ['u1', 'u1', 'u2']],
    ['Token', ['u1', 'u2', 'u3']],
  ] as const)('cached by %s serves other pods accordingly', async ([cacheType, seen]) => {
    const { user, annotations } = provider({
      ...withTokens,
      token: { ...withTokens.token, cacheType } as never,
    });
    const users = [await user('a.io/x'), await user('a.io/x', podOf('b', 'sa'))];
    annotations['opt'] = 'changed';
    users.push(await user('a.io/x', podOf('b', 'sa')));
    expect(users).toEqual(seen);
  });

  test('is not asked for pods without an account, or whose account lacks an annotation', async () => {
    const { user, asked, logged } = provider({
      ...withTokens,
      token: { ...withTokens.token, requiredAnnotations: ['must'] } as never,
    });
    expect(await user('a.io/x', podOf('static'))).toBeUndefined();
    expect(await user('a.io/x')).toBeUndefined();
    expect([asked, logged]).toEqual([[], []]);
  });

  test('is asked without a token for pods without an account, where it says so', async () => {
    const { made, asked } = provider({
      ...withTokens,
      token: { ...withTokens.token, requireServiceAccount: false } as never,
    });
    expect((await made.provide('a.io/x', podOf('static'))).source).toBeUndefined();
    expect(asked).toEqual([{ image: 'a.io/x' }]);
  });

  test('may not give the token back as the password, unless answers are cached by token', async () => {
    const echo = { auth: { 'a.io': { username: 'u', password: 'token a a.io sa-uid' } } };
    const refused = provider(withTokens, echo);
    expect(await refused.user('a.io/x')).toBeUndefined();
    expect(JSON.stringify(refused.logged)).toContain('it returned the service account token as the password');
    expect(JSON.stringify(refused.logged)).not.toContain('token a a.io');
    const allowed = provider(
      { ...withTokens, token: { ...withTokens.token, cacheType: 'Token' } as never },
      echo,
    );
    expect(await allowed.user('a.io/x')).toBe('u');
  });
});
