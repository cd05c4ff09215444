import { describe, expect, test } from 'vitest';
import { silentLogger } from '../../../src/base/logger.ts';
import { FakeClock } from '../../../src/base/fake-clock.ts';
import { readDockerConfig, readDockerConfigJson } from '../../../src/kube/docker-config.ts';
import {
  DockerKeyring,
  podKeyring,
  secretKeyring,
} from '../../../src/containers/credentials/docker-keyring.ts';
import { nodeDockerConfig } from '../../../src/containers/credentials/node-config.ts';
import { repositoryOf } from '../../../src/kube/image-reference.ts';
import { globMatches, parseSchemelessUrl, registryMatches } from '../../../src/kube/registry-url.ts';
import type { Secret } from '../../../src/kube/types.ts';

describe('a registry and a pattern', () => {
  test.for([
    ['kubernetes.io', 'kubernetes.io', true],
    ['*.kubernetes.io', 'prefix.kubernetes.io', true],
    ['prefix.*.io', 'prefix.kubernetes.io', true],
    ['*-good.kubernetes.io', 'prefix-good.kubernetes.io', true],
    ['prefix.kubernetes.io', 'kubernetes.io', false],
    ['kubernetes.io', 'kubernetes.com', false],
    ['k*.io', 'quay.io', false],
    ['*.io', 'k8s.kubernetes.io', false],
    ['*.kubernetes.io', 'kubernetes.io', false],
    ['kubernetes.io/path', 'kubernetes.io/path', true],
    ['*.*.kubernetes.io', 'prefix.prefix.kubernetes.io', true],
    ['kubernetes.io', 'kubernetes.io/path', true],
    ['kubernetes.io/prefix', 'kubernetes.io/prefix-and-more', true],
    ['kubernetes.io/*', 'kubernetes.io/path', false],
    ['kubernetes.io/path', 'kubernetes.io', false],
    ['kubernetes.io:1111', 'kubernetes.io:1111', true],
    ['*.kubernetes.io:1111', 'prefix.kubernetes.io:1111', true],
    ['kubernetes.io:1111', 'kubernetes.io:2222', false],
    ['kubernetes.io:1111', 'kubernetes.io', false],
    ['kubernetes.io', 'kubernetes.io:1111', false],
    ['kubernetes.io:*', 'kubernetes.io:1111', false],
    ['localhost:5000/a', 'localhost:5000/a/b', true],
    ['[::1]:5000', '[::1]:5000/a', true],
    ['app-??.io', 'app-01.io', false],
    ['app-[0-9].io', 'app-7.io', true],
    ['app-[^0-9].io', 'app-7.io', false],
    ['app-[.io', 'app-[.io', false],
  ] as const)('%s and %s: %s', ([pattern, target, matches]) => {
    expect(registryMatches(pattern, target)).toBe(matches);
  });

  test.for([
    ['a\\*b', 'a*b', true],
    ['a\\*b', 'axb', false],
    ['[a-]', 'a', false],
    ['a\\', 'a', false],
    ['[]', 'a', false],
    ['[\\]]', ']', true],
    ['[z-a]', 'b', false],
  ] as const)('the glob %s and %s: %s', ([glob, text, matches]) => {
    expect(globMatches(glob, text)).toBe(matches);
  });

  test.for([
    ['%invalid%', 'parse "https://%invalid%": invalid URL escape "%in"'],
    ['a b', 'parse "https://a b": invalid character " " in host name'],
    ['a:x', 'parse "https://a:x": invalid port ":x" after host'],
    ['a/%zz', 'parse "https://a/%zz": invalid URL escape "%zz"'],
    ['a\nb', 'parse "https://a\\nb": net/url: invalid control character in URL'],
    ['[::1', 'parse "https://[::1": missing \']\' in host'],
  ] as const)('%j is none', ([text, why]) => {
    expect(parseSchemelessUrl(text)).toBe(why);
  });
});

const entry = (username: string) => ({ username, password: 'p', email: '' });
const names = (keyring: DockerKeyring, image: string) =>
  keyring.lookup(repositoryOf(image)).map(({ auth }) => auth.username);

describe('the keyring', () => {
  test('all matching credentials are returned, longer paths first', () => {
    const keyring = new DockerKeyring();
    keyring.add({ 'a.io': entry('host'), 'a.io/team/app': entry('app'), 'https://a.io/team': entry('team') });
    keyring.add({ 'a.io/team': entry('team-2'), 'b.io': entry('other') });
    expect(names(keyring, 'a.io/team/app:1')).toEqual(['app', 'team', 'team-2', 'host']);
    expect(names(keyring, 'a.io/else')).toEqual(['host']);
    expect(names(keyring, 'c.io/else')).toEqual([]);
  });

  test.for([
    ['https://index.docker.io/v1/', 'busybox', ['hub']],
    ['index.docker.io', 'library/busybox:1', ['hub']],
    ['https://index.docker.io/v2/', 'docker.io/me/app', ['hub']],
    ['index.docker.io', 'host.io/busybox', []],
    ['docker.io', 'busybox', ['hub']],
    ['https://gcr.io/v2/team', 'gcr.io/team/app', ['hub']],
    ['%', 'busybox', []],
  ] as const)('a credential for %s and the image %s', ([registry, image, found]) => {
    const keyring = new DockerKeyring();
    keyring.add({ [registry]: entry('hub') });
    expect(names(keyring, image)).toEqual(found);
  });

  test('a credential is known by the hash of what Docker writes of it', () => {
    const keyring = new DockerKeyring();
    keyring.add({ 'a.io': { username: 'u', password: 'p', email: '' } });
    // printf '{"username":"u","password":"p"}' | sha256sum
    expect(keyring.lookup('a.io/x')[0]?.hash).toBe(
      'edbd57ca9372e64eb1c9070ecf3a049ac553596b0529acf034c7a71d4e618e88',
    );
  });
});

const base64 = (text: string): string => Buffer.from(text).toString('base64');

describe('docker configurations', () => {
  test.for([
    [
      { username: 'u', password: 'p', email: 'e' },
      { username: 'u', password: 'p', email: 'e' },
    ],
    [{ auth: base64('u:p:q') }, { username: 'u', password: 'p:q', email: '' }],
    [
      { auth: base64('uu:pp').replace(/=+$/, ''), username: 'x' },
      { username: 'uu', password: 'pp', email: '' },
    ],
    [
      { auth: null, password: null },
      { username: '', password: '', email: '' },
    ],
    [null, { username: '', password: '', email: '' }],
  ])('%j', ([given, read]) => {
    expect(readDockerConfig(JSON.stringify({ 'a.io': given }))).toEqual({ 'a.io': read });
    expect(readDockerConfigJson(JSON.stringify({ auths: { 'a.io': given } }))).toEqual({ 'a.io': read });
  });

  test.for([
    ['', 'unexpected end of JSON input'],
    ['nope', "invalid character 'o' in literal null (expecting 'u')"],
    ['[]', 'json: cannot unmarshal array into Go value of type credentialprovider.DockerConfig'],
    [
      '{"a.io":{"username":1}}',
      'json: cannot unmarshal number into Go struct field dockerConfigEntryWithAuth.username of type string',
    ],
    [
      `{"a.io":{"auth":"${base64('no colon')}"}}`,
      'unable to parse auth field, must be formatted as base64(username:password)',
    ],
    ['{"a.io":{"auth":"a b="}}', 'illegal base64 data at input byte 1'],
    ['{"a.io":{"auth":"abcde"}}', 'illegal base64 data at input byte 5'],
  ] as const)('%s is refused', ([text, why]) => {
    expect(() => readDockerConfig(text)).toThrow(why);
  });
});

function pullSecret(name: string, type: string, data: Record<string, string>): Secret {
  const encoded = Object.entries(data).map(([key, value]) => [key, base64(value)]);
  return {
    metadata: { name, namespace: 'ns', uid: `uid-${name}` },
    type,
    data: Object.fromEntries(encoded) as Record<string, string>,
  };
}

describe('pull secrets', () => {
  const json = JSON.stringify({ auths: { 'a.io': entry('new') } });
  const legacy = JSON.stringify({ 'a.io': entry('old') });

  test('both types count, other secrets do not, and each credential knows its secret', () => {
    const keyring = secretKeyring([
      pullSecret('new', 'kubernetes.io/dockerconfigjson', { '.dockerconfigjson': json }),
      pullSecret('old', 'kubernetes.io/dockercfg', { '.dockercfg': legacy }),
      pullSecret('opaque', 'Opaque', { '.dockerconfigjson': json }),
      pullSecret('empty', 'kubernetes.io/dockercfg', { '.dockercfg': '' }),
      pullSecret('crossed', 'kubernetes.io/dockercfg', { '.dockerconfigjson': json }),
    ]);
    expect(keyring.lookup('a.io/x').map(({ auth, source }) => [auth.username, source])).toEqual([
      ['new', { secret: { uid: 'uid-new', namespace: 'ns', name: 'new' } }],
      ['old', { secret: { uid: 'uid-old', namespace: 'ns', name: 'old' } }],
    ]);
  });

  test('secrets come before the node, and one that is broken fails all', async () => {
    const keyring = podKeyring({ nodeConfig: () => ({ 'a.io/x': entry('node') }), plugins: [] });
    const secret = pullSecret('new', 'kubernetes.io/dockerconfigjson', { '.dockerconfigjson': json });
    const found = await keyring('a.io/x', [secret], {});
    expect(found.map(({ auth }) => auth.username)).toEqual(['new', 'node']);
    const broken = pullSecret('broken', 'kubernetes.io/dockercfg', { '.dockercfg': '{' });
    await expect(keyring('a.io/x', [secret, broken], {})).rejects.toThrow('unexpected end of JSON input');
  });
});

describe('the node’s own credentials', () => {
  const files = new Map<string, string>();
  const read: string[] = [];
  const at = (clock: FakeClock) => {
    files.clear();
    read.length = 0;
    return nodeDockerConfig({
      clock,
      logger: silentLogger,
      rootDir: '/root-dir',
      home: '/home/me',
      readText: (path) => {
        read.push(path);
        const text = files.get(path);
        if (text === undefined) throw Object.assign(new Error('missing'), { code: 'ENOENT' });
        return text;
      },
    });
  };

  test('are looked for where the kubelet looks, in its order', () => {
    const config = at(new FakeClock());
    expect(config()).toEqual({});
    expect(read).toEqual([
      '/root-dir/config.json',
      `${process.cwd()}/config.json`,
      '/home/me/.docker/config.json',
      '/.docker/config.json',
      '/root-dir/.dockercfg',
      `${process.cwd()}/.dockercfg`,
      '/home/me/.dockercfg',
      '/.dockercfg',
    ]);
  });

  test('a file that cannot be read is passed over; what was found serves five minutes', () => {
    const clock = new FakeClock();
    const config = at(clock);
    files.set('/root-dir/config.json', '{');
    files.set('/home/me/.docker/config.json', JSON.stringify({ auths: { 'a.io': entry('home') } }));
    expect(config()['a.io']?.username).toBe('home');
    files.set('/root-dir/config.json', JSON.stringify({ auths: { 'a.io': entry('root') } }));
    clock.set(299_999);
    expect(config()['a.io']?.username).toBe('home');
    clock.set(300_000);
    expect(config()['a.io']?.username).toBe('root');
  });
});
