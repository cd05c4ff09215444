import { afterAll, beforeAll, expect, test } from 'vitest';
import { configMapResource, podResource, secretResource } from '../../../src/api/resources.ts';
import { FakeClock } from '../../../src/base/fake-clock.ts';
import { nameOf } from '../../../src/kube/names.ts';
import type { ConfigMap, KubeObject, Pod, Secret } from '../../../src/kube/types.ts';
import { advanceSlowly, whileAdvancing } from '../../support/advancing.ts';
import { backingNamespace, type TwoClusters, twoClusters } from '../../support/two-clusters.ts';

const clock = new FakeClock(Date.now());
let bed: TwoClusters;
beforeAll(async () => {
  bed = await whileAdvancing(clock, twoClusters({ hereClock: clock }));
  await whileAdvancing(clock, bed.startAgent());
}, 60_000);
afterAll(async () => {
  await whileAdvancing(clock, bed.stop());
}, 30_000);

const base64 = (text: string): string => Buffer.from(text).toString('base64');

/** Lets time pass until `check` succeeds, at most five minutes. */
async function inTime<T>(check: () => Promise<T>): Promise<T> {
  for (let second = 0; ; second++) {
    try {
      return await check();
    } catch (reason) {
      if (second >= 300) throw reason;
      await advanceSlowly(clock, 1000);
    }
  }
}

const runs = (name: string): Promise<Pod> =>
  inTime(async () => {
    const [pod, [backing]] = [await bed.pod(name), await bed.backing(name)];
    expect(pod.status?.containerStatuses?.[0]).toMatchObject({ ready: true });
    return backing!;
  });

const volumes = [
  { name: 'site', configMap: { name: 'site' } },
  { name: 'key', secret: { secretName: 'key' } },
];

const here = async (resource: typeof configMapResource, object: KubeObject): Promise<void> => {
  const namespace = 'default';
  await bed.here.client.create(resource, { ...object, metadata: { ...object.metadata, namespace } });
};

const there = <T extends KubeObject>(resource: typeof configMapResource, name: string): Promise<T> =>
  bed.there.get<T>(resource, backingNamespace, name);

test('config maps and secrets follow those of the pod, without another change of the pod', async () => {
  await here(configMapResource, { metadata: { name: 'site' }, data: { a: '1', b: '2' } } as KubeObject);
  await here(secretResource, { metadata: { name: 'key' }, data: { word: base64('one') } } as KubeObject);
  const variable = { name: 'WORD', valueFrom: { secretKeyRef: { name: 'key', key: 'word' } } };
  await bed.create('following', { volumes, containers: [{ name: 'main', image: 'web', env: [variable] }] });
  const backing = await runs('following');
  const name = nameOf(backing);
  const patch = (resource: typeof configMapResource, of: string, data: object): Promise<unknown> =>
    bed.here.client.patch(resource, { namespace: 'default', name: of }, { type: 'merge', body: { data } });
  await patch(configMapResource, 'site', { a: '3', b: null, c: '4' });
  await patch(secretResource, 'key', { word: base64('two') });
  await inTime(async () => {
    expect((await there<ConfigMap>(configMapResource, `${name}.volume.site`)).data).toEqual({
      a: '3',
      c: '4',
    });
    expect((await there<Secret>(secretResource, `${name}.volume.key`)).data).toEqual({ word: base64('two') });
  });
  // variables of a container that is started again there are the new ones
  expect((await there<Secret>(secretResource, `${name}.env`)).data).toMatchObject({
    'main.WORD': base64('two'),
  });
  const [same] = await bed.backing('following');
  expect(same?.metadata?.uid).toBe(backing.metadata?.uid);
  expect(same?.status?.containerStatuses?.[0]?.restartCount).toBe(0);
});

test('an object that someone removes or changes there is written again', async () => {
  await here(configMapResource, { metadata: { name: 'own' }, data: { a: '1' } } as KubeObject);
  await here(configMapResource, { metadata: { name: 'two' }, data: { b: '1' } } as KubeObject);
  const mounts = ['own', 'two'].map((name) => ({ name, configMap: { name } }));
  await bed.create('restored', { volumes: mounts });
  const name = nameOf(await runs('restored'));
  const ref = (volume: string) => ({ namespace: backingNamespace, name: `${name}.volume.${volume}` });
  await bed.there.client.delete(configMapResource, ref('own'));
  await bed.there.client.patch(configMapResource, ref('two'), { type: 'merge', body: { data: { b: 'x' } } });
  await advanceSlowly(clock, 900_000, 5000);
  expect((await there<ConfigMap>(configMapResource, ref('own').name)).data).toEqual({ a: '1' });
  expect((await there<ConfigMap>(configMapResource, ref('two').name)).data).toEqual({ b: '1' });
}, 60_000);

test('a config map that is removed here leaves the backing pod running with its last content', async () => {
  await here(configMapResource, { metadata: { name: 'brief' }, data: { a: '1' } } as KubeObject);
  await bed.create('keeping', { volumes: [{ name: 'brief', configMap: { name: 'brief' } }] });
  const backing = await runs('keeping');
  await bed.here.client.delete(configMapResource, { namespace: 'default', name: 'brief' });
  await advanceSlowly(clock, 180_000);
  const kept = await there<ConfigMap>(configMapResource, `${nameOf(backing)}.volume.brief`);
  expect(kept.data).toEqual({ a: '1' });
  expect((await bed.pod('keeping')).status).toMatchObject({
    phase: 'Running',
    containerStatuses: [{ ready: true }],
  });
}, 30_000);

test('the token is renewed there before it expires, and goes with the pod', async () => {
  await bed.create('holder');
  const backing = await runs('holder');
  const pod = await bed.pod('holder');
  const volume = pod.spec?.volumes?.find(({ projected }) => projected)?.name ?? '';
  const name = `${nameOf(backing)}.volume.${volume}`;
  const token = async (): Promise<string> =>
    Buffer.from((await there<Secret>(secretResource, name)).data?.['token'] ?? '', 'base64').toString();
  const expiryOf = (jwt: string): number => {
    const claims = JSON.parse(Buffer.from(jwt.split('.')[1] ?? '', 'base64url').toString()) as {
      readonly exp: number;
    };
    return claims.exp * 1000;
  };
  const first = await token();
  const tokens = new Set([first]);
  for (let minute = 0; minute < 130; minute++) {
    await advanceSlowly(clock, 60_000, 5000);
    const current = await token();
    tokens.add(current);
    expect(expiryOf(current), `after ${minute} minutes`).toBeGreaterThan(clock.now());
  }
  expect(tokens.size).toBeGreaterThanOrEqual(3);
  expect(tokens.size).toBeLessThan(10);
  await bed.here.client.delete(podResource, { namespace: 'default', name: 'holder' });
  await inTime(async () => {
    await expect(bed.pod('holder')).rejects.toMatchObject({ code: 'not_found' });
  });
  await expect(token()).rejects.toMatchObject({ code: 'not_found' });
}, 120_000);
