import { X509Certificate } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { configMapResource } from '../../src/api/resources.ts';
import { FakeClock } from '../../src/base/fake-clock.ts';
import { silentLogger } from '../../src/base/logger.ts';
import { systemRandom } from '../../src/base/random.ts';
import type { ConfigMap, Container, Pod } from '../../src/kube/types.ts';
import {
  makeShipped,
  type Middleware,
  type MiddlewareContext,
  templateValuesAnnotation,
  templateVolumesAnnotation,
} from '../../src/middleware/index.ts';
import { MiddlewareChain } from '../../src/pods/middleware.ts';
import { LocalApi } from '../../src/conformance/node/local-api.ts';

const clock = new FakeClock(Date.parse('2026-01-01T00:00:00Z'));
const api = new LocalApi(clock, systemRandom);
const digest = `sha256:${'a'.repeat(64)}`;
let rootDir = '';
beforeEach(() => {
  rootDir = mkdtempSync(join(tmpdir(), 'podtender-middleware-'));
});
afterEach(() => {
  rmSync(rootDir, { recursive: true });
});

const contextOf = (): MiddlewareContext => ({
  nodeName: 'n',
  rootDir,
  clock,
  logger: silentLogger,
  client: api.client(),
});
const make = (name: string, settings: unknown): Middleware =>
  makeShipped(name, settings, { where: 'middleware[0]', context: contextOf() });

function podOf(container: Partial<Container> = {}, more: Partial<Pod> = {}): Pod {
  return {
    ...more,
    metadata: { name: 'web-0', namespace: 'shop', uid: 'u-1', labels: { app: 'web' }, ...more.metadata },
    spec: { containers: [{ name: 'c', image: 'app:1', ...container }], ...more.spec },
  };
}

async function copyOf(pod: Pod, ...chain: readonly Middleware[]): Promise<Pod> {
  const result = await new MiddlewareChain(chain, { clock, logger: silentLogger }).podFor(
    pod,
    new AbortController().signal,
  );
  if ('pod' in result) return result.pod;
  throw new Error(`${result.refuse.reason}: ${result.refuse.message}`);
}
const first = (pod: Pod): Container => pod.spec?.containers[0] ?? { name: '' };

describe('envImport', () => {
  const settings = {
    limits: true,
    rules: [
      {
        env: [
          { name: 'ZONE', value: 'eu' },
          { name: 'TIER', value: 'all' },
        ],
      },
      {
        selector: { matchLabels: { app: 'web' } },
        env: [{ name: 'TIER', value: 'web' }],
        envFrom: [{ configMapRef: { name: 'site' } }],
      },
      { namespaces: ['other'], env: [{ name: 'OTHER', value: 'x' }] },
      { containers: ['sidecar'], env: [{ name: 'SIDE', value: 'x' }] },
    ],
  };

  test('adds the variables of the rules that match; the last rule wins, and the container above all', async () => {
    const own = { env: [{ name: 'ZONE', value: 'mine' }], envFrom: [{ secretRef: { name: 'keys' } }] };
    const { env, envFrom } = first(await copyOf(podOf(own), make('envImport', settings)));
    expect(env?.map(({ name, value }) => [name, value])).toEqual([
      ['ZONE', 'mine'],
      ['CONTAINER_CPU_LIMIT', undefined],
      ['CONTAINER_MEM_LIMIT', undefined],
      ['TIER', 'web'],
    ]);
    expect(env?.[1]?.valueFrom).toEqual({
      resourceFieldRef: { containerName: 'c', resource: 'limits.cpu' },
    });
    expect(envFrom).toEqual([{ configMapRef: { name: 'site' } }, { secretRef: { name: 'keys' } }]);
  });

  test('leaves a pod alone that no rule matches', async () => {
    const pod = podOf({}, { metadata: { namespace: 'shop', name: 'a', uid: 'u', labels: {} } });
    const rules = [{ selector: { matchLabels: { app: 'db' } }, env: [{ name: 'A', value: 'b' }] }];
    expect(first(await copyOf(pod, make('envImport', { rules })))).toEqual(first(pod));
  });
});

describe('imageAllowList', () => {
  const cases: [string, object, string, string | undefined][] = [
    [
      'a digest on the list, from any repository',
      { digests: [digest] },
      `else.example/x@${digest}`,
      undefined,
    ],
    ['a repository with any tag', { images: ['r.example/team/app'] }, 'r.example/team/app:2', undefined],
    ['the tag that is named', { images: ['r.example/team/app:1'] }, 'r.example/team/app:1', undefined],
    [
      'another tag',
      { images: ['r.example/team/app:1'] },
      'r.example/team/app:2',
      'is not allowed on this node',
    ],
    ['all below a path', { images: ['r.example/team/*'] }, 'r.example/team/sub/app:1', undefined],
    [
      'a path with the same beginning',
      { images: ['r.example/team/*'] },
      'r.example/team-b/app',
      'is not allowed on this node',
    ],
    ['short names of Docker Hub', { images: ['library/*'] }, 'busybox:1.36', undefined],
    ['a registry with a port', { images: ['r.example:5000/app'] }, 'r.example:5000/app:1', undefined],
    [
      'another registry of the same path',
      { images: ['app'] },
      'r.example/library/app',
      'is not allowed on this node',
    ],
    [
      'no digest where one is required',
      { images: ['r.example/*'], requireDigest: true },
      'r.example/app:1',
      'must name a digest (image@sha256:…)',
    ],
    ['no image reference', { images: ['*'] }, 'r.example/APP', 'is not a valid image reference'],
  ];
  test.each(cases)('%s', async (_, settings, image, refusal) => {
    const copy = copyOf(podOf({ image }), make('imageAllowList', settings));
    if (refusal === undefined) await expect(copy).resolves.toBeDefined();
    else
      await expect(copy).rejects.toThrow(
        `ImageNotAllowed: image ${JSON.stringify(image)} of container "c" ${refusal}`,
      );
  });

  test('volumes of images count', async () => {
    const of = (reference?: string): Pod =>
      podOf(
        { image: 'ok' },
        {
          spec: {
            containers: [{ name: 'c', image: 'ok' }],
            volumes: [
              { name: 'free', emptyDir: {} },
              { name: 'v', image: { ...(reference !== undefined && { reference }) } },
            ],
          },
        },
      );
    const list = make('imageAllowList', { images: ['ok'] });
    await expect(copyOf(of('ok:2'), list)).resolves.toBeDefined();
    await expect(copyOf(of('bad:1'), list)).rejects.toThrow(
      'ImageNotAllowed: image "bad:1" of volume "v" is not allowed on this node',
    );
    await expect(copyOf(of(), list)).rejects.toThrow('image "" of volume "v" is not a valid image reference');
  });

  test('init containers count, and pods of other namespaces do not', async () => {
    const spec = { containers: [{ name: 'c', image: 'ok' }], initContainers: [{ name: 'i', image: 'bad' }] };
    const settings = { images: ['ok'], namespaces: ['shop'] };
    await expect(copyOf(podOf({}, { spec }), make('imageAllowList', settings))).rejects.toThrow(
      'container "i"',
    );
    const other = podOf({}, { spec, metadata: { namespace: 'free', name: 'a', uid: 'u' } });
    await expect(copyOf(other, make('imageAllowList', settings))).resolves.toBeDefined();
  });
});

test('resourceFilter removes resources from requests and limits', async () => {
  const resources = {
    requests: { cpu: '1', 'example.com/bandwidth': '5', 'other.org/a': '1' },
    limits: { 'example.com/bandwidth': '5', 'other.org/b': '1' },
  };
  const filter = make('resourceFilter', { remove: ['example.com/bandwidth', 'other.org/*'] });
  expect(first(await copyOf(podOf({ resources }), filter)).resources).toEqual({
    requests: { cpu: '1' },
    limits: {},
  });
});

describe('podCertificates', () => {
  const dirOf = (pod: Pod): string => pod.spec?.volumes?.[0]?.hostPath?.path ?? '';

  test('issues a certificate for the pod, keeps it, and renews it after two thirds of its time', async () => {
    const certificates = make('podCertificates', { validHours: 3 });
    const copy = await copyOf(podOf(), certificates);
    expect(first(copy).volumeMounts).toEqual([
      expect.objectContaining({ mountPath: '/var/run/podtender/certificates', readOnly: true }),
    ]);
    const dir = dirOf(copy);
    expect(dir.startsWith(join(rootDir, 'pods', 'u-1'))).toBe(true);
    const read = (): X509Certificate => new X509Certificate(readFileSync(join(dir, 'tls.crt')));
    const [one, ca] = [read(), new X509Certificate(readFileSync(join(dir, 'ca.crt')))];
    expect(one.subject).toContain('CN=web-0.shop.pod');
    expect(one.checkHost('web-0.shop.pod')).toBe('web-0.shop.pod');
    expect(one.verify(ca.publicKey)).toBe(true);
    await copyOf(podOf(), certificates);
    expect(read().serialNumber).toBe(one.serialNumber);
    await clock.advance(2 * 3_600_000);
    await copyOf(podOf(), make('podCertificates', { validHours: 3 }));
    expect(read().serialNumber, 'from the same authority').not.toBe(one.serialNumber);
    expect(read().verify(ca.publicKey)).toBe(true);
    expect(statSync(join(rootDir, 'middleware', 'authority', 'ca.key')).mode & 0o777).toBe(0o600);
  });

  test('an authority that cannot be read is named', () => {
    const authority = { certFile: '/nowhere/ca.crt', keyFile: '/nowhere/ca.key' };
    expect(() => make('podCertificates', { authority })).toThrow(
      'podCertificates: authority: /nowhere/ca.crt, /nowhere/ca.key: open /nowhere/ca.crt: no such file or directory',
    );
  });
});

describe('configRender', () => {
  const spec = {
    containers: [
      {
        name: 'c',
        image: 'app',
        env: [{ name: 'PORT', value: '8080' }],
        volumeMounts: [
          { name: 'conf', mountPath: '/etc/app' },
          { name: 'plain', mountPath: '/etc/plain' },
        ],
      },
    ],
    volumes: [
      { name: 'conf', configMap: { name: 'app-conf' } },
      { name: 'plain', configMap: { name: 'plain' } },
    ],
  };
  const pod = (annotations: Record<string, string> = {}): Pod =>
    podOf(
      {},
      {
        spec,
        metadata: {
          name: 'web-0',
          namespace: 'shop',
          uid: 'u-1',
          annotations: {
            [templateVolumesAnnotation]: 'conf',
            [templateValuesAnnotation]: '{"ZONE":"eu"}',
            ...annotations,
          },
        },
      },
    );
  const store = (data: Record<string, string>, name = 'app-conf'): void => {
    const object = { metadata: { name, namespace: 'shop' }, data };
    const ref = { namespace: 'shop', name };
    const isStored = api
      .list(configMapResource, 'shop')
      .some((map) => (map as ConfigMap).metadata?.name === name);
    if (isStored) api.replace({ resource: configMapResource, ref }, object);
    else api.create(configMapResource, object, 'shop');
  };
  const fileOf = (copy: Pod, name: string): string =>
    readFileSync(join(copy.spec?.volumes?.at(-1)?.hostPath?.path ?? '', name), 'utf8');

  test('gives containers the rendered files in place of the volume', async () => {
    store({ 'app.conf': 'listen {{ .PORT }} in {{ .ZONE }}{{ .NONE }} as {{ .Pod.name }} of {{ .SITE }}\n' });
    const copy = await copyOf(pod(), make('configRender', { values: { SITE: 's', ZONE: 'us' } }));
    expect(fileOf(copy, 'app.conf')).toBe('listen 8080 in eu as web-0 of s\n');
    expect(first(copy).volumeMounts?.map(({ mountPath }) => mountPath)).toEqual(['/etc/plain', '/etc/app']);
  });

  test('follows the config map, removes files of keys that are gone, and leaves the copy as it is', async () => {
    store({ a: '1', b: '2' });
    const [render, before] = [make('configRender', {}), pod()];
    const copy = await copyOf(before, render);
    store({ a: '3' });
    expect(await copyOf(before, render)).toEqual(copy);
    expect(fileOf(copy, 'a')).toBe('3');
    expect(readdirSync(copy.spec?.volumes?.at(-1)?.hostPath?.path ?? '')).toEqual(['a']);
  });

  test('volumes and a config map of values are named by other annotations, where the settings say so', async () => {
    const settings = {
      volumesAnnotation: 'example.com/files',
      valuesConfigMapAnnotation: 'example.com/values',
    };
    const render = make('configRender', settings);
    store({ 'app.conf': '{{ .PORT }} {{ .TASK }}' });
    store({ TASK: 'join', PORT: '9' }, 'task');
    const annotations = { 'example.com/files': 'conf', 'example.com/values': 'task' };
    expect(fileOf(await copyOf(pod(annotations), render), 'app.conf')).toBe('9 join');
    const lost = pod({ ...annotations, 'example.com/values': 'none' });
    await expect(copyOf(lost, render)).rejects.toThrow('configmap "none" not found');
    expect(first(await copyOf(pod(), render)).volumeMounts).toHaveLength(2);
  });

  const wrong: [string, Record<string, string>, string][] = [
    ['a template that cannot be read', {}, 'volume conf: app.conf: '],
    [
      'values that are no JSON',
      { [templateValuesAnnotation]: '{' },
      `annotation ${templateValuesAnnotation}: `,
    ],
    ['values that are no object', { [templateValuesAnnotation]: '[1]' }, 'must be a JSON object'],
  ];
  test.each(wrong)('%s is an error that names it', async (_, annotations, message) => {
    store({ 'app.conf': '{{ .A' });
    await expect(copyOf(pod(annotations), make('configRender', {}))).rejects.toThrow(message);
  });

  test('a volume of another kind is an error, and a key cannot leave the directory', async () => {
    store({ 'app.conf': 'x' });
    const other = { ...pod(), spec: { ...spec, volumes: [{ name: 'conf', emptyDir: {} }] } };
    await expect(copyOf(other, make('configRender', {}))).rejects.toThrow(
      '"conf" is not a configMap volume of the pod',
    );
    const items = [{ key: 'app.conf', path: '../../escape' }];
    const away = {
      ...pod(),
      spec: { ...spec, volumes: [{ name: 'conf', configMap: { name: 'app-conf', items } }] },
    };
    await expect(copyOf(away, make('configRender', {}))).rejects.toThrow('escape');
  });
});

describe('settings that are wrong are named', () => {
  const cases: [string, unknown, string][] = [
    ['imgAllowList', {}, 'middleware[0].name: "imgAllowList" is unknown; known are envImport, configRender'],
    ['imageAllowList', { image: ['a'] }, 'middleware[0].settings.image: is no setting'],
    ['imageAllowList', { digests: ['sha256:1'] }, 'middleware[0].settings.digests[0]: must match pattern'],
    [
      'envImport',
      { rules: [{ containers: 'c' }] },
      'middleware[0].settings.rules[0].containers: must be array',
    ],
    [
      'resourceFilter',
      { remove: [], selector: { matchExpressions: [{ key: 'a', operator: 'Is' }] } },
      'middleware[0].settings.selector.matchExpressions[0].operator: must be equal to one of the allowed values: In, NotIn, Exists, DoesNotExist',
    ],
    ['resourceFilter', {}, "middleware[0].settings: must have required property 'remove'"],
  ];
  test.each(cases)('%s %j', (name, settings, message) => {
    expect(() => make(name, settings)).toThrow(message);
  });
});
