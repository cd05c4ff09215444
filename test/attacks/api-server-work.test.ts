import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { EmbeddedApiServer } from '../../src/apiserver/index.ts';
import { pathWarnings, podWarnings } from '../../src/apiserver/registry/validation/pod-warnings.ts';
import { withoutRepeatedOwners } from '../../src/apiserver/registry/metadata-rules.ts';
import { jsonPatch } from '../../src/apimachinery/patch/patch.ts';
import { strategicPatch } from '../../src/apimachinery/patch/strategic-patch.ts';
import { call } from '../apiserver/support.ts';

/** What would take minutes if it grew with the square of its size; a slow machine under load needs a second. */
const most = 20_000;
const many = <T>(count: number, make: (i: number) => T): T[] =>
  Array.from({ length: count }, (_, i) => make(i));
const refusal = (code: number): unknown => expect.objectContaining({ code });

describe('JSON patches', () => {
  test('copy what they change once, however many steps they have', () => {
    const copies = { count: 0 };
    /** A list that counts how often it is copied. */
    const list = new Proxy(
      many(1000, (i) => i),
      {
        get: (target, key) => {
          if (key === Symbol.iterator) copies.count++;
          return Reflect.get(target, key) as unknown;
        },
      },
    );
    const steps = many(1000, () => ({ op: 'replace', path: '/list/0', value: 'x' }));
    const patched = jsonPatch({ list }, steps) as { list: unknown[] };
    expect(patched.list[0]).toBe('x');
    expect(list[0]).toBe(0);
    expect(copies.count).toBeLessThanOrEqual(2);
  });

  test('that double the document end at the limit of copies', () => {
    const steps = many(60, (i) => ({ op: 'copy', from: '/data', path: `/data/x${i}` }));
    expect(() => jsonPatch({ data: { a: 'b'.repeat(100) } }, steps)).toThrow(refusal(422));
  });

  test('leave copies independent of what was copied', () => {
    const patched = jsonPatch({ a: { n: [1] } }, [
      { op: 'add', path: '/a/n/-', value: 2 },
      { op: 'copy', from: '/a', path: '/b' },
      { op: 'add', path: '/b/n/-', value: 3 },
    ]);
    expect(patched).toEqual({ a: { n: [1, 2] }, b: { n: [1, 2, 3] } });
  });

  test.for([
    ['move', { op: 'add', path: '/list/0', value: 0 }],
    ['take', { op: 'remove', path: '/list/0' }],
  ] as const)('that %s too much of a long list are refused', { timeout: most }, ([, step]) => {
    const list = many(200_000, (i) => i);
    expect(() =>
      jsonPatch(
        { list },
        many(10_000, () => step),
      ),
    ).toThrow(refusal(413));
  });
});

describe('strategic patches of long lists', () => {
  const standing = { spec: { containers: many(20_000, (i) => ({ name: `c${i}`, image: 'a' })) } };
  test.for([
    ['merge', many(20_000, (i) => ({ name: `c${i}`, image: 'b' }))],
    ['delete', many(20_000, (i) => ({ name: `c${i}`, $patch: 'delete' }))],
    ['extend', many(20_000, (i) => ({ name: `d${i}`, image: 'b' }))],
  ] as const)('%s', { timeout: most }, ([, containers]) => {
    const result = strategicPatch(standing, { spec: { containers } }, 'Pod');
    expect(JSON.stringify(result)).not.toContain('$patch');
  });

  test('of keys to retain', { timeout: most }, () => {
    const keys = many(20_000, (i) => `k${i}`);
    const data = Object.fromEntries(keys.map((key) => [key, '1']));
    expect(strategicPatch({ data }, { data: { $retainKeys: keys, ...data } }, 'ConfigMap')).toEqual({ data });
  });
});

describe('what a new object is warned of', () => {
  test('ports: each is held against those of its number', { timeout: most }, () => {
    const ports = many(60_000, (i) => ({ containerPort: i + 1, protocol: 'TCP' }));
    const container = { name: 'c', image: 'x', ports };
    expect(podWarnings({ spec: { containers: [container] } })).toEqual([]);
    const same = { ...container, ports: many(60_000, () => ({ containerPort: 1, protocol: 'TCP' })) };
    expect(podWarnings({ spec: { containers: [same] } }).length).toBeLessThan(1000);
  });

  test('paths: each is walked once', { timeout: most }, () => {
    const volume = (paths: readonly string[]): object => ({
      name: 'v',
      configMap: { name: 'm', items: paths.map((path) => ({ key: 'k', path })) },
    });
    expect(pathWarnings([volume(many(50_000, (i) => `p${i}`))] as never)).toEqual([]);
    expect(pathWarnings([volume(many(50_000, () => 'same'))] as never).length).toBeLessThan(1000);
    expect(pathWarnings([volume(['a/b', 'a', 'a/b/c', 'ab'])] as never)).toEqual([
      'volume "v" (ConfigMap "m"): overlapping paths: "a" with "a/b"',
      'volume "v" (ConfigMap "m"): overlapping paths: "a/b/c" with "a/b"',
      'volume "v" (ConfigMap "m"): overlapping paths: "a/b/c" with "a"',
    ]);
  });

  test('owners: each is looked at once', { timeout: most }, () => {
    const owner = (i: number): object => ({ apiVersion: 'v1', kind: 'Pod', name: 'a', uid: `u${i}` });
    const ownerReferences = [...many(30_000, owner), owner(0)];
    const warnings: string[] = [];
    const once = withoutRepeatedOwners({ metadata: { ownerReferences } }, warnings);
    expect((once['metadata'] as { ownerReferences: unknown[] }).ownerReferences).toHaveLength(30_000);
    expect(warnings).toHaveLength(1);
  });
});

describe('deep nesting', () => {
  let server: EmbeddedApiServer;
  beforeAll(async () => {
    server = await EmbeddedApiServer.start({ minimalScheduler: false });
  });
  afterAll(() => server.stop());
  const maps = '/api/v1/namespaces/default/configmaps';
  const deep = (levels: number): unknown => {
    let value: unknown = 1;
    for (let i = 0; i < levels; i++) value = i % 2 === 0 ? { a: value } : [value];
    return value;
  };

  test.for([100, 2_000])('of %i levels is an error of the request, if any', async (levels) => {
    const body = { metadata: { name: `d${levels}` }, data: { a: '1' }, unknown: deep(levels) };
    const created = await call(server, 'POST', maps, body);
    expect([201, 400]).toContain(created.status);
    await call(server, 'POST', maps, { metadata: { name: 'standing' } });
    for (const type of ['json', 'merge', 'strategic-merge'].map((one) => `application/${one}-patch+json`)) {
      const patch = type.includes('/json')
        ? [{ op: 'add', path: '/x', value: deep(levels) }]
        : { x: deep(levels) };
      const { status } = await call(server, 'PATCH', `${maps}/standing`, patch, type);
      expect([type, [200, 400, 422].includes(status)]).toEqual([type, true]);
    }
  });
});
